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

static struct sb_gpu_span_list *list_of(const struct sb_gpu_spans *g, uint32_t track, uint32_t name)
{
	uint32_t index;

	return sb_map_get(&g->list_of, (uint64_t)track << 32 | name, &index) ? &g->lists[index] : NULL;
}

static struct sb_gpu_span_list *new_list(struct sb_gpu_spans *g, uint32_t track, uint32_t name)
{
	if (!note_name(g, name) || !SB_MAKE_ROOM(g->lists, g->list_count, g->list_room) ||
		!sb_map_put(&g->list_of, (uint64_t)track << 32 | name, g->list_count))
		return NULL;
	g->lists[g->list_count] = (struct sb_gpu_span_list){ .name = name, .track = track };
	return &g->lists[g->list_count++];
}

/* A year at most: a damaged file may say anything. */
static uint64_t bounded(int64_t duration_ns)
{
	const int64_t most_ns = ((int64_t)1 << 55) - 1;

	return duration_ns < 0 ? 0 : (uint64_t)(duration_ns < most_ns ? duration_ns : most_ns);
}

bool sb_gpu_spans_add(struct sb_gpu_spans *g, const struct sb_event *e)
{
	struct sb_gpu_span_list *list = list_of(g, e->gpu.launch_track, e->name);

	if (!list)
		list = new_list(g, e->gpu.launch_track, e->name);
	if (!list || !SB_MAKE_ROOM(list->all, list->count, list->room))
		return false;
	list->unsorted |= list->count && e->gpu.launch_ns < list->all[list->count - 1].launch_ns;
	list->all[list->count++] = (struct sb_gpu_span){ .launch_ns = e->gpu.launch_ns,
		.begin_ns = e->t_ns,
		.duration_ns = bounded(e->gpu.duration_ns),
		.device = e->gpu.device & 255 };
	return true;
}

static int by_launch(const void *a, const void *b)
{
	const struct sb_gpu_span *x = a, *y = b;

	return x->launch_ns < y->launch_ns ? -1 : x->launch_ns > y->launch_ns;
}

/* The first one launched at or after a time. */
static uint32_t first_from(const struct sb_gpu_span_list *list, int64_t launch_ns)
{
	uint32_t low = 0, high = list->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (list->all[mid].launch_ns < launch_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first one launched in the zone, from its begin or a little before. */
static struct sb_gpu_span *span_of(
	const struct sb_gpu_span_list *list, const struct sb_zone *z, int64_t before_ns)
{
	for (uint32_t i = first_from(list, z->begin_ns - before_ns); i < list->count; i++) {
		if (list->all[i].launch_ns > z->end_ns)
			return NULL;
		if (!list->all[i].taken)
			return &list->all[i];
	}
	return NULL;
}

const struct sb_gpu_span *sb_gpu_spans_take(struct sb_gpu_spans *g, const struct sb_zone *z)
{
	const int64_t slack_ns = 20000; /* some stamp the launch beside the zone's begin, not in it */
	struct sb_gpu_span_list *list;
	struct sb_gpu_span *span;

	if (z->name >= g->name_count || !g->has_name[z->name])
		return NULL;
	list = list_of(g, z->track, z->name);
	if (!list)
		return NULL;
	if (list->unsorted)
		qsort(list->all, list->count, sizeof *list->all, by_launch);
	list->unsorted = false;
	span = span_of(list, z, 0);
	if (!span)
		span = span_of(list, z, slack_ns);
	if (span)
		span->taken = 1;
	return span;
}

void sb_gpu_spans_done(struct sb_gpu_spans *g)
{
	for (uint32_t i = 0; i < g->list_count; i++)
		free(g->lists[i].all);
	free(g->lists);
	free(g->has_name);
	sb_map_done(&g->list_of);
	memset(g, 0, sizeof *g);
}

const struct sb_gpu_spans *sb_run_gpu_spans(const struct sb_run *run)
{
	return &run->index->gpu_spans;
}
