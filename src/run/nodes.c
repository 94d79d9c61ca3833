/* See nodes.h. Reads names and headers only. Whether two runs are of one job can be told by what they must share, the
 * size of the world and the time, and by what they cannot share, a rank; the job's id, where there is one, is compared
 * when the ranks are read. */
#include "run/nodes.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/room.h"
#include "run/brief.h"
#include "run/catalogue.h"
#include "run/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 3 }; /* FOLDER/node/strobe-runs/run */

struct part {
	char *path;
	struct sb_run_brief brief; /* of a job's folder: its first rank's */
	uint64_t apart_ns; /* between its start and that of the run looked for */
};

struct parts {
	struct part *all;
	size_t count, room;
};

/* The ranks of a world that were found. */
struct world {
	bool *there;
	size_t size, count;
};

static int no_memory(const char *path)
{
	return sb_fail(STROBE_ENOMEM, "no memory to list '%s'", path);
}

void sb_nodes_done(struct sb_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		free(nodes->all[i].path);
	free(nodes->all);
	memset(nodes, 0, sizeof *nodes);
}

bool sb_nodes_have(const struct sb_nodes *nodes, const char *path)
{
	for (size_t i = 0; i < nodes->count; i++) {
		size_t length = strlen(path);

		if (!strncmp(nodes->all[i].path, path, length) &&
			(!nodes->all[i].path[length] || nodes->all[i].path[length] == '/'))
			return true;
	}
	return false;
}

/* ---- every run below a folder ---- */

static void parts_done(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		free(parts->all[i].path);
	free(parts->all);
}

static int add_part(struct parts *parts, const char *path, const struct sb_run_brief *brief)
{
	if (!SB_MAKE_ROOM(parts->all, parts->count, parts->room))
		return no_memory(path);
	parts->all[parts->count] = (struct part){ .path = strdup(path), .brief = *brief };
	return parts->all[parts->count++].path ? 0 : no_memory(path);
}

static bool look_at_first_rank(const char *job, struct sb_run_brief *out_brief)
{
	struct sb_catalogue found = { 0 };
	bool there = false;

	if (sb_catalogue_list(job, &found))
		return false;
	for (size_t i = 0; i < found.count && !there; i++)
		there = sb_catalogue_is_rank(found.entries[i].name) && !found.entries[i].link &&
			sb_run_brief_read(found.entries[i].path, out_brief);
	sb_catalogue_done(&found);
	return there;
}

static int collect(struct parts *parts, const char *folder, int depth)
{
	struct sb_catalogue found = { 0 };
	int err = sb_catalogue_list(folder, &found);

	for (size_t i = 0; i < found.count && !err; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		struct sb_run_brief brief;
		char first[PATH_MAX];

		if (e->link || sb_job_is_later_attempt(e->path, first, sizeof first))
			continue; /* its job is listed with the first attempt */
		if (e->kind == SB_CATALOGUE_RUNS)
			err = depth < DEPTH_MAX ? collect(parts, e->path, depth + 1) : 0;
		else if (e->kind == SB_CATALOGUE_JOB ? look_at_first_rank(e->path, &brief)
						     : sb_run_brief_read(e->path, &brief))
			err = add_part(parts, e->path, &brief);
	}
	sb_catalogue_done(&found);
	return err;
}

/* ---- those of one job ---- */

/* Enters the ranks of a part into the world, or none if one of them is there already. */
static int enter(struct world *w, const struct part *part, bool *out_entered, int32_t *out_first)
{
	struct sb_job job = { 0 };
	int err = sb_job_find_itself(part->path, &job);
	size_t count = job.rank_count ? job.rank_count : 1, fresh = 0;
	int32_t *ranks = malloc(count * sizeof *ranks);

	if (!err && !ranks)
		err = no_memory(part->path);
	for (size_t i = 0; i < count && !err; i++) {
		long rank = job.rank_count ? strtol(sb_filename_of(job.ranks[i]) + 5, NULL, 10) /* rank_<N> */
					   : part->brief.rank;

		ranks[i] = rank >= 0 && (size_t)rank < w->size && !w->there[rank] ? (int32_t)rank : -1;
		fresh += ranks[i] >= 0;
	}
	*out_entered = !err && fresh == count;
	*out_first = INT32_MAX;
	for (size_t i = 0; i < count && *out_entered; i++) {
		w->there[ranks[i]] = true;
		w->count++;
		*out_first = ranks[i] < *out_first ? ranks[i] : *out_first;
	}
	free(ranks);
	sb_job_done(&job);
	return err;
}

static bool at_the_same_time(const struct sb_run_brief *a, const struct sb_run_brief *b)
{
	return sb_runs_overlap(a->start_real_ns, a->duration_ns, b->start_real_ns, b->duration_ns);
}

