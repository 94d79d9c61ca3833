/* See neighbours.h. */
#include "run/neighbours.h"

#include "base/filename.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* 12 of "rank_12"; -1 of any other name, such as "rank_12.strobe". */
static int64_t rank_of(const char *name)
{
	size_t digits = strncmp(name, "rank_", 5) ? 0 : strspn(name + 5, "0123456789");

	return digits && digits <= 9 && !name[5 + digits] ? (int64_t)strtol(name + 5, NULL, 10) : -1;
}

void sb_rank_neighbours(const char *folder, int64_t *out_previous, int64_t *out_next)
{
	char whole[PATH_MAX], around[PATH_MAX];
	int64_t own = folder && realpath(folder, whole) ? rank_of(sb_filename_of(whole)) : -1;
	struct dirent *entry;
	DIR *d;

	*out_previous = *out_next = -1;
	if (own < 0)
		return;
	sb_path_folder(whole, around, sizeof around);
	d = opendir(around);
	while (d && (entry = readdir(d))) {
		int64_t rank = rank_of(entry->d_name);

		if (rank >= 0 && rank < own && rank > *out_previous)
			*out_previous = rank;
		if (rank > own && (*out_next < 0 || rank < *out_next))
			*out_next = rank;
	}
	if (d)
		closedir(d);
}
