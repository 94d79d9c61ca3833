/* Recordings are found by their names at each scrape; those of runs that are no
 * longer live are forgotten. */
#include "serve/fleet.h"

#include "base/error.h"
#include "format/gathered.h"
#include "run/catalogue.h"
#include "serve/follow.h"
#include "serve/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 4096u /* of one run */

struct fleet_run {
	char *path;
	struct sb_vec files; /* struct sb_follow */
	uint64_t scrape; /* that saw it last */
	bool readable;
};

static struct sb_follow *file_at(const struct fleet_run *r, size_t i)
{
	return (struct sb_follow *)r->files.items + i;
}

static void run_done(struct fleet_run *r)
{
	for (size_t i = 0; i < r->files.count; i++)
		sb_follow_done(file_at(r, i));
	sb_vec_done(&r->files);
	free(r->path);
	memset(r, 0, sizeof *r);
}

void sb_fleet_done(struct sb_fleet *f)
{
	for (size_t i = 0; i < f->runs.count; i++)
		run_done((struct fleet_run *)f->runs.items + i);
	sb_vec_done(&f->runs);
}

static struct fleet_run *run_of(struct sb_fleet *f, const char *path)
{
	struct fleet_run *r;

	for (size_t i = 0; i < f->runs.count; i++) {
		r = (struct fleet_run *)f->runs.items + i;
		if (!strcmp(r->path, path))
			return r;
	}
	r = f->runs.count < SB_FLEET_RUNS_MAX ? sb_vec_push(&f->runs, sizeof *r) : NULL;
	if (r && !(r->path = strdup(path))) {
		f->runs.count--;
		return NULL;
	}
	return r;
}

static void forget_ended(struct sb_fleet *f)
{
	for (size_t i = 0; i < f->runs.count;) {
		struct fleet_run *r = (struct fleet_run *)f->runs.items + i;

		if (r->scrape == f->scrape_count) {
			i++;
			continue;
		}
		run_done(r);
		*r = ((struct fleet_run *)f->runs.items)[--f->runs.count];
	}
}

/* ---- its recordings ---- */

static void find_file(struct fleet_run *r, const char *path)
{
	struct sb_follow *file;

	for (size_t i = 0; i < r->files.count; i++)
		if (!strcmp(file_at(r, i)->path, path))
			return;
	if (sb_gathered_is(path)) /* processes that have ended: nothing in it changes */
		return;
	file = r->files.count < FILES_MAX ? sb_vec_push(&r->files, sizeof *file) : NULL;
	if (file && sb_follow_init(file, path))
		r->files.count--;
}

static bool is_among(const struct sb_recording_paths *known, const char *path)
{
	for (size_t i = 0; i < known->count; i++)
		if (!strcmp(known->paths[i], path))
			return true;
	return false;
}

/* Recordings that turned out to be of ranks, each of which is followed for itself: at first one rank alone is a run. */
static void leave_to_ranks(struct fleet_run *r, const struct sb_recording_paths *known)
{
	for (size_t i = r->files.count; i-- > 0;) {
		struct sb_follow *file = file_at(r, i);

		if (is_among(known, file->path))
			continue;
		sb_follow_done(file);
		*file = *file_at(r, --r->files.count);
	}
}

/* A run is a folder of recordings, some of a folder, or one of them. */
static void find_files(struct fleet_run *r, const struct sb_recording_paths *known)
{
	struct sb_recording_paths found = { 0 };

	for (size_t i = 0; i < known->count; i++)
		find_file(r, known->paths[i]);
	if (known->count) {
		leave_to_ranks(r, known);
		return;
	}
	if (sb_catalogue_kind(r->path, NULL) == SB_CATALOGUE_RUN)
		sb_catalogue_recordings(r->path, &found);
	else
		find_file(r, r->path);
	for (size_t i = 0; i < found.count; i++)
		find_file(r, found.paths[i]);
	sb_recording_paths_done(&found);
}

