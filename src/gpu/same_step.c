/* The last durations of each step by its index in the generation. */
#include "gpu/same_step.h"

#include "base/map.h"

#include <string.h>

/* Of two the shorter one, of three the one between. */
static uint64_t usual(const struct sb_same_step *s)
{
	uint64_t a = s->ticks[0], b = s->ticks[1], c = s->ticks[2];
	uint64_t low = a < b ? a : b, high = a < b ? b : a;

	if (s->count < SB_SAME_STEP_LAST)
		return low;
	return c < low ? low : c > high ? high : c;
}

uint64_t sb_same_step_add(struct sb_same_steps *steps, uint64_t key, uint32_t index, uint64_t ticks)
{
	uint64_t mixed = sb_hash64(key ^ (uint64_t)index << 32) + key, before;
	struct sb_same_step *s = &steps->all[mixed % SB_SAME_STEPS];

	if (s->key != mixed)
		*s = (struct sb_same_step){ .key = mixed };
	before = s->count < SB_SAME_STEP_LEAST ? 0 : usual(s);
	if (s->count == SB_SAME_STEP_LAST)
		memmove(s->ticks, s->ticks + 1, --s->count * sizeof *s->ticks);
	s->ticks[s->count++] = ticks;
	return before;
}
