/* Where srun starts a launcher on every node, a job's folder has rank_<N> for each node, and the ranks lie in those: by their
 * own number every rank is found as if it had a folder in the job's. */
#include "run/job.h"

#include "base/filename.h"
#include "run/catalogue.h"
#include "run/members.h"
#include "run/nodes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A run's folder whose recordings are of several ranks, as a launcher leaves it: on one machine, or on each node of a job. */
static bool is_node(const char *path)
{
	struct sb_member *all = NULL;
	size_t count = 0;
	bool node = sb_catalogue_kind(path, NULL) == SB_CATALOGUE_RUN &&
		    !sb_members_read(path, &all, &count) && sb_members_attempt(all, count);

	free(all);
	return node;
}

/* The folder and the name of "JOB/rank_3"; false: it is no such path. */
static bool split(const char *path, char *out_folder, size_t size, char *out_name, size_t name_size)
{
	size_t length = strlen(path);
	char clean[PATH_MAX];

	while (length > 1 && path[length - 1] == '/')
		length--;
	if ((size_t)snprintf(clean, sizeof clean, "%.*s", (int)length, path) >= sizeof clean)
		return false;
	if (!sb_catalogue_is_rank(sb_filename_of(clean)) || strchr(sb_filename_of(clean), '.'))
		return false;
	snprintf(out_name, name_size, "%s", sb_filename_of(clean));
	sb_path_folder(clean, out_folder, size);
	length = strlen(out_folder);
	if (length > 1 && out_folder[length - 1] == '/')
		out_folder[length - 1] = 0;
	return true;
}

static bool find_in_nodes(const char *folder, const char *name, char *out_path, size_t size)
{
	struct sb_catalogue found = { 0 };
	bool there = false;

	if (sb_catalogue_list(folder, &found))
		return false;
	for (size_t i = 0; i < found.count && !there; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		char inside[PATH_MAX], node[PATH_MAX];
		uint32_t attempt;
		int32_t rank;

		if (!sb_catalogue_is_rank(e->name) || e->link || e->kind != SB_CATALOGUE_RUN ||
			(size_t)snprintf(inside, sizeof inside, "%s/%s", e->path, name) >= sizeof inside ||
			strlen(inside) >= size)
			continue;
		there = sb_job_rank_inside(inside, node, sizeof node, &rank, &attempt);
		if (there)
			snprintf(out_path, size, "%s", inside);
	}
	sb_catalogue_done(&found);
	return there;
}

/* FOLDER/rank_3 of a folder with the runs of several nodes. */
static bool find_beside(const char *folder, const char *name, char *out_path, size_t size)
{
	struct sb_nodes nodes = { 0 };
	const char *found = NULL;
	struct sb_job job = { 0 };

	if (sb_job_find_nodes(folder, &nodes))
		return false;
	for (size_t i = 0; i < nodes.count && !found; i++) {
		sb_job_done(&job);
		if (sb_job_find_itself(nodes.all[i].path, &job))
			continue;
		for (size_t k = 0; k < job.rank_count && !found; k++)
			found = strcmp(sb_filename_of(job.ranks[k]), name) ? NULL : job.ranks[k];
		if (!job.rank_count && nodes.all[i].first_rank == strtol(name + 5, NULL, 10))
			found = nodes.all[i].path;
	}
	if (found && strlen(found) < size)
		snprintf(out_path, size, "%s", found);
	sb_job_done(&job);
	sb_nodes_done(&nodes);
	return found != NULL;
}

bool sb_job_rank_in_node(const char *path, char *out_path, size_t size)
{
	char folder[PATH_MAX], name[64];
	struct stat st;
	size_t ranks = 0;
	bool there;

	if (!split(path, folder, sizeof folder, name, sizeof name))
		return false;
	/* First without listing the job's folder: a reader of every rank would list it once for each. */
	there = !stat(path, &st);
	if (there && !is_node(path))
		return false;
	sb_catalogue_kind(folder, &ranks);
	if (!ranks)
		return !there && find_beside(folder, name, out_path, size);
	return find_in_nodes(folder, name, out_path, size);
}
