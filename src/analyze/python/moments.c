/* Moments on tracks and the innermost zone around each: a sorted array in which every
 * claimed moment points towards the next free one. */
#include "analyze/python/moments.h"

#include <stdlib.h>

static struct sb_moment *at(const struct sb_moments *m, uint32_t i)
{
	return (struct sb_moment *)((char *)m->all + i * m->size);
}

static int by_track_and_time(const void *a, const void *b)
{
	const struct sb_moment *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static void sort(struct sb_moments *m)
{
	if (m->count) /* an empty array may be NULL, which qsort does not take */
		qsort(m->all, m->count, m->size, by_track_and_time);
	for (uint32_t i = 0; i < m->count; i++)
		at(m, i)->next = i;
}

int sb_moments_visit(struct sb_moments *m, struct sb_run *run,
	void (*zone)(void *self, const struct sb_zone *z), void *self)
{
	struct sb_visitor v = { .self = self, .roles = SB_EVERY_ZONE, .zone = zone };

	sort(m);
	return sb_run_visit(run, &v, 1);
}

uint32_t sb_moments_from(const struct sb_moments *m, uint32_t track, int64_t t_ns)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		const struct sb_moment *mid = at(m, middle);

		if (mid->track < track || (mid->track == track && mid->t_ns < t_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool sb_moments_are_inside(const struct sb_moments *m, uint32_t i, const struct sb_zone *z)
{
	return i < m->count && at(m, i)->track == z->track && at(m, i)->t_ns <= z->end_ns;
}

static uint32_t *next_of(uint32_t *next, size_t size, uint32_t i)
{
	return (uint32_t *)((char *)next + i * size);
}

uint32_t sb_next_free(uint32_t *next, size_t size, uint32_t count, uint32_t i)
{
	uint32_t found = i;

	while (found < count && *next_of(next, size, found) != found)
		found = *next_of(next, size, found);
	while (i < count && *next_of(next, size, i) != i) {
		uint32_t after = *next_of(next, size, i);

		*next_of(next, size, i) = found;
		i = after;
	}
	return found;
}

bool sb_moments_claim(struct sb_moments *m, const struct sb_zone *z, uint32_t *io_i)
{
	uint32_t i = m->count ? sb_next_free(&at(m, 0)->next, m->size, m->count, *io_i) : 0;

	if (!sb_moments_are_inside(m, i, z))
		return false;
	at(m, i)->next = i + 1;
	*io_i = i;
	return true;
}
