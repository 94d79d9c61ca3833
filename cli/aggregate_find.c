/* Finding the ranks of a job on disk. */
#include "aggregate_find.h"

#include "run/run.h"
#include "base/error.h"
#include "base/infile.h"
#include "exchange/report_in.h"
#include "format/reader.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct names {
	char **all;
	size_t count;
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the list of ranks");
}

static int add(char ***list, size_t *count, const char *text)
{
	char **grown = realloc(*list, (*count + 1) * sizeof *grown);

	if (!grown)
		return no_memory();
	*list = grown;
	grown[*count] = strdup(text);
	if (!grown[*count])
		return no_memory();
	++*count;
	return 0;
}

static void names_done(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->all[i]);
	free(n->all);
}

/* rank_2 before rank_10. */
static int by_number(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int list(const char *folder, struct names *out_names)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	int err = 0;

	if (!d)
		return sb_fail_errno("cannot read '%s'", folder);
	while (!err && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			err = add(&out_names->all, &out_names->count, entry->d_name);
	closedir(d);
	if (!err && out_names->count)
		qsort(out_names->all, out_names->count, sizeof *out_names->all, by_number);
	return err;
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);

	return size >= tail && !strcmp(text + size - tail, end);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_rank_name(const char *name)
{
	return !strncmp(name, "rank_", 5) && name[5] >= '0' && name[5] <= '9';
}

static int rank_of_file(const char *path)
{
	struct sb_file_header head;
	int fd, rank = -1;

	if (sb_infile_open(path, SB_INFILE_LISTED, &fd))
		return -1;
	if (sb_read_at(fd, &head, sizeof head, 0) == sizeof head &&
		!memcmp(head.magic, SB_MAGIC, sizeof head.magic))
		rank = head.rank;
	close(fd);
	return rank;
}

/* The recordings of a folder, and whether they belong to several ranks. */
static int recordings(
	const char *folder, const struct names *names, struct names *out_files, bool *out_several)
{
	int first = -1, err = 0;

	for (size_t i = 0; i < names->count && !err; i++) {
		char path[PATH_MAX];
		int rank;

		if (!ends_with(names->all[i], ".strobe"))
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, names->all[i]);
		err = add(&out_files->all, &out_files->count, path);
		rank = rank_of_file(path);
		if (rank >= 0 && first >= 0 && rank != first)
			*out_several = true;
		first = rank >= 0 ? rank : first;
	}
	return err;
}

/* Reports of a folder: strobe's own, else those of other tools; raw series that
 * lie beside them are none. */
static int reports(const char *folder, const struct names *names, struct names *out_files)
{
	int err = 0;

	for (size_t i = 0; i < names->count && !err; i++) {
		char path[PATH_MAX];

		if (!ends_with(names->all[i], ".json") || !strncmp(names->all[i], "raw_", 4))
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, names->all[i]);
		if (sb_report_in_is_report(path))
			err = add(&out_files->all, &out_files->count, path);
	}
	return err;
}

static int find_in_folder(struct aggregate_inputs *inputs, const char *folder, int depth);

/* Folders inside: ranks, or jobs. */
static int find_deeper(
	struct aggregate_inputs *inputs, const char *folder, const struct names *names, int depth)
{
	bool ranks = false;
	int err = 0;

	for (size_t i = 0; i < names->count; i++)
		ranks |= is_rank_name(names->all[i]);
	for (size_t i = 0; i < names->count && !err; i++) {
		char path[PATH_MAX];
		size_t before = inputs->count;

		snprintf(path, sizeof path, "%s/%s", folder, names->all[i]);
		if (!is_folder(path) || (ranks && !is_rank_name(names->all[i])) ||
			!strcmp(names->all[i], "last"))
			continue;
		err = find_in_folder(inputs, path, depth + 1);
		/* a rank's folder without anything in it must be named later */
		if (!err && ranks && inputs->count == before)
			err = add(&inputs->paths, &inputs->count, path);
	}
	return err;
}

/* The rank_<N> folders of a job beside reports; a job without them is left to its reports. */
static int find_ranks_below(
	struct aggregate_inputs *inputs, const char *folder, const struct names *names, int depth)
{
	int err = 0;

	for (size_t i = 0; i < names->count && !err; i++) {
		struct names inside = { 0 };
		char path[PATH_MAX];
		bool ranks = false;

		snprintf(path, sizeof path, "%s/%s", folder, names->all[i]);
		if (!strcmp(names->all[i], "last") || !is_folder(path) || list(path, &inside))
			continue;
		for (size_t k = 0; k < inside.count; k++)
			ranks |= is_rank_name(inside.all[k]);
		if (ranks)
			err = find_in_folder(inputs, path, depth + 1);
		names_done(&inside);
	}
	return err;
}

static int find_in_folder(struct aggregate_inputs *inputs, const char *folder, int depth)
{
	struct names names = { 0 }, strobe = { 0 }, json = { 0 };
	bool several = false, ranks = false, below = false;
	size_t before = inputs->count;
	int err = list(folder, &names);

	for (size_t i = 0; i < names.count; i++)
		ranks |= is_rank_name(names.all[i]);
	if (!err && !ranks)
		err = recordings(folder, &names, &strobe, &several);
	if (!err && several) {
		for (size_t i = 0; i < strobe.count && !err; i++)
			if (rank_of_file(strobe.all[i]) >= 0)
				err = add(&inputs->paths, &inputs->count, strobe.all[i]);
	} else if (!err && strobe.count) {
		err = add(&inputs->paths, &inputs->count, folder);
	} else if (!err && depth < 3) {
		if (!ranks)
			err = reports(folder, &names, &json);
		if (!err && json.count)
			err = find_ranks_below(inputs, folder, &names, depth);
		/* what other tools wrote beside the ranks' own recordings says less */
		below = inputs->count > before;
		for (size_t i = 0; i < json.count && !err && !below; i++)
			err = add(&inputs->paths, &inputs->count, json.all[i]);
		if (!err && !json.count)
			err = find_deeper(inputs, folder, &names, depth);
	}
	names_done(&names);
	names_done(&strobe);
	names_done(&json);
	return err;
}

int aggregate_find(struct aggregate_inputs *inputs, const char *path)
{
	char resolved[PATH_MAX];

	if (is_folder(path))
		return find_in_folder(inputs, path, 0);
	/* "last" may be a job of many ranks */
	if (access(path, F_OK) && !sb_run_resolve(path, resolved, sizeof resolved) && is_folder(resolved))
		return find_in_folder(inputs, resolved, 0);
	return add(&inputs->paths, &inputs->count, path);
}

void aggregate_inputs_done(struct aggregate_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++)
		free(inputs->paths[i]);
	free(inputs->paths);
}
