/* GPU spans by name and track, by launch: each is taken by the zone in which it was launched. */
#include "run/gpu_spans.h"

#include "run/index.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

static bool note_name(struct sb_gpu_spans *g, uint32_t name)
{
	if (name >= g->name_count) {
		uint32_t count = name * 2 + 64;
		uint8_t *more = realloc(g->has_name, count);

		if (!more)
			return false;
		memset(more + g->name_count, 0, count - g->name_count);
		g->has_name = more;
		g->name_count = count;
	}
	g->has_name[name] = 1;
	return true;
}

static struct sb_gpu_lane *lane_of(const struct sb_gpu_spans *g, uint32_t track, uint32_t name)
{
	uint32_t index;

	return sb_map_get(&g->lane_of, (uint64_t)track << 32 | name, &index) ? &g->lanes[index] : NULL;
}

static struct sb_gpu_lane *new_lane(struct sb_gpu_spans *g, uint32_t track, uint32_t name)
{
	if (!note_name(g, name) || !SB_MAKE_ROOM(g->lanes, g->lane_count, g->lane_room) ||
		!sb_map_put(&g->lane_of, (uint64_t)track << 32 | name, g->lane_count))
		return NULL;
	g->lanes[g->lane_count] = (struct sb_gpu_lane){ .name = name, .track = track };
	return &g->lanes[g->lane_count++];
}

bool sb_gpu_spans_add(struct sb_gpu_spans *g, const struct sb_event *e)
{
	struct sb_gpu_lane *lane = lane_of(g, e->gpu.launch_track, e->name);

	if (!lane)
		lane = new_lane(g, e->gpu.launch_track, e->name);
	if (!lane || !SB_MAKE_ROOM(lane->all, lane->count, lane->room))
		return false;
	lane->unsorted |= lane->count && e->gpu.launch_ns < lane->all[lane->count - 1].launch_ns;
	lane->all[lane->count++] = (struct sb_gpu_span){ .launch_ns = e->gpu.launch_ns,
		.begin_ns = e->t_ns,
		.duration_ns = e->gpu.duration_ns > 0 ? (uint64_t)e->gpu.duration_ns : 0 };
	return true;
}

static int by_launch(const void *a, const void *b)
{
	const struct sb_gpu_span *x = a, *y = b;

	return x->launch_ns < y->launch_ns ? -1 : x->launch_ns > y->launch_ns;
}

/* The first one launched at or after a time. */
static uint32_t first_from(const struct sb_gpu_lane *lane, int64_t launch_ns)
{
	uint32_t low = 0, high = lane->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (lane->all[mid].launch_ns < launch_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first one launched in the zone, from its begin or a little before. */
static struct sb_gpu_span *span_of(const struct sb_gpu_lane *lane, const struct sb_zone *z, int64_t before_ns)
{
	for (uint32_t i = first_from(lane, z->begin_ns - before_ns); i < lane->count; i++) {
		if (lane->all[i].launch_ns > z->end_ns)
			return NULL;
		if (!lane->all[i].taken)
			return &lane->all[i];
	}
	return NULL;
}

const struct sb_gpu_span *sb_gpu_spans_take(struct sb_gpu_spans *g, const struct sb_zone *z)
{
	const int64_t slack_ns = 20000; /* some stamp the launch beside the zone's begin, not in it */
	struct sb_gpu_lane *lane;
	struct sb_gpu_span *span;

	if (z->name >= g->name_count || !g->has_name[z->name])
		return NULL;
	lane = lane_of(g, z->track, z->name);
	if (!lane)
		return NULL;
	if (lane->unsorted)
		qsort(lane->all, lane->count, sizeof *lane->all, by_launch);
	lane->unsorted = false;
	span = span_of(lane, z, 0);
	if (!span)
		span = span_of(lane, z, slack_ns);
	if (span)
		span->taken = 1;
	return span;
}

void sb_gpu_spans_done(struct sb_gpu_spans *g)
{
	for (uint32_t i = 0; i < g->lane_count; i++)
		free(g->lanes[i].all);
	free(g->lanes);
	free(g->has_name);
	sb_map_done(&g->lane_of);
	memset(g, 0, sizeof *g);
}

const struct sb_gpu_spans *sb_run_gpu_spans(const struct sb_run *run)
{
	return &run->index->gpu_spans;
}
