/* What tally.c, which keeps names, samples and counters, and tally_zones.c share. */
#ifndef SB_SERVE_TALLY_PARTS_H
#define SB_SERVE_TALLY_PARTS_H

#include "serve/tally.h"

static inline int64_t sb_tally_ns(const struct sb_tally *t, uint64_t ticks)
{
	return ticks >> 62 ? 0 : (int64_t)((unsigned __int128)ticks * t->scale >> 40);
}

/* frames below 0: not given. */
static inline void sb_tally_add_frames(int64_t *sum, int64_t frames)
{
	if (frames >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + frames;
}

/* ---- tally.c ---- */
void sb_tally_count(struct sb_tally *t, uint32_t name, int64_t delta);
void sb_tally_count_cache(struct sb_tally *t, uint32_t name, uint32_t kind, uint64_t count);

/* ---- tally_zones.c ---- */
bool sb_tally_zones_init(struct sb_tally *t);
void sb_tally_zones_done(struct sb_tally *t);

#endif
