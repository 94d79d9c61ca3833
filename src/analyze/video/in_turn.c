/* Requests at the same time: which of them followed one another until the last one ended. Only what becomes
 * shorter in those makes the run end earlier; the others run beside them. */
#include "analyze/video/video.h"

#include "base/map.h"

#include <stdlib.h>

#define NONE UINT32_MAX
#define SOON_NS 1000000 /* within that, or a fiftieth of it, one begins because another one ended */
#define SOON_SHARE 50

struct turns {
	const struct sb_video_generation *all; /* ordered by begin */
	uint32_t count;
	uint32_t *by_end; /* indices */
	uint32_t *before; /* the one before it on its track; NONE: it is the first */
};

static int64_t length_ns(const struct sb_video_generation *g)
{
	return g->end_ns > g->begin_ns ? g->end_ns - g->begin_ns : 0;
}

static int compare_ends(const void *a, const void *b, void *all)
{
	const struct sb_video_generation *g = all;
	const struct sb_video_generation *x = &g[*(const uint32_t *)a], *y = &g[*(const uint32_t *)b];

	return x->end_ns != y->end_ns ? (x->end_ns < y->end_ns ? -1 : 1) : x->begin_ns < y->begin_ns ? -1 : 1;
}

static bool prepare(struct turns *t)
{
	struct sb_map last = { 0 };
	bool ok = true;

	for (uint32_t i = 0; i < t->count && ok; i++) {
		t->by_end[i] = i;
		t->before[i] = NONE;
		sb_map_get(&last, t->all[i].track, &t->before[i]);
		ok = sb_map_put(&last, t->all[i].track, i);
	}
	sb_map_done(&last);
	qsort_r(t->by_end, t->count, sizeof *t->by_end, compare_ends, (void *)t->all);
	return ok;
}

/* The one whose end it waited for: it came directly before, or on the same track not long before. */
static uint32_t awaited(const struct turns *t, uint32_t i)
{
	uint32_t low = 0, high = t->count, at;

	while (low < high) { /* the first in by_end that ended later than it began */
		uint32_t mid = low + (high - low) / 2;

		if (t->all[t->by_end[mid]].end_ns <= t->all[i].begin_ns)
			low = mid + 1;
		else
			high = mid;
	}
	at = low ? t->by_end[low - 1] : NONE;
	if (at != NONE && at < i &&
		t->all[i].begin_ns - t->all[at].end_ns <= SOON_NS + length_ns(&t->all[at]) / SOON_SHARE)
		return at;
	at = t->before[i];
	return at != NONE && t->all[i].begin_ns - t->all[at].end_ns <= length_ns(&t->all[at]) ? at : NONE;
}

double sb_generations_in_turn_ratio(const struct sb_vec *generations)
{
	struct turns t = { .all = generations->items, .count = (uint32_t)generations->count };
	double sum_ns = 0, turn_ns = 0, ratio = NAN;

	t.by_end = malloc((t.count + 1) * sizeof *t.by_end);
	t.before = malloc((t.count + 1) * sizeof *t.before);
	if (t.count && t.by_end && t.before && prepare(&t)) {
		for (uint32_t i = 0; i < t.count; i++)
			sum_ns += (double)length_ns(&t.all[i]);
		for (uint32_t i = t.by_end[t.count - 1]; i != NONE; i = awaited(&t, i))
			turn_ns += (double)length_ns(&t.all[i]);
		ratio = sum_ns > 0 ? turn_ns / sum_ns : NAN;
	}
	free(t.by_end);
	free(t.before);
	return ratio;
}
