/* See listing.h: what a run is, run/catalogue.h decides. */
#include "serve/listing.h"

#include "base/error.h"
#include "base/json.h"
#include "base/room.h"
#include "format/started.h"
#include "run/catalogue.h"

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

static int newest_first(const void *a, const void *b)
{
	const struct sb_listed *x = a, *y = b;

	if (x->brief.start_real_ns != y->brief.start_real_ns)
		return x->brief.start_real_ns > y->brief.start_real_ns ? -1 : 1;
	return strcmp(x->id, y->id);
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

/* The job that its ranks, listed from the first-th on, make. */
static int keep_job(struct sb_listing *l, size_t first, const char *id, const char *path)
{
	struct sb_run_brief brief = { 0 };
	size_t ranks = l->count - first;
	int err;

	for (size_t i = first; i < l->count; i++)
		add_brief(&brief, &l->runs[i].brief, i - first);
	if (ranks < 2 || l->count >= SB_LISTING_MAX)
		return 0;
	err = keep(l, &brief, id, path);
	if (!err)
		l->runs[l->count - 1].rank_count = ranks;
	return err;
}

/* A job's ranks, each listed as JOB.rank_<N>; prefix: "JOB." */
static int scan_ranks(const char *job, const char *id_of_job, const char *prefix, struct sb_listing *l)
{
	struct sb_catalogue found = { 0 };
	size_t first = l->count;
	int err = 0;

	if (sb_catalogue_list(job, &found))
		return 0;
	for (size_t i = 0; i < found.count && !err; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		char id[600];

		if (!e->link && sb_catalogue_is_rank(e->name) &&
			snprintf(id, sizeof id, "%s%s", prefix, e->name) < (int)sizeof id)
			err = keep_run(l, id, e->path);
	}
	sb_catalogue_done(&found);
	return err ? err : keep_job(l, first, id_of_job, job);
}

/* Links are left out: "last" names a run that is listed already. */
static int scan_folder(const char *folder, struct sb_listing *l)
{
	struct sb_catalogue found = { 0 };
	int err;

	if (access(folder, F_OK))
		return 0;
	err = sb_catalogue_list(folder, &found);
	for (size_t i = 0; i < found.count && !err; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		char prefix[300];

		if (e->link || e->kind == SB_CATALOGUE_RUNS)
			continue;
		snprintf(prefix, sizeof prefix, "%s.", e->name);
		err = keep_run(l, e->name, e->path);
		if (!err && e->kind != SB_CATALOGUE_RECORDING)
			err = scan_ranks(e->path, e->name, prefix, l);
	}
	sb_catalogue_done(&found);
	return err;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
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
		err = keep_run(&l, last_part(clean), clean);
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

/* Only of the runs that are shown: it is a second look at each. */
static void read_started(struct sb_listed *run)
{
	struct sb_started started;
	char path[PATH_BYTES];

	if (snprintf(path, sizeof path, "%s/run.strobe", run->path) >= (int)sizeof path ||
		!sb_started_read(path, SB_INFILE_LISTED, &started))
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
