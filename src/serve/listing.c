/* Lists the runs of a folder. What a run is, is decided by run/catalogue.h. */
#include "serve/listing.h"

#include "base/error.h"
#include "base/json.h"
#include "base/room.h"
#include "format/started.h"
#include "run/catalogue.h"
#include "run/job.h"
#include "run/nodes.h"
#include "run/rank_briefs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

void sb_listing_done(struct sb_listing *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->runs[i].id);
		free(l->runs[i].path);
		free(l->runs[i].command);
		free(l->runs[i].commit);
		free(l->runs[i].job);
		sb_recording_paths_done(&l->runs[i].files);
	}
	free(l->runs);
	memset(l, 0, sizeof *l);
}

static int keep(struct sb_listing *l, const struct sb_run_brief *brief, const char *id, const char *path)
{
	if (l->count >= SB_LISTING_MAX) {
		l->left_out++;
		return 0;
	}
	if (!SB_MAKE_ROOM(l->runs, l->count, l->room))
		return sb_fail(STROBE_ENOMEM, "no memory to list runs");
	l->runs[l->count] = (struct sb_listed){ .brief = *brief };
	l->runs[l->count].id = strdup(id);
	l->runs[l->count].path = strdup(path);
	l->runs[l->count].state = sb_run_brief_state(brief);
	l->count++;
	if (!l->runs[l->count - 1].id || !l->runs[l->count - 1].path)
		return sb_fail(STROBE_ENOMEM, "no memory to list runs");
	return 0;
}

static int keep_run(struct sb_listing *l, const char *id, const char *path)
{
	struct sb_run_brief brief;

	return sb_run_brief_read(path, &brief) ? keep(l, &brief, id, path) : 0;
}

static const char *job_of(const struct sb_listed *r)
{
	return r->job ? r->job : r->id;
}

/* A job stands before its ranks, where it would stand without them. */
static int newest_first(const void *a, const void *b)
{
	const struct sb_listed *x = a, *y = b;
	uint64_t x_ns = x->job ? x->job_start_real_ns : x->brief.start_real_ns;
	uint64_t y_ns = y->job ? y->job_start_real_ns : y->brief.start_real_ns;
	int order;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	order = strcmp(job_of(x), job_of(y));
	if (order || !x->job || !y->job)
		return order ? order : !!x->job - !!y->job;
	if (x->brief.rank != y->brief.rank)
		return x->brief.rank < y->brief.rank ? -1 : 1;
	return strverscmp(x->id, y->id);
}

static void add_brief(struct sb_run_brief *job, const struct sb_run_brief *rank, size_t before)
{
	uint64_t bytes = job->bytes + rank->bytes, longest = job->duration_ns;
	bool live = job->live || rank->live, closed = (!before || job->closed) && rank->closed;

	if (!before || rank->start_real_ns < job->start_real_ns)
		*job = *rank;
	job->bytes = bytes;
	job->duration_ns = longest > rank->duration_ns ? longest : rank->duration_ns;
	job->live = live;
	job->closed = closed;
	job->rank = -1;
}

/* The rows from first to end are ranks of a job. */
static int mark_ranks(struct sb_listing *l, size_t first, size_t end, const char *id, uint64_t start_real_ns)
{
	for (size_t i = first; i < end; i++) {
		l->runs[i].job = strdup(id);
		l->runs[i].job_start_real_ns = start_real_ns;
		if (!l->runs[i].job)
			return sb_fail(STROBE_ENOMEM, "no memory to list runs");
	}
	return 0;
}

/* The job that its ranks, listed from the first-th on, make. */
static int keep_job(struct sb_listing *l, size_t first, const char *id, const char *path)
{
	struct sb_run_brief brief = { 0 };
	size_t end = l->count, ranks = end - first;
	int err;

	for (size_t i = first; i < end; i++)
		add_brief(&brief, &l->runs[i].brief, i - first);
	if (ranks < 2 || l->count >= SB_LISTING_MAX)
		return 0;
	err = keep(l, &brief, id, path);
	if (!err)
		l->runs[l->count - 1].rank_count = ranks;
	return err ? err : mark_ranks(l, first, end, id, brief.start_real_ns);
}

static void move_files(struct sb_recording_paths *from, struct sb_recording_paths *to)
{
	*to = *from;
	memset(from, 0, sizeof *from);
}

/* The ranks of a run that holds several, each listed as <prefix>rank_<N>; others gets the recordings of no rank.
 * out_count 0: it is one run. */
static int keep_ranks_inside(struct sb_listing *l, const char *folder, const char *prefix,
	struct sb_recording_paths *others, size_t *out_count)
{
	struct sb_rank_briefs b = { 0 };
	int err = sb_rank_briefs_read(folder, &b);

