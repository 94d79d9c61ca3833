/* Slow moments in a recording's META. What strobe does not write is passed over. */
#include "analyze/gpu/slow_keys.h"

#include "base/error.h"
#include "format/run_keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID_MOST 1000u /* at a time, with those that give way later */
#define MOMENTS_MOST 100u
#define FARTHEST_NS ((int64_t)1 << 60) /* 36 years from the run's begin: what is farther is no time of it */

static bool is_said(const struct sb_run_meta *meta, const char *key)
{
	return meta->scope == SB_META_RUN && meta->attr.type == STROBE_TYPE_STRING && meta->attr.s &&
	       !strcmp(meta->attr.key, key);
}

static bool read_time(const struct sb_run *run, uint32_t process, uint64_t ticks, int64_t *out_ns)
{
	int64_t ns = sb_run_time_ns(run, process, ticks);

	if (ns < -FARTHEST_NS || ns > FARTHEST_NS)
		return false;
	*out_ns = ns;
	return true;
}

/* False: an end before the begin, or times that are none. */
static bool read_times(const struct sb_run *run, uint32_t process, const uint64_t ticks[2], int64_t out_ns[2])
{
	int64_t ns[2];

	if (ticks[1] < ticks[0] || !read_time(run, process, ticks[0], &ns[0]) ||
		!read_time(run, process, ticks[1], &ns[1]))
		return false;
	memcpy(out_ns, ns, sizeof ns);
	return true;
}

/* What lasts so many ticks; 0: nothing that is known. */
static int64_t length_ns(const struct sb_run *run, uint32_t process, uint64_t from, uint64_t ticks)
{
	const uint64_t both[2] = { from, from + ticks };
	int64_t ns[2];

	return read_times(run, process, both, ns) ? ns[1] - ns[0] : 0;
}

/* False: not a line that strobe writes. */
static bool read_moment(const struct sb_run *run, const struct sb_run_meta *meta, struct sb_slow_said *out)
{
	struct sb_slow_said said = { .process = meta->process };
	uint64_t slow[2], normal[2], median;
	int at = 0;

	if (sscanf(meta->attr.s, "%15s %7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
		    said.what, said.by, &slow[0], &slow[1], &normal[0], &normal[1], &median, &at) != 7 ||
		!read_times(run, meta->process, slow, said.slow_ns))
		return false;
	said.ticks = slow[0];
	said.why = meta->attr.s[at] == ' ' ? meta->attr.s + at + 1 : "";
	if (normal[1] > normal[0])
		read_times(run, meta->process, normal, said.normal_ns);
	said.median_ns = length_ns(run, meta->process, slow[0], median);
	*out = said;
	return true;
}

/* The last one of that name; NULL: none. */
static struct sb_slow_said *find(
	const struct sb_vec *all, const struct sb_run_meta *meta, const char *what, uint64_t ticks)
{
	for (size_t i = all->count; i-- > 0;) {
		struct sb_slow_said *said = (struct sb_slow_said *)all->items + i;

		if (said->process == meta->process && said->ticks == ticks && !strcmp(said->what, what))
			return said;
	}
	return NULL;
}

static void take_row(const struct sb_run *run, const struct sb_run_meta *meta, const struct sb_vec *all)
{
	char what[SB_SLOW_WHAT], by[SB_SLOW_BY];
	uint64_t row[2], slowest[2], median, over;
	int64_t row_ns[2], slowest_ns[2];
	struct sb_slow_said *said;
	uint32_t count;

	if (sscanf(meta->attr.s,
		    "%15s %" SCNu64 " %" SCNu32 " %" SCNu64 " %7s %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNu64,
		    what, &row[0], &count, &row[1], by, &slowest[0], &slowest[1], &median, &over) != 9 ||
		slowest[0] < row[0] || row[1] < slowest[1] || !read_times(run, meta->process, row, row_ns) ||
		!read_times(run, meta->process, slowest, slowest_ns))
		return;
	said = find(all, meta, what, row[0]);
	if (!said)
		return;
	memcpy(said->by, by, sizeof by);
	memcpy(said->slow_ns, slowest_ns, sizeof slowest_ns);
	memcpy(said->row.ns, row_ns, sizeof row_ns);
	said->row.count = count;
	said->row.slowest_ratio = median ? 1 + (double)over / (double)median : NAN;
	said->median_ns = length_ns(run, meta->process, slowest[0], median);
}

