/* What is written of a slow moment: itself, the step before it, and a normal one; of a row the first and the slowest. */
#include "gpu/slow_record.h"

#include "format/run_keys.h"
#include "gpu/counters.h"
#include "gpu/held.h"
#include "gpu/kept_moments.h"
#include "record/clock.h"
#include "record/put.h"

#include <inttypes.h>
#include <stdio.h>

#define BEHIND_S 60u /* so long the GPU may take to come to what was launched */
#define ROW_S 1u /* so long a row may grow before its slowest one is written */
#define HOW "see docs/gpu.md, 'The slow moment'"

static struct sb_caught_list caught;
static struct sb_kept_moments kept; /* launches whose records are written, also those that come late */
static uint64_t kernels, unwritten;
static uint64_t looked_total; /* how many records had come at the last look */

void sb_slow_record_start(uint32_t places)
{
	sb_caught_init(&caught, places);
	kept.count = 0;
	kernels = unwritten = looked_total = 0;
}

bool sb_slow_record_full(void)
{
	return sb_caught_full(&caught);
}

uint64_t sb_slow_record_kernels(void)
{
	return kernels;
}

uint64_t sb_slow_record_unwritten(void)
{
	return unwritten;
}

uint64_t sb_slow_record_cost_ticks(uint32_t tid, uint64_t generation_ticks)
{
	return sb_caught_cost_ticks(&caught, tid, generation_ticks);
}

static void write_kept(uint64_t before)
{
	for (uint32_t i = 0; i < kept.count; i++)
		unwritten += sb_held_write(kept.all[i].begin_ticks, kept.all[i].end_ticks, before, &kernels);
}

/* Records of these launches are written for a second more, and until the GPU has come to what was launched later. */
static void keep_time(uint64_t begin_ticks, uint64_t end_ticks, bool tracing)
{
	sb_gpu_counters_keep(begin_ticks, end_ticks);
	if (!tracing)
		return;
	sb_kept_moments_add(
		&kept, (struct sb_kept_moment){ begin_ticks, end_ticks, sb_clock_ticks() + sb_clock_hz() });
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_BEGIN, (int64_t)begin_ticks);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_END, (int64_t)end_ticks);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_KEPT, 1);
}

static void say_overwritten(uint64_t from_ticks)
{
	uint64_t count = sb_held_overwritten(from_ticks);
	char why[120];

	if (!count)
		return;
	snprintf(why, sizeof why,
		"%" PRIu64 " records had made room before it was known to be slow (%u are held)", count,
		SB_HELD_RECORDS);
	sb_keep_missing("some kernels of a slow moment", why, HOW);
	sb_lost(SB_LOST_GPU_HELD, count);
}

static void write_records(uint64_t from_ticks, bool tracing)
{
	if (!tracing)
		return;
	say_overwritten(from_ticks);
	write_kept(0);
}

static void write_moment(struct sb_caught *c, const struct sb_slow_beside *beside, bool tracing)
{
	const struct sb_slow_one *one = &c->first;
	uint64_t normal_begin = beside->normal_begin_ticks, normal_end = beside->normal_end_ticks;
	uint64_t from = c->count > 1 ? one->begin_ticks : beside->from_ticks;
	char text[256];

	snprintf(text, sizeof text, "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
		one->what, one->by, one->begin_ticks, one->end_ticks, normal_begin, normal_end,
		one->median_ticks, beside->why);
	sb_keep_meta_string(SB_META_RUN, SB_RUN_SLOW_MOMENT, text);
	if (normal_end && normal_end < from)
		keep_time(normal_begin, normal_end, tracing);
	keep_time(normal_end >= from && normal_begin < from ? normal_begin : from, one->end_ticks, tracing);
	c->written_end_ticks = one->end_ticks;
	write_records(from, tracing);
}

