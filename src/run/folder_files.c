/* What else a folder without a recording holds: a trace or a report that can be named instead. */
#include "run/folder_files.h"

#include "base/filename.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

bool sb_folder_readable(const char *path, char *out_name, size_t size)
{
	static const char *const endings[] = { ".json", ".json.gz", ".prof", ".txt", ".log" };
	DIR *d = opendir(path);
	size_t best = sizeof endings / sizeof endings[0];

	for (struct dirent *e; d && (e = readdir(d));)
		for (size_t i = 0; i < best; i++)
			if (*e->d_name != '.' && sb_ends_with(e->d_name, endings[i]) &&
				strlen(e->d_name) < size) {
				strcpy(out_name, e->d_name);
				best = i;
			}
	if (d)
		closedir(d);
	return best < sizeof endings / sizeof endings[0];
}
