/* GPU spans by name, track and launch: each is taken by the zone in which it was launched. */
#include "analyze/gpu_spans.h"

#include "base/room.h"

#include <stdlib.h>
#include <string.h>

bool sb_gpu_spans_add(struct sb_gpu_spans *g, const struct sb_event *e)
{
	if (!SB_MAKE_ROOM(g->all, g->count, g->room))
		return false;
	if (e->name >= g->name_count) {
		uint32_t count = e->name * 2 + 64;
		uint8_t *more = realloc(g->has_name, count);

		if (!more)
			return false;
		memset(more + g->name_count, 0, count - g->name_count);
		g->has_name = more;
		g->name_count = count;
	}
	g->has_name[e->name] = 1;
	g->sorted = false;
	g->all[g->count++] = (struct sb_gpu_span){ e->name, e->gpu.launch_track, e->gpu.launch_ns, e->t_ns,
		e->t_ns + e->gpu.duration_ns, false };
	return true;
}

static int compare_spans(const void *a, const void *b)
{
	const struct sb_gpu_span *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->launch_ns < y->launch_ns ? -1 : x->launch_ns > y->launch_ns;
}

void sb_gpu_spans_sort(struct sb_gpu_spans *g)
{
	if (!g->sorted && g->count)
		qsort(g->all, g->count, sizeof *g->all, compare_spans);
	g->sorted = true;
}

/* The first span of a name and track launched at or after a time. */
static uint32_t first_from(const struct sb_gpu_spans *g, const struct sb_gpu_span *key)
{
	uint32_t low = 0, high = g->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (compare_spans(&g->all[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first one launched in the zone, from its begin or a little before. */
static struct sb_gpu_span *span_of(struct sb_gpu_spans *g, const struct sb_zone *z, int64_t before_ns)
{
	struct sb_gpu_span key = { .name = z->name, .track = z->track, .launch_ns = z->begin_ns - before_ns };

	for (uint32_t i = first_from(g, &key); i < g->count; i++) {
		struct sb_gpu_span *span = &g->all[i];

		if (span->name != z->name || span->track != z->track || span->launch_ns > z->end_ns)
			return NULL;
		if (!span->taken)
			return span;
	}
	return NULL;
}

const struct sb_gpu_span *sb_gpu_spans_take(struct sb_gpu_spans *g, const struct sb_zone *z)
{
	const int64_t slack_ns = 20000; /* some stamp the launch beside the zone's begin, not in it */
	struct sb_gpu_span *span;

	if (!g->count || z->name >= g->name_count || !g->has_name[z->name])
		return NULL;
	sb_gpu_spans_sort(g);
	span = span_of(g, z, 0);
	if (!span)
		span = span_of(g, z, slack_ns);
	if (span)
		span->taken = true;
	return span;
}

void sb_gpu_spans_done(struct sb_gpu_spans *g)
{
	free(g->all);
	free(g->has_name);
}
