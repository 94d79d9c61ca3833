/* Which steps a cache served, where only its hits and misses were recorded: a step with hits and no miss, of a cache whose
 * hits make steps shorter. Steps that say it themselves (attribute `cached`) are left as they are. */
#include "analyze/video/video.h"

#include <stdlib.h>

#define SHORTER 0.75 /* of a step with a miss: then the cache saved its work */
#define EACH_LEAST 2 /* steps with a hit, and with a miss: one may be short by chance */

struct outcome {
	uint32_t hits, misses;
};

static int by_cache(const void *a, const void *b)
{
	const struct sb_video_lookup *x = a, *y = b;

	if (x->cache != y->cache)
		return x->cache < y->cache ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* Both come by track and time. */
static void count_lookups(
	const struct sb_vec *steps, const struct sb_video_lookup *all, size_t count, struct outcome *outcomes)
{
	const struct sb_video_step *n = steps->items;
	size_t at = 0;

	for (size_t i = 0; i < steps->count; i++) {
		outcomes[i] = (struct outcome){ 0 };
		while (at < count && (all[at].track < n[i].track ||
					     (all[at].track == n[i].track && all[at].t_ns < n[i].begin_ns)))
			at++;
		for (; at < count && all[at].track == n[i].track && all[at].t_ns <= n[i].end_ns; at++) {
			outcomes[i].hits += all[at].hit;
			outcomes[i].misses += !all[at].hit;
		}
	}
}

static bool is_served(const struct outcome *o)
{
	return o->hits && !o->misses;
}

/* NaN: too few. */
static double median_s(struct sb_video *v, const struct outcome *outcomes, bool served, double *scratch_s)
{
	const struct sb_video_step *n = v->steps.items;
	struct sb_stats stats = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < v->steps.count; i++)
		if (served ? is_served(&outcomes[i]) : outcomes[i].misses > 0)
			scratch_s[count++] = sb_video_step_s(&n[i]);
	if (count < EACH_LEAST)
		return NAN;
	v->failed |= sb_stats_of(scratch_s, count, &stats) != 0;
	return stats.median;
}

static void mark_of(struct sb_video *v, const struct sb_video_lookup *all, size_t count,
	struct outcome *outcomes, double *scratch_s)
{
	struct sb_video_step *n = v->steps.items;

	count_lookups(&v->steps, all, count, outcomes);
	if (!(median_s(v, outcomes, true, scratch_s) < SHORTER * median_s(v, outcomes, false, scratch_s)))
		return;
	for (size_t i = 0; i < v->steps.count; i++)
		n[i].cached |= is_served(&outcomes[i]);
}

void sb_served_mark(struct sb_video *v)
{
	struct sb_video_lookup *all = v->lookups.items;
	const struct sb_video_step *n = v->steps.items;
	struct outcome *outcomes;
	double *scratch_s;
	size_t end;

	for (size_t i = 0; i < v->steps.count; i++)
		if (n[i].cached)
			return;
	if (!v->lookups.count || !v->steps.count)
		return;
	outcomes = malloc(v->steps.count * sizeof *outcomes);
	scratch_s = malloc(v->steps.count * sizeof *scratch_s);
	v->failed |= !outcomes || !scratch_s;
	qsort(all, v->lookups.count, sizeof *all, by_cache);
	for (size_t i = 0; outcomes && scratch_s && i < v->lookups.count; i = end) {
		for (end = i; end < v->lookups.count && all[end].cache == all[i].cache;)
			end++;
		mark_of(v, all + i, end - i, outcomes, scratch_s);
	}
	free(outcomes);
	free(scratch_s);
}
