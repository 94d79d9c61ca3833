/* See filename.h: basename() of POSIX may write into the path. */
#include "base/filename.h"

#include <string.h>

const char *sb_filename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