static int nearest_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->apart_ns < y->apart_ns ? -1 : x->apart_ns > y->apart_ns ? 1 : strcmp(x->path, y->path);
}

static int by_first_rank(const void *a, const void *b)
{
	const struct sb_node *x = a, *y = b;

	return x->first_rank < y->first_rank ? -1 : x->first_rank > y->first_rank;
}

/* The parts that belong to the first of them. */
static int join(const struct parts *parts, struct world *w, struct sb_nodes *nodes)
{
	const struct sb_run_brief *like = &parts->all[0].brief;
	size_t room = 0;
	int err = 0;

	for (size_t i = 0; i < parts->count && w->count < w->size && !err; i++) {
		const struct part *p = &parts->all[i];
		bool entered = false;
		int32_t first;

		if (p->brief.world_size != like->world_size || !at_the_same_time(&p->brief, like))
			continue;
		err = enter(w, p, &entered, &first);
		if (!entered)
			continue;
		if (!SB_MAKE_ROOM(nodes->all, nodes->count, room))
			return no_memory(p->path);
		nodes->all[nodes->count] = (struct sb_node){ strdup(p->path), first };
		if (!nodes->all[nodes->count++].path)
			err = no_memory(p->path);
	}
	return err;
}

static int join_with(struct parts *parts, size_t index, struct sb_nodes *out_nodes)
{
	struct sb_run_brief like = parts->all[index].brief;
	struct world w = { .size = like.rank >= 0 && like.world_size > 1 ? (size_t)like.world_size : 0 };
	struct sb_nodes nodes = { 0 };
	int err;

	if (!w.size)
		return 0;
	for (size_t i = 0; i < parts->count; i++) {
		uint64_t a = parts->all[i].brief.start_real_ns, b = like.start_real_ns;

		parts->all[i].apart_ns = i == index ? 0 : 1 + (a > b ? a - b : b - a);
	}
	qsort(parts->all, parts->count, sizeof *parts->all, nearest_first);
	w.there = calloc(w.size, sizeof *w.there);
	err = w.there ? join(parts, &w, &nodes) : no_memory(parts->all[0].path);
	free(w.there);
	if (err || nodes.count < 2) {
		sb_nodes_done(&nodes);
		return err;
	}
	qsort(nodes.all, nodes.count, sizeof *nodes.all, by_first_rank);
	*out_nodes = nodes;
	return 0;
}

int sb_nodes_find(const char *folder, struct sb_nodes *out_nodes)
{
	struct parts parts = { 0 };
	size_t newest = 0;
	int err = collect(&parts, folder, 0);

	for (size_t i = 1; i < parts.count; i++)
		if (parts.all[i].brief.start_real_ns > parts.all[newest].brief.start_real_ns)
			newest = i;
	memset(out_nodes, 0, sizeof *out_nodes);
	if (!err && parts.count > 1)
		err = join_with(&parts, newest, out_nodes);
	parts_done(&parts);
	return err;
}

/* "runs/x/" into "runs" and "x"; the same for "runs/last" if that is a link to x. */
static void split(const char *path, char out_folder[PATH_MAX], char out_name[NAME_MAX + 1])
{
	char clean[PATH_MAX], target[NAME_MAX + 1];
	size_t length = strlen(path);
	ssize_t linked;

	while (length > 1 && path[length - 1] == '/')
		length--;
	snprintf(clean, sizeof clean, "%.*s", (int)length, path);
	snprintf(out_name, NAME_MAX + 1, "%s", sb_filename_of(clean));
	sb_path_folder(clean, out_folder, PATH_MAX);
	length = strlen(out_folder);
	if (length > 1 && out_folder[length - 1] == '/')
		out_folder[length - 1] = 0;
	linked = readlink(clean, target, sizeof target - 1);
	if (linked > 0 && !memchr(target, '/', (size_t)linked))
		snprintf(out_name, NAME_MAX + 1, "%.*s", (int)linked, target);
}

int sb_nodes_find_beside(const char *run, struct sb_nodes *out_nodes)
{
	struct parts parts = { 0 };
	char folder[PATH_MAX], name[NAME_MAX + 1];
	size_t index = 0;
	int err;

	memset(out_nodes, 0, sizeof *out_nodes);
	split(run, folder, name);
	if (sb_catalogue_is_rank(name)) /* it lies in its job's folder, which says what belongs to it */
		return 0;
	err = collect(&parts, folder, DEPTH_MAX);
	while (index < parts.count && strcmp(sb_filename_of(parts.all[index].path), name) != 0)
		index++;
	if (!err && parts.count > 1 && index < parts.count)
		err = join_with(&parts, index, out_nodes);
	parts_done(&parts);
	return err;
}