	*out_count = err ? 0 : b.count;
	for (size_t i = 0; i < b.count && !err; i++) {
		char id[600], path[PATH_BYTES];
		size_t before = l->count;

		snprintf(id, sizeof id, "%.500srank_%d", prefix, (int)b.all[i].brief.rank);
		if (snprintf(path, sizeof path, "%s/rank_%d", folder, (int)b.all[i].brief.rank) >=
			(int)sizeof path)
			continue;
		err = keep(l, &b.all[i].brief, id, path);
		if (!err && l->count > before)
			move_files(&b.all[i].files, &l->runs[before].files);
	}
	if (others)
		move_files(&b.others, others);
	sb_rank_briefs_done(&b);
	return err;
}

/* A job lasts as long as its slowest rank: its report says the same. */
static uint64_t longest_of(const struct sb_listing *l, size_t first)
{
	uint64_t longest_ns = 0;

	for (size_t i = first; i < l->count; i++)
		if (l->runs[i].brief.duration_ns > longest_ns)
			longest_ns = l->runs[i].brief.duration_ns;
	return longest_ns;
}

/* A run, and where its recordings are of several ranks, those below it. */
static int keep_run_with_ranks(struct sb_listing *l, const char *id, const char *path, const char *prefix)
{
	struct sb_recording_paths others = { 0 };
	size_t run = l->count, count = 0;
	int err = keep_run(l, id, path);

	if (err || l->count == run || !l->runs[run].brief.several_ranks ||
		sb_catalogue_kind(path, NULL) != SB_CATALOGUE_RUN)
		return err;
	err = keep_ranks_inside(l, path, prefix, &others, &count);
	if (!err && count) {
		struct sb_listed *job = &l->runs[run];

		job->rank_count = count;
		job->brief.rank = -1;
		job->brief.duration_ns = longest_of(l, run + 1);
		move_files(&others, &job->files);
		err = mark_ranks(l, run + 1, l->count, id, job->brief.start_real_ns);
	}
	sb_recording_paths_done(&others);
	return err;
}

/* A rank, or the ranks of a node's launcher in its place. */
static int keep_rank(struct sb_listing *l, const char *prefix, const struct sb_catalogue_entry *e)
{
	struct sb_run_brief brief;
	size_t count = 0;
	char id[600];
	int err = 0;

	if (!sb_run_brief_read(e->path, &brief))
		return 0;
	if (brief.several_ranks && e->kind == SB_CATALOGUE_RUN)
		err = keep_ranks_inside(l, e->path, prefix, NULL, &count);
	if (err || count || snprintf(id, sizeof id, "%s%s", prefix, e->name) >= (int)sizeof id)
		return err;
	return keep(l, &brief, id, e->path);
}

/* A job's ranks, each listed as JOB.rank_<N>; prefix: "JOB." */
static int scan_ranks(const char *job, const char *id_of_job, const char *prefix, struct sb_listing *l)
{
	struct sb_catalogue found = { 0 };
	char itself[PATH_BYTES];
	size_t first = l->count;
	int err = 0;

	/* "job" alone would mean its last complete attempt, whose ranks are listed in their own place */
	if (snprintf(itself, sizeof itself, "%s/.", job) >= (int)sizeof itself ||
		sb_catalogue_list(job, &found))
		return 0;
	for (size_t i = 0; i < found.count && !err; i++)
		if (!found.entries[i].link && sb_catalogue_is_rank(found.entries[i].name))
			err = keep_rank(l, prefix, &found.entries[i]);
	sb_catalogue_done(&found);
	return err ? err : keep_job(l, first, id_of_job, itself);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int keep_node(struct sb_listing *l, const char *prefix, struct sb_node *node)
{
	struct sb_catalogue_entry whole = { .path = node->path, .kind = sb_catalogue_kind(node->path, NULL) };
	struct sb_catalogue found = { 0 };
	char name[32];
	int err = 0;

	snprintf(name, sizeof name, "rank_%d", (int)node->first_rank);
	whole.name = name;
	if (whole.kind != SB_CATALOGUE_JOB)
		return keep_rank(l, prefix, &whole);
	if (sb_catalogue_list(node->path, &found))
		return 0;
	for (size_t i = 0; i < found.count && !err; i++)
		if (!found.entries[i].link && sb_catalogue_is_rank(found.entries[i].name))
			err = keep_rank(l, prefix, &found.entries[i]);
	sb_catalogue_done(&found);
	return err;
}

/* The newest job where its nodes' runs lie side by side: called by the folder, its ranks FOLDER.rank_<N>. */
static int scan_nodes(const char *folder, struct sb_listing *l, struct sb_nodes *nodes)
{
	size_t first = l->count;
	char prefix[300], whole[PATH_BYTES];
	const char *id = last_part(realpath(folder, whole) ? whole : folder);
	int err = sb_nodes_find(folder, nodes);

	snprintf(prefix, sizeof prefix, "%.255s.", id);
	for (size_t i = 0; i < nodes->count && !err; i++)
		err = keep_node(l, prefix, &nodes->all[i]);
	return err || !nodes->count ? err : keep_job(l, first, id, folder);
}

/* Links are left out: "last" names a run that is listed already. */
static int scan_folder(const char *folder, struct sb_listing *l)
{
	struct sb_catalogue found = { 0 };
	struct sb_nodes nodes = { 0 };
	int err;

	if (access(folder, F_OK))
		return 0;
	err = scan_nodes(folder, l, &nodes);
	if (!err)
		err = sb_catalogue_list(folder, &found);
	for (size_t i = 0; i < found.count && !err; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		char prefix[300];

		if (e->link || e->kind == SB_CATALOGUE_RUNS || sb_nodes_have(&nodes, e->path))
			continue;
		snprintf(prefix, sizeof prefix, "%s.", e->name);
		err = keep_run_with_ranks(l, e->name, e->path, prefix);
		if (!err && e->kind != SB_CATALOGUE_RECORDING)
			err = scan_ranks(e->path, e->name, prefix, l);
	}
	sb_catalogue_done(&found);
	sb_nodes_done(&nodes);
	return err;
}

int sb_listing_scan(const char *target, struct sb_listing *out_listing)
{
	struct sb_listing l = { 0 };
	char clean[PATH_BYTES];
	size_t size = strlen(target), ranks;
	enum sb_catalogue_kind kind;
	int err = 0;

	while (size > 1 && target[size - 1] == '/')
		size--;
	snprintf(clean, sizeof clean, "%.*s", (int)size, target);
	kind = sb_catalogue_kind(clean, &ranks);
	if (kind == SB_CATALOGUE_RUN || kind == SB_CATALOGUE_RECORDING || kind == SB_CATALOGUE_FILE)
		err = keep_run_with_ranks(&l, last_part(clean), clean, "");
	else if (kind != SB_CATALOGUE_JOB)
		err = scan_folder(clean, &l);
	if (!err && ranks)
		err = scan_ranks(clean, last_part(clean), "", &l);
	if (err) {
		sb_listing_done(&l);
		return err;
	}
	if (l.count)
		qsort(l.runs, l.count, sizeof *l.runs, newest_first);
	*out_listing = l;
	return 0;
}

const struct sb_listed *sb_listing_find(const struct sb_listing *l, const char *id)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->runs[i].id, id))
			return &l->runs[i];
	return NULL;
}

