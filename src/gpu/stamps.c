/* Readings of both clocks at once, and straight lines between them. */
#include "gpu/stamps.h"

#include "record/clock.h"

#include <string.h>

#define TRIES 5

void sb_stamps_add(struct sb_stamps *s, uint64_t cupti, uint64_t ticks)
{
	if (s->count && (cupti <= s->pairs[s->count - 1].cupti || ticks <= s->pairs[s->count - 1].ticks))
		return;
	if (s->count == SB_STAMPS_MAX) { /* the second oldest: the oldest is the long lever */
		memmove(&s->pairs[1], &s->pairs[2], (SB_STAMPS_MAX - 2) * sizeof s->pairs[0]);
		s->count--;
	}
	s->pairs[s->count++] = (struct sb_stamp){ cupti, ticks };
}

void sb_stamps_take(struct sb_stamps *s, const struct sb_cupti *cupti)
{
	uint64_t best_cupti = 0, best_ticks = 0, best_width = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = sb_clock_ticks(), stamp, after;

		if (cupti->get_timestamp(&stamp))
			return;
		after = sb_clock_ticks();
		if (after - before >= best_width)
			continue;
		best_width = after - before;
		best_cupti = stamp;
		best_ticks = before + (after - before) / 2;
	}
	sb_stamps_add(s, best_cupti, best_ticks);
}

/* Between neighbours; outside, along the nearest pair of them. */
uint64_t sb_stamps_ticks(const struct sb_stamps *s, uint64_t cupti)
{
	const struct sb_stamp *a, *b;
	uint32_t i = s->count;
	double slope;

	if (s->count < 2)
		return s->count ? s->pairs[0].ticks : 0;
	while (i > 2 && s->pairs[i - 2].cupti > cupti)
		i--;
	a = &s->pairs[i - 2];
	b = &s->pairs[i - 1];
	slope = (double)(b->ticks - a->ticks) / (double)(b->cupti - a->cupti);
	return a->ticks + (uint64_t)(int64_t)((double)(int64_t)(cupti - a->cupti) * slope);
}