static bool read_displaced(const struct sb_run_meta *meta, char what[SB_SLOW_WHAT], uint64_t *out_ticks)
{
	return is_said(meta, SB_RUN_SLOW_DISPLACED) &&
	       sscanf(meta->attr.s, "%15s %" SCNu64, what, out_ticks) == 2;
}

static void remove_one(struct sb_vec *all, struct sb_slow_said *said)
{
	struct sb_slow_said *end = (struct sb_slow_said *)all->items + all->count;

	memmove(said, said + 1, (size_t)(end - said - 1) * sizeof *said);
	all->count--;
}

static int take(const struct sb_run *run, const struct sb_run_meta *meta, struct sb_vec *all)
{
	struct sb_slow_said read, *said;
	char what[SB_SLOW_WHAT];
	uint64_t ticks;

	if (is_said(meta, SB_RUN_SLOW_ROW)) {
		take_row(run, meta, all);
	} else if (read_displaced(meta, what, &ticks)) {
		said = find(all, meta, what, ticks);
		if (said)
			remove_one(all, said);
	} else if (is_said(meta, SB_RUN_SLOW_MOMENT) && all->count < SAID_MOST &&
		   read_moment(run, meta, &read)) {
		said = sb_vec_push(all, sizeof *said);
		if (!said)
			return STROBE_ENOMEM;
		*said = read;
	}
	return 0;
}

int sb_slow_keys_read(const struct sb_run *run, struct sb_vec *out)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < run->meta_count; i++)
		err = take(run, &run->metas[i], out);
	if (out->count > MOMENTS_MOST)
		out->count = MOMENTS_MOST;
	return err;
}

static bool is_int(const struct sb_run_meta *m, const char *key)
{
	return m->scope == SB_META_RUN && m->attr.type == STROBE_TYPE_INT && !strcmp(m->attr.key, key) &&
	       m->attr.i >= 0 && m->attr.i <= INT32_MAX;
}

static bool is_asked_for(const struct sb_run_meta *moment)
{
	char what[SB_SLOW_WHAT], by[SB_SLOW_BY];

	return sscanf(moment->attr.s, "%15s %7s", what, by) == 2 && !strcmp(by, "-");
}

/* pending: of its process, displaced ones whose successor is said next. */
static void take_left_out(const struct sb_run_meta *m, uint32_t *pending, struct sb_slow_left_out *out)
{
	char what[SB_SLOW_WHAT];
	uint64_t ticks;

	if (read_displaced(m, what, &ticks)) {
		out->displaced++;
		++*pending;
	} else if (is_said(m, SB_RUN_SLOW_MOMENT)) {
		out->to_asked += is_asked_for(m) ? *pending : 0;
		*pending = 0;
	} else if (is_int(m, SB_RUN_SLOW_UNKEPT)) {
		out->unkept = (out->unkept < 0 ? 0 : out->unkept) + m->attr.i;
	} else if (is_int(m, SB_RUN_SLOW_LOST) && out->order != SB_SLOW_SLOWER_LOST) {
		out->order = m->attr.i ? SB_SLOW_SLOWER_LOST : SB_SLOW_WORST_KEPT;
	}
}

int sb_slow_keys_left_out(const struct sb_run *run, struct sb_slow_left_out *out)
{
	uint32_t process = UINT32_MAX, *pending = calloc(run->process_count + 1, sizeof *pending);

	*out = (struct sb_slow_left_out){ .unkept = -1 };
	if (!pending)
		return STROBE_ENOMEM;
	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_meta *m = &run->metas[i];

		take_left_out(m, &pending[m->process], out);
		if (m->scope == SB_META_RUN && !strcmp(m->attr.key, SB_RUN_SLOW_WATCH) &&
			m->process != process) {
			process = m->process;
			out->processes++;
		}
	}
	free(pending);
	return 0;
}