static void write_row(struct sb_caught *c, bool tracing)
{
	const struct sb_slow_one *s = &c->slowest;
	char text[256];

	c->grown_ticks = 0;
	snprintf(text, sizeof text,
		"%s %" PRIu64 " %" PRIu32 " %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		c->first.what, c->first.begin_ticks, c->count, c->last_end_ticks, s->by, s->begin_ticks,
		s->end_ticks, s->median_ticks, s->over_ticks);
	sb_keep_meta_string(SB_META_RUN, SB_RUN_SLOW_ROW, text);
	if (c->written_end_ticks == s->end_ticks)
		return;
	c->written_end_ticks = s->end_ticks;
	keep_time(s->begin_ticks, s->end_ticks, tracing);
	write_records(s->begin_ticks, tracing);
}

void sb_slow_record_take(const struct sb_slow_one *one, const struct sb_slow_beside *beside, bool tracing)
{
	struct sb_slow_one displaced;
	struct sb_caught *c;
	enum sb_caught_as as = sb_caught_take(&caught, one, &c, &displaced);
	char text[64];

	if (as == SB_CAUGHT_NOT)
		return;
	if (as == SB_CAUGHT_INSTEAD) {
		snprintf(text, sizeof text, "%s %" PRIu64, displaced.what, displaced.begin_ticks);
		sb_keep_meta_string(SB_META_RUN, SB_RUN_SLOW_DISPLACED, text);
	}
	if (as != SB_CAUGHT_LONGER)
		write_moment(c, beside, tracing);
	if ((as == SB_CAUGHT_LONGER || c->count > 1) && !c->grown_ticks)
		c->grown_ticks = sb_clock_ticks();
	if (one->asked && as != SB_CAUGHT_LONGER)
		sb_slow_record_look(tracing, true); /* the program may end here */
}

static bool is_asked_in(const struct sb_caught *c, uint32_t tid, uint64_t begin_ticks)
{
	return c->kept && c->first.asked && c->first.tid == tid && c->first.begin_ticks == begin_ticks;
}

bool sb_slow_record_asked(uint32_t tid, uint64_t begin_ticks)
{
	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++)
		if (is_asked_in(&caught.all[i], tid, begin_ticks))
			return true;
	return false;
}

/* What was asked for is written at once, in case the program ends there; the rest of its step when that has ended. */
void sb_slow_record_end(uint32_t tid, uint64_t begin_ticks, uint64_t end_ticks)
{
	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++) {
		struct sb_caught *c = &caught.all[i];

		if (!is_asked_in(c, tid, begin_ticks) || c->slowest.end_ticks >= end_ticks)
			continue;
		c->slowest.end_ticks = c->last_end_ticks = end_ticks;
		if (!c->grown_ticks)
			c->grown_ticks = sb_clock_ticks();
	}
}

static void wait_for_gpu(void)
{
	uint64_t now = sb_clock_ticks(), hz = sb_clock_hz();

	for (uint32_t i = 0; i < kept.count; i++)
		if (sb_held_newest() <= kept.all[i].end_ticks && now < kept.all[i].end_ticks + BEHIND_S * hz)
			kept.all[i].until_ticks = now + hz;
}

/* The first of a row is written at once, the slowest when no more are to be expected, or its records would make room. */
static void write_rows(bool tracing, bool all)
{
	uint64_t now = sb_clock_ticks();

	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++) {
		struct sb_caught *c = &caught.all[i];

		if (c->kept && c->grown_ticks &&
			(all || now > c->grown_ticks + ROW_S * sb_clock_hz() ||
				sb_held_since(c->slowest.begin_ticks) > SB_HELD_RECORDS / 2))
			write_row(c, tracing);
	}
}

void sb_slow_record_look(bool tracing, bool all)
{
	write_rows(tracing, all);
	if (!tracing)
		return;
	write_kept(looked_total);
	looked_total = sb_held_total();
	wait_for_gpu();
	sb_kept_moments_forget(&kept, sb_clock_ticks());
}

void sb_slow_record_stop(bool tracing)
{
	sb_slow_record_look(tracing, true);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_SLOW_UNKEPT, (int64_t)caught.unkept_count);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_SLOW_LOST, sb_caught_lost_slower(&caught));
}