static void look(struct fleet_run *r, const struct sb_recording_paths *known, struct sb_worker_link *link)
{
	r->readable = true;
	find_files(r, known);
	for (size_t i = 0; i < r->files.count; i++) {
		struct sb_follow *file = file_at(r, i);

		if (!file->closed && (!sb_worker_reading(link, file->path) || sb_follow_look(file)))
			r->readable = false;
	}
}

/* ---- what they add up to ---- */

static uint64_t seen_ns(const struct sb_file_header *h)
{
	int64_t ticks = (int64_t)(h->heartbeat_ticks - h->start_ticks);

	return h->start_real_ns + (ticks > 0 ? (uint64_t)((double)ticks * 1e9 / (double)h->clock_hz) : 0);
}

static void describe(const struct fleet_run *r, const struct sb_tally **tallies, struct sb_metrics_run *out)
{
	for (size_t i = 0; i < r->files.count; i++) {
		const struct sb_follow *file = file_at(r, i);
		uint64_t seen = seen_ns(&file->head);

		if (!file->begun)
			continue;
		tallies[out->tally_count++] = &file->tally;
		out->bytes += file->head.header_bytes +
			      (uint64_t)file->head.chunk_count * file->head.chunk_bytes;
		out->own_cpu_ns += file->head.own_cpu_ns;
		if (seen > out->seen_real_ns)
			out->seen_real_ns = seen;
		if (file->head.rank >= 0)
			out->rank = file->head.rank;
		if (file->head.world_size > 0)
			out->world_size = file->head.world_size;
		if (file->tally.job)
			out->job = sb_strings_text(&file->tally.texts, file->tally.job);
	}
	out->tallies = tallies;
	out->readable = r->readable;
}

static void add_run(
	struct sb_exposition *e, const struct sb_listed *listed, const struct fleet_run *r, size_t stages_max)
{
	struct sb_metrics_run run = { .id = listed->id,
		.job = "",
		.name = listed->brief.name,
		.host = listed->brief.host,
		.rank = -1,
		.start_real_ns = listed->brief.start_real_ns,
		.stages_max = stages_max };
	const struct sb_tally **tallies = r ? calloc(r->files.count + 1, sizeof *tallies) : NULL;

	if (tallies)
		describe(r, tallies, &run);
	sb_metrics_add(e, &run);
	free(tallies);
}

/* A job's ranks are scraped, each for itself, and what watches them all. */
static bool is_scraped(const struct sb_listed *run)
{
	return run->brief.live && (!run->rank_count || run->files.count);
}

int sb_fleet_metrics(struct sb_fleet *f, const struct sb_listing *listing, struct sb_worker_link *link,
	bool open_metrics, struct sb_buf *out)
{
	struct sb_exposition e = { .open_metrics = open_metrics };
	size_t live = 0, stages_max;
	int err = 0;

	f->scrape_count++;
	for (size_t i = 0; i < listing->count; i++)
		live += is_scraped(&listing->runs[i]);
	stages_max = SB_FLEET_STAGES / (live ? live : 1);
	stages_max = stages_max < 20 ? 20 : stages_max > 200 ? 200 : stages_max;
	for (size_t i = 0; i < listing->count; i++) {
		struct fleet_run *r = is_scraped(&listing->runs[i]) ? run_of(f, listing->runs[i].path) : NULL;

		if (!r)
			continue;
		r->scrape = f->scrape_count;
		look(r, &listing->runs[i].files, link);
		add_run(&e, &listing->runs[i], r, stages_max);
	}
	forget_ended(f);
	sb_metrics_add_own(&e, "strobe_runs_live", (double)live);
	sb_metrics_add_own(&e, "strobe_runs_listed", (double)listing->count);
	sb_exposition_write(&e, out);
	if (e.failed || sb_buf_failed(out))
		err = sb_fail(STROBE_ENOMEM, "no memory for the metrics");
	sb_exposition_done(&e);
	return err;
}
