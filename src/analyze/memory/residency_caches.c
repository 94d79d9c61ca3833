/* What caches held: a program says it each time that one of them changes. */
#include "analyze/memory/residency.h"

#include "base/inorder.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
	const struct sb_cache *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* Those of one cache beside each other, as they came. */
static int by_cache(const void *a, const void *b)
{
	const struct sb_cache *x = *(const struct sb_cache *const *)a,
			      *y = *(const struct sb_cache *const *)b;
	int order = strcmp(x->component, y->component);

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return order ? order : x < y ? -1 : x > y;
}

void sb_residency_caches_prepare(struct sb_residency_collected *c)
{
	struct sb_cache *all = c->caches.items, **sorted = malloc((c->caches.count + 1) * sizeof *sorted);

	c->failed |= !sorted;
	if (!sorted)
		return;
	sb_sort_unless_in_order(all, c->caches.count, sizeof *all, by_time);
	for (size_t i = 0; i < c->caches.count; i++)
		sorted[i] = &all[i];
	if (c->caches.count)
		qsort(sorted, c->caches.count, sizeof *sorted, by_cache);
	for (size_t i = 0; i < c->caches.count; i++) {
		const struct sb_cache *next = i + 1 < c->caches.count ? sorted[i + 1] : NULL;
		bool same = next && next->device == sorted[i]->device &&
			    !strcmp(next->component, sorted[i]->component);

		sorted[i]->until_ns = same ? next->t_ns : INT64_MAX;
	}
	free(sorted);
}

const struct sb_cache *sb_residency_cache_at(
	const struct sb_residency_collected *c, int64_t device, double t_s, size_t *at)
{
	const struct sb_cache *all = c->caches.items;
	int64_t t_ns = (int64_t)(t_s * 1e9);

	for (; *at < c->caches.count && all[*at].t_ns <= t_ns; (*at)++)
		if (all[*at].device == device && all[*at].bytes > 0 && all[*at].until_ns > t_ns)
			return &all[(*at)++];
	return NULL;
}
