/* See job_parts.h: job.h says which attempt counts, catalogue.h what lies in its folder. */
#include "run/job_parts.h"

#include "base/error.h"
#include "base/filename.h"
#include "run/catalogue.h"
#include "run/job.h"
#include "run/nodes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_job_parts_done(struct sb_job_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		free(parts->all[i].name);
		free(parts->all[i].path);
	}
	free(parts->all);
	memset(parts, 0, sizeof *parts);
}

/* "rank_3.packed.strobe" is called "rank_3". */
static int add(struct sb_job_parts *parts, const char *name, const char *path)
{
	struct sb_job_part *more = realloc(parts->all, (parts->count + 1) * sizeof *more);

	if (!more)
		return sb_fail(STROBE_ENOMEM, "no memory for the ranks of '%s'", path);
	parts->all = more;
	more += parts->count++;
	more->name = strndup(name, strcspn(name, "."));
	more->path = strdup(path);
	if (!more->name || !more->path)
		return sb_fail(STROBE_ENOMEM, "no memory for the ranks of '%s'", path);
	return 0;
}

static int add_ranks(struct sb_job_parts *parts, const char *folder)
{
	struct sb_catalogue found = { 0 };
	int err = sb_catalogue_list(folder, &found);

	for (size_t i = 0; i < found.count && !err; i++)
		if (sb_catalogue_is_rank(found.entries[i].name) && !found.entries[i].link)
			err = add(parts, found.entries[i].name, found.entries[i].path);
	sb_catalogue_done(&found);
	return err;
}

static const char *folder_of(const struct sb_job *job, const char *path)
{
	for (size_t i = 0; i < job->attempt_count; i++)
		if (job->attempts[i].taken)
			return job->attempts[i].path;
	return path;
}

/* An attempt that has no folder of its own: its ranks, each of which opens by its name. */
static int add_named(struct sb_job_parts *parts, const struct sb_job *job)
{
	int err = 0;

	for (size_t i = 0; i < job->rank_count && !err; i++)
		err = add(parts, sb_filename_of(job->ranks[i]), job->ranks[i]);
	return err;
}

/* A node with several ranks is called by the lowest of them, as where srun started a launcher on each. */
static int add_node(struct sb_job_parts *parts, const struct sb_node *node)
{
	struct sb_job job = { 0 };
	char name[32];
	int err = sb_job_find_itself(node->path, &job);

	snprintf(name, sizeof name, "rank_%d", (int)node->first_rank);
	if (!err && sb_catalogue_kind(node->path, NULL) == SB_CATALOGUE_JOB)
		err = add_ranks(parts, folder_of(&job, node->path));
	else if (!err && job.attempt_count > 1)
		err = add_named(parts, &job);
	else if (!err)
		err = add(parts, name, node->path);
	sb_job_done(&job);
	return err;
}

static int add_nodes(struct sb_job_parts *parts, const char *path)
{
	struct sb_nodes nodes = { 0 };
	int err = sb_job_find_nodes(path, &nodes);

	for (size_t i = 0; i < nodes.count && !err; i++)
		err = add_node(parts, &nodes.all[i]);
	sb_nodes_done(&nodes);
	return err;
}

static int add_own(struct sb_job_parts *parts, const char *path)
{
	struct sb_job job = { 0 };
	int err = sb_job_find_itself(path, &job);

	if (!err && job.rank_count && sb_job_is_attempt_inside(path, &job))
		err = add_named(parts, &job);
	else if (!err && job.rank_count && sb_catalogue_kind(path, NULL) == SB_CATALOGUE_RUN)
		err = add(parts, "", path);
	else if (!err && job.rank_count)
		err = add_ranks(parts, folder_of(&job, path));
	sb_job_done(&job);
	return err;
}

int sb_job_parts_find(const char *path, struct sb_job_parts *out_parts)
{
	struct sb_job_parts parts = { 0 };
	int err = add_nodes(&parts, path);

	if (!err && !parts.count)
		err = add_own(&parts, path);
	if (err) {
		sb_job_parts_done(&parts);
		return err;
	}
	*out_parts = parts;
	return 0;
}
