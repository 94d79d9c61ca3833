/* Finding the ranks of a job on disk. */
#include "aggregate_find.h"

#include "run/brief.h"
#include "run/catalogue.h"
#include "run/run.h"
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
static int find_among(struct aggregate_inputs *inputs, const char *folder, int depth);

static int find_entry(struct aggregate_inputs *inputs, const struct sb_catalogue_entry *entry, int depth)
{
	if (entry->kind == SB_CATALOGUE_RECORDING)
		return add_input(inputs, entry->path);
	return find_in_folder(inputs, entry->path, depth + 1);
}

/* A rank without a recording may have a report; one without anything is named later. */
static int find_rank(struct aggregate_inputs *inputs, const char *path, int depth)
{
	size_t before = inputs->count;
	int err = is_folder(path) && sb_catalogue_kind(path, NULL) == SB_CATALOGUE_RUNS
			  ? find_among(inputs, path, depth + 1)
			  : 0;

	return !err && inputs->count == before ? add_input(inputs, path) : err;
}

static int keep_attempts(struct aggregate_inputs *inputs, struct sb_job *job)
{
	struct sb_job_attempt *more;

	if (job->attempt_count < 2)
		return 0;
	more = realloc(inputs->attempts, (inputs->attempt_count + job->attempt_count) * sizeof *more);
	if (!more)
		return no_memory();
	inputs->attempts = more;
	memcpy(more + inputs->attempt_count, job->attempts, job->attempt_count * sizeof *more);
	inputs->attempt_count += job->attempt_count;
	job->attempt_count = 0; /* their paths went along */
	return 0;
}

static bool is_rank(const char *path)
{
	struct sb_run_brief brief;

	return sb_run_brief_read(path, &brief) && brief.rank >= 0;
}

/* Runs and jobs in a folder and below it. jobs_only: what has no rank is left out. */
static int find_below(struct aggregate_inputs *inputs, const char *folder, bool jobs_only, int depth)
{
	struct sb_catalogue found = { 0 };
	int err = sb_catalogue_list(folder, &found);

	for (size_t i = 0; i < found.count && !err; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		char first[PATH_MAX];
		size_t ranks = 0;

		if (!strcmp(e->name, "last") || sb_job_is_later_attempt(e->path, first, sizeof first))
			continue; /* its job is listed, or comes with its first attempt */
		sb_catalogue_kind(e->path, &ranks);
		if (ranks || !jobs_only || is_rank(e->path))
			err = find_entry(inputs, e, depth);
	}
	sb_catalogue_done(&found);
	return err;
}

/* Neither a run nor a job: reports, or runs and jobs further down. Reports count less
 * than the ranks' own recordings beside them, which have the samples too. */
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
	struct sb_job job = { 0 };
	int err = sb_job_find(folder, &job);
	bool found = job.rank_count > 0;

	for (size_t i = 0; i < job.rank_count && !err; i++)
		err = find_rank(inputs, job.ranks[i], depth);
	if (!err)
		err = keep_attempts(inputs, &job);
	sb_job_done(&job);
	if (err || found)
		return err;
	if (sb_catalogue_kind(folder, NULL) == SB_CATALOGUE_RUN)
		return add_input(inputs, folder);
	return depth < DEPTH_MAX ? find_among(inputs, folder, depth) : 0;
}

/* One argument; the same folder under a second name adds nothing. */
static int find_in_argument(struct aggregate_inputs *inputs, const char *folder)
{
	char path[PATH_MAX];
	int err;

	if (!realpath(folder, path))
		return find_in_folder(inputs, folder, 0);
	for (size_t i = 0; i < inputs->given_count; i++)
		if (!strcmp(inputs->given[i], path))
			return 0;
	err = add(&inputs->given, &inputs->given_count, path);
	return err ? err : find_in_folder(inputs, folder, 0);
}

/* A folder, or an attempt that lies in the one of its run. */
static bool may_have_ranks(const char *path)
{
	char folder[PATH_MAX];
	uint32_t attempt;

	return is_folder(path) || sb_job_attempt_inside(path, folder, sizeof folder, &attempt);
}

int aggregate_find(struct aggregate_inputs *inputs, const char *path)
{
	char resolved[PATH_MAX];

	if (may_have_ranks(path))
		return find_in_argument(inputs, path);
	/* "last" and a shared page may be a job of many ranks */
	if ((access(path, F_OK) || sb_run_is_in_page(path)) &&
		!sb_run_resolve(path, resolved, sizeof resolved) && may_have_ranks(resolved))
		return find_in_argument(inputs, resolved);
	return add_input(inputs, path);
}

void aggregate_inputs_done(struct aggregate_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++)
		free(inputs->paths[i]);
	for (size_t i = 0; i < inputs->attempt_count; i++)
		free(inputs->attempts[i].path);
	for (size_t i = 0; i < inputs->given_count; i++)
		free(inputs->given[i]);
	free(inputs->given);
	free(inputs->attempts);
	free(inputs->paths);
}
