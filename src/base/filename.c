/* See filename.h: basename() of POSIX may write into the path. */
#include "base/filename.h"

#include <string.h>

const char *sb_filename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool sb_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);

	return size >= tail && !strcmp(text + size - tail, end);
}
