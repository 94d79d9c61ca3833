/* See filename.h: basename() of POSIX may write into the path. */
#include "base/filename.h"

#include <stdio.h>
#include <string.h>

const char *sb_filename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void sb_path_folder(const char *path, char *out, size_t size)
{
	size_t length = (size_t)(sb_filename_of(path) - path);

	snprintf(out, size, "%.*s", length ? (int)length : 1, length ? path : ".");
}

bool sb_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);

	return size >= tail && !strcmp(text + size - tail, end);
}
