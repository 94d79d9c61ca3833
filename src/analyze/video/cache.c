/* Caches: hits, misses, evictions, and how near the misses came. */
#include "analyze/video/cache.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define CACHES_MOST 256
#define NEAR 1.25 /* a miss whose score is under this many thresholds came close */

struct cache {
	uint32_t name;
	int64_t hits, misses, evictions, scored, near;
	int64_t size_bytes, size_peak_bytes; /* -1 */
	double threshold;
	double score_sum;
	int64_t score_count;
	struct sb_vec events; /* struct sb_cache_event_row */
	struct sb_vec miss_scores; /* double */
};

struct caches {
	struct sb_run *run;
	size_t points;
	struct cache *all;
	size_t count;
	bool failed;
};

static struct cache *cache_of(struct caches *c, uint32_t name)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->all[i].name == name)
			return &c->all[i];
	}
	if (c->count == CACHES_MOST)
		return NULL;
	c->all[c->count].name = name;
	c->all[c->count].size_bytes = c->all[c->count].size_peak_bytes = -1;
	c->all[c->count].threshold = NAN;
	return &c->all[c->count++];
}

static void add_kind(struct cache *cache, int kind, int64_t count)
{
	if (kind == STROBE_CACHE_HIT)
		cache->hits += count;
	else if (kind == STROBE_CACHE_MISS)
		cache->misses += count;
	else if (kind == STROBE_CACHE_EVICT)
		cache->evictions += count;
}

static void note_score(struct caches *c, struct cache *cache, const struct sb_event *e)
{
	double *slot;

	if (!isnan(e->cache.threshold))
		cache->threshold = e->cache.threshold;
	if (isnan(e->cache.score))
		return;
	cache->score_sum += e->cache.score;
	cache->score_count++;
	if (e->cache.kind != STROBE_CACHE_MISS || isnan(e->cache.threshold))
		return;
	cache->scored++;
	/* a distance must stay below the threshold, a similarity must reach it:
	 * a miss lies on the wrong side; either way near is near */
	if (e->cache.score >= e->cache.threshold ? e->cache.score <= e->cache.threshold * NEAR
						 : e->cache.score * NEAR >= e->cache.threshold)
		cache->near++;
	if (cache->miss_scores.count >= c->points)
		return;
	slot = sb_vec_push(&cache->miss_scores, sizeof *slot);
	if (slot)
		*slot = e->cache.score;
	else
		c->failed = true;
}

static void see_cache(struct caches *c, const struct sb_event *e)
{
	struct cache *cache = cache_of(c, e->name);
	struct sb_cache_event_row *row;
	int64_t count = e->cache.count > 0 ? e->cache.count : 1;

	if (!cache || e->t_ns < c->run->from_ns || e->t_ns > c->run->to_ns)
		return;
	add_kind(cache, (int)e->cache.kind, count);
	if (e->cache.size_bytes >= 0) {
		cache->size_bytes = e->cache.size_bytes;
		if (e->cache.size_bytes > cache->size_peak_bytes)
			cache->size_peak_bytes = e->cache.size_bytes;
	}
	note_score(c, cache, e);
	if (cache->events.count >= c->points)
		return;
	row = sb_vec_push(&cache->events, sizeof *row);
	if (!row) {
		c->failed = true;
		return;
	}
	row->t_s = (double)e->t_ns / 1e9;
	row->frame = e->cache.frame;
	row->score = e->cache.score;
	row->threshold = e->cache.threshold;
	row->chunk = e->cache.chunk;
	row->count = count;
	row->kind = e->cache.kind == STROBE_CACHE_HIT || e->cache.kind == STROBE_CACHE_MISS
			    ? (int)e->cache.kind
			    : STROBE_CACHE_EVICT;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct caches *c = self;
	struct cache *cache;

	if (e->kind == SB_EVENT_CACHE) {
		see_cache(c, e);
		return;
	}
	if (e->path || e->digest_sum.what < SB_SUM_HIT || e->digest_sum.what > SB_SUM_EVICT)
		return;
	cache = cache_of(c, e->name);
	if (cache) /* the kinds have the numbers of enum strobe_cache_kind */
		add_kind(cache, (int)e->digest_sum.what, e->digest_sum.sum_int);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct caches *c = calloc(1, sizeof *c);

	if (!c)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse caches");
	v->self = c;
	c->run = run;
	c->points = sb_model_points(model, run);
	c->all = calloc(CACHES_MOST, sizeof *c->all);
	if (!c->all)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse caches");
	v->kinds = 1u << SB_EVENT_CACHE | 1u << SB_EVENT_DIGEST_SUM;
	v->event = see_event;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct sb_cache_event_row *x = a, *y = b;

	return x->t_s < y->t_s ? -1 : x->t_s > y->t_s;
}

static int fill(
	const struct caches *c, const struct cache *from, struct sb_model *model, struct sb_cache_entry *to)
{
	struct sb_stats scores;
	int err = sb_stats_of(from->miss_scores.items, from->miss_scores.count, &scores);

	if (err)
		return err;
	to->cache = sb_model_text(model, c->run->names[from->name].text);
	to->hits = from->hits;
	to->misses = from->misses;
	to->evictions = from->evictions;
	to->hit_ratio = from->hits + from->misses > 0
				? (double)from->hits / (double)(from->hits + from->misses)
				: NAN;
	to->size_bytes = from->size_bytes >= 0 ? (double)from->size_bytes : NAN;
	to->size_peak_bytes = from->size_peak_bytes >= 0 ? (double)from->size_peak_bytes : NAN;
	to->threshold = from->threshold;
	to->score_mean = from->score_count ? from->score_sum / (double)from->score_count : NAN;
	to->miss_score_median = from->miss_scores.count ? scores.median : NAN;
	to->scored_misses = from->scored;
	to->near_misses = from->near;
	to->events = sb_model_alloc(model, from->events.count * sizeof *to->events);
	if (!to->cache || (from->events.count && !to->events))
		return sb_fail(STROBE_ENOMEM, "no memory to analyse caches");
	to->event_count = from->events.count;
	if (to->event_count) {
		memcpy(to->events, from->events.items, to->event_count * sizeof *to->events);
		qsort(to->events, to->event_count, sizeof *to->events, by_time);
	}
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct caches *c = self;
	struct sb_cache_panel *panel = &model->caches;

	if (c->failed)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse caches");
	panel->caches = sb_model_alloc(model, c->count * sizeof *panel->caches);
	if (c->count && !panel->caches)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse caches");
	for (size_t i = 0; i < c->count; i++) {
		int err;

		if (c->all[i].hits + c->all[i].misses + c->all[i].evictions == 0)
			continue;
		err = fill(c, &c->all[i], model, &panel->caches[panel->cache_count++]);
		if (err)
			return err;
	}
	panel->present = panel->cache_count > 0;
	return 0;
}

static void done(void *self)
{
	struct caches *c = self;

	if (!c)
		return;
	for (size_t i = 0; c->all && i < c->count; i++) {
		sb_vec_done(&c->all[i].events);
		sb_vec_done(&c->all[i].miss_scores);
	}
	free(c->all);
	free(c);
}

const struct sb_analysis sb_analysis_cache = {
	.name = "cache",
	.begin = begin,
	.finish = finish,
	.done = done,
};
