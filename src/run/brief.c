/* Reads the first bytes of each recording: a thousand runs list in milliseconds. */
#include "run/brief.h"

#include "run/catalogue.h"
#include "run/run.h"
#include "base/filename.h"
#include "format/head.h"

#include <stdio.h>
#include <string.h>

/* The brief while it is read: which recording says how the run ended. */
struct reading {
	struct sb_run_brief brief;
	bool found, plain;
	bool beside; /* the file being read is not of the program itself */
	bool main_beside;
	uint64_t main_start_ns; /* 0: none yet */
};

static void take_first(struct sb_run_brief *s, const struct sb_file_header *h)
{
	if (s->name[0] && s->start_real_ns <= h->start_real_ns)
		return;
	snprintf(s->name, sizeof s->name, "%.*s", (int)sizeof h->name - 1, h->name);
	snprintf(s->host, sizeof s->host, "%.*s", (int)sizeof h->host - 1, h->host);
	s->start_real_ns = h->start_real_ns;
	s->pid = h->pid;
}

static uint64_t duration_of(const struct sb_file_header *h)
{
	uint64_t ticks = h->closed ? h->end_ticks : h->heartbeat_ticks;

	if (h->closed && h->end_mono_ns > h->start_mono_ns)
		return h->end_mono_ns - h->start_mono_ns;
	if (!h->clock_hz || ticks <= h->start_ticks)
		return 0;
	return (uint64_t)((double)(ticks - h->start_ticks) * 1e9 / (double)h->clock_hz);
}

/* How a run ended is what its own process says, the first to record; the tool's
 * run.strobe and run.labels.strobe count only where there is nothing else. */
static void take_end(struct reading *r, const struct sb_file_header *h)
{
	bool known = r->main_start_ns != 0;

	if (known && (r->beside > r->main_beside ||
			     (r->beside == r->main_beside && r->main_start_ns <= h->start_real_ns)))
		return;
	r->main_beside = r->beside;
	r->main_start_ns = h->start_real_ns;
	r->brief.closed = h->closed != SB_CLOSED_NOT;
	r->brief.failed = h->closed == SB_CLOSED_FAILED;
}

/* The times of day of one machine: what a report takes from its clocks differs by less than is shown. */
static void cover(struct sb_run_brief *s, uint64_t start_ns, uint64_t duration_ns)
{
	uint64_t end_ns = start_ns + duration_ns, before_ns = s->start_real_ns + s->duration_ns;

	if (start_ns < s->start_real_ns)
		s->start_real_ns = start_ns;
	if (before_ns > end_ns)
		end_ns = before_ns;
	s->duration_ns = end_ns - s->start_real_ns;
}

void sb_run_brief_extend(struct sb_run_brief *brief, const struct sb_file_header *head)
{
	cover(brief, head->start_real_ns, duration_of(head));
}

static void take_head(const struct sb_file_header *h, void *context)
{
	struct reading *r = context;

	struct sb_run_brief before = r->brief;

	take_first(&r->brief, h);
	take_end(r, h);
	r->brief.duration_ns = duration_of(h);
	if (r->found) {
		r->brief.start_real_ns = h->start_real_ns;
		cover(&r->brief, before.start_real_ns, before.duration_ns);
	}
	r->brief.frames += h->made[SB_MADE_FRAMES] ? h->made[SB_MADE_FRAMES] : h->made[SB_MADE_BLOCK_FRAMES];
	r->brief.steps += h->made[SB_MADE_STEPS];
	if (h->rank >= 0) {
		r->brief.several_ranks |= r->brief.rank >= 0 && r->brief.rank != h->rank;
		r->brief.rank = h->rank;
		if (h->world_size > r->brief.world_size)
			r->brief.world_size = h->world_size;
	}
	r->brief.live |= sb_run_is_running(h);
	r->found = true;
}

struct sb_run_brief sb_run_brief_of(const struct sb_file_header *head)
{
	struct reading r = { .brief = { .rank = -1 } };

	take_head(head, &r);
	return r.brief;
}

static void read_file(struct reading *r, const char *path, enum sb_infile_from from)
{
	const char *name = sb_filename_of(path);
	uint64_t bytes = 0;
	enum sb_head_kind kind;

	r->beside = from == SB_INFILE_LISTED &&
		    (!strcmp(name, "run.strobe") || !strcmp(name, "run.labels.strobe"));
	kind = sb_head_read(path, from, take_head, r, &bytes);
	r->plain |= kind == SB_HEAD_PLAIN || kind == SB_HEAD_GATHERED;
	r->brief.bytes += bytes;
}

bool sb_run_brief_read(const char *path, struct sb_run_brief *out_brief)
{
	struct reading r = { .brief = { .rank = -1 } };
	struct sb_recording_paths files = { 0 };

	switch (sb_catalogue_kind(path, NULL)) {
	case SB_CATALOGUE_RECORDING:
	case SB_CATALOGUE_FILE: read_file(&r, path, SB_INFILE_NAMED); break;
	case SB_CATALOGUE_RUN: sb_catalogue_recordings(path, &files); break;
	default: break;
	}
	for (size_t i = 0; i < files.count; i++)
		read_file(&r, files.paths[i], SB_INFILE_LISTED);
	sb_recording_paths_done(&files);
	if (!r.found)
		return false;
	r.brief.packed = !r.plain;
	*out_brief = r.brief;
	return true;
}

const char *sb_run_brief_state(const struct sb_run_brief *brief)
{
	return brief->live ? "live" : brief->closed ? "ended" : "killed";
}

#define CLOCKS_APART_NS (60 * UINT64_C(1000000000))

bool sb_runs_overlap(uint64_t start_a_ns, uint64_t duration_a_ns, uint64_t start_b_ns, uint64_t duration_b_ns)
{
	return start_a_ns <= start_b_ns + duration_b_ns + CLOCKS_APART_NS &&
	       start_b_ns <= start_a_ns + duration_a_ns + CLOCKS_APART_NS;
}