/* rest: what the id says after that of the listed run, ".1" or ".1.rank_0". Nothing of it is taken as a path. */
static bool attempt_of(
	const struct sb_listed *run, const char *rest, char *out_path, size_t size, bool *out_rank)
{
	char folder[PATH_BYTES];
	unsigned attempt, in_folder;
	int rank = -1, one = 0, two = 0, found;
	int32_t of_rank;

	found = sscanf(rest, ".%5u%n.rank_%9d%n", &attempt, &one, &rank, &two);
	if (found < 1 || rest[found == 2 ? two : one] || !isdigit((unsigned char)rest[1]) || rank < -1)
		return false;
	*out_rank = found == 2;
	if (found == 1)
		snprintf(out_path, size, "%s.%u", run->path, attempt);
	else
		snprintf(out_path, size, "%s.%u/rank_%d", run->path, attempt, rank);
	return found == 1 ? sb_job_attempt_inside(out_path, folder, sizeof folder, &in_folder)
			  : sb_job_rank_inside(out_path, folder, sizeof folder, &of_rank, &in_folder);
}

bool sb_listing_find_attempt(
	const struct sb_listing *l, const char *id, char *out_path, size_t size, bool *out_rank)
{
	for (size_t i = 0; i < l->count; i++) {
		size_t length = strlen(l->runs[i].id);

		if (l->runs[i].rank_count && !strncmp(l->runs[i].id, id, length) &&
			attempt_of(&l->runs[i], id + length, out_path, size, out_rank))
			return true;
	}
	return false;
}

/* Only of the runs that are shown: it is a second look at each. */
static void read_started(struct sb_listed *run)
{
	struct sb_started started;
	char path[PATH_BYTES];

	if (!run->path || snprintf(path, sizeof path, "%s/run.strobe", run->path) >= (int)sizeof path)
		return;
	if (!sb_started_read(path, SB_INFILE_LISTED, &started) &&
		!sb_started_read(run->path, SB_INFILE_LISTED, &started)) /* one file is a run, too */
		return;
	run->command = *started.command ? strdup(started.command) : NULL;
	run->commit = *started.commit ? strdup(started.commit) : NULL;
}

void sb_listing_json(struct sb_listing *l, struct sb_buf *out)
{
	struct sb_listing shown = *l;
	struct sb_json j;

	if (shown.count > SB_LISTING_SHOWN)
		shown.count = SB_LISTING_SHOWN;
	shown.left_out += l->count - shown.count;
	for (size_t i = 0; i < shown.count; i++)
		if (!shown.runs[i].command && !shown.runs[i].commit)
			read_started(&shown.runs[i]);
	sb_json_init(&j, out, false);
	sb_fields_write(&sb_listing_fields, &shown, NULL, &j);
}
