/* Generations or steps on their tracks: a sorted array. */
#include "analyze/python/periods.h"

#include "base/room.h"

#include <stdlib.h>

bool sb_periods_add(struct sb_periods *p, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
	if (!SB_MAKE_ROOM(p->all, p->count, p->capacity))
		return false;
	p->all[p->count++] = (struct sb_period){ track, begin_ns, end_ns };
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_period *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

void sb_periods_sort(struct sb_periods *p)
{
	if (p->count) /* an empty array may be NULL, which qsort does not take */
		qsort(p->all, p->count, sizeof *p->all, by_begin);
}

uint32_t sb_periods_until(const struct sb_periods *p, uint32_t track, int64_t t_ns)
{
	const struct sb_period wanted = { track, t_ns, t_ns };
	uint32_t low = 0, high = p->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (by_begin(&p->all[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void sb_periods_done(struct sb_periods *p)
{
	free(p->all);
	*p = (struct sb_periods){ 0 };
}
