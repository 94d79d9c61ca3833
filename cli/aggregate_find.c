/* Finding the ranks of a job on disk. */
#include "aggregate_find.h"

#include "run/catalogue.h"
#include "run/run.h"
#include "run/brief.h"
#include "base/error.h"
#include "base/filename.h"
#include "exchange/report_in.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 3 };

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

static int add_input(struct aggregate_inputs *inputs, const char *path)
{
	return add(&inputs->paths, &inputs->count, path);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* A run; or, where recordings of several ranks lie together, each of those. */
static int add_run(struct aggregate_inputs *inputs, const char *folder)
{
	struct sb_recording_paths files = { 0 };
	struct sb_run_brief brief;
	int err;

	if (!sb_run_brief_read(folder, &brief) || !brief.several_ranks)
		return add_input(inputs, folder);
	err = sb_catalogue_recordings(folder, &files);
	for (size_t i = 0; i < files.count && !err; i++)
		if (sb_run_brief_read(files.paths[i], &brief) && brief.rank >= 0)
			err = add_input(inputs, files.paths[i]);
	sb_recording_paths_done(&files);
	return err;
}

/* Reports of a folder: strobe's own, else those of other tools; raw series that
 * lie beside them are none. */
static int reports(const char *folder, struct sb_recording_paths *out_files)
{
	struct dirent **names = NULL;
	int count = scandir(folder, &names, NULL, versionsort), err = 0;

	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		char path[PATH_MAX];

		if (!err && name[0] != '.' && sb_ends_with(name, ".json") && strncmp(name, "raw_", 4) != 0 &&
			(size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path &&
			sb_report_in_is_report(path))
			err = sb_recording_paths_add(out_files, path);
		free(names[i]);
	}
	free(names);
	return err;
}

static int find_in_folder(struct aggregate_inputs *inputs, const char *folder, int depth);

static int find_entry(struct aggregate_inputs *inputs, const struct sb_catalogue_entry *entry, int depth)
{
	if (entry->kind == SB_CATALOGUE_RECORDING)
		return add_input(inputs, entry->path);
	return find_in_folder(inputs, entry->path, depth + 1);
}

/* The ranks of a job, each once; the rest of its folder is none of them. */
static int find_ranks(struct aggregate_inputs *inputs, const char *folder, int depth)
{
	struct sb_catalogue found = { 0 };
	int err = sb_catalogue_list(folder, &found);

	for (size_t i = 0; i < found.count && !err; i++) {
		size_t before = inputs->count;

		if (!sb_catalogue_is_rank(found.entries[i].name))
			continue;
		err = find_entry(inputs, &found.entries[i], depth);
		/* a rank's folder without anything in it must be named later */
		if (!err && inputs->count == before)
			err = add_input(inputs, found.entries[i].path);
	}
	sb_catalogue_done(&found);
	return err;
}

/* Runs and jobs in a folder and below it. jobs_only: what has no ranks is left out. */
static int find_below(struct aggregate_inputs *inputs, const char *folder, bool jobs_only, int depth)
{
	struct sb_catalogue found = { 0 };
	int err = sb_catalogue_list(folder, &found);

	for (size_t i = 0; i < found.count && !err; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		size_t ranks = 0;

		if (!strcmp(e->name, "last"))
			continue;
		sb_catalogue_kind(e->path, &ranks);
		if (ranks || !jobs_only)
			err = find_entry(inputs, e, depth);
	}
	sb_catalogue_done(&found);
	return err;
}

/* Neither a run nor a job: reports, or runs and jobs further down. Reports count less
 * than the ranks' own recordings beside them. */
static int find_among(struct aggregate_inputs *inputs, const char *folder, int depth)
{
	struct sb_recording_paths json = { 0 };
	size_t before = inputs->count;
	int err = reports(folder, &json);

	if (!err)
		err = find_below(inputs, folder, json.count > 0, depth);
	for (size_t i = 0; i < json.count && !err && (i || inputs->count == before); i++)
		err = add_input(inputs, json.paths[i]);
	sb_recording_paths_done(&json);
	return err;
}

static int find_in_folder(struct aggregate_inputs *inputs, const char *folder, int depth)
{
	size_t ranks = 0;
	enum sb_catalogue_kind kind = sb_catalogue_kind(folder, &ranks);

	if (ranks && depth < DEPTH_MAX)
		return find_ranks(inputs, folder, depth);
	if (kind == SB_CATALOGUE_RUN)
		return add_run(inputs, folder);
	return depth < DEPTH_MAX ? find_among(inputs, folder, depth) : 0;
}

int aggregate_find(struct aggregate_inputs *inputs, const char *path)
{
	char resolved[PATH_MAX];

	if (is_folder(path))
		return find_in_folder(inputs, path, 0);
	/* "last" may be a job of many ranks */
	if (access(path, F_OK) && !sb_run_resolve(path, resolved, sizeof resolved) && is_folder(resolved))
		return find_in_folder(inputs, resolved, 0);
	return add_input(inputs, path);
}

void aggregate_inputs_done(struct aggregate_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++)
		free(inputs->paths[i]);
	free(inputs->paths);
}
