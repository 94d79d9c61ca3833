/* Very many durations in very little memory, in the order they came, with exact
 * percentiles at the end. 4 bytes each below 4.29 s. */
#ifndef SB_STATS_DURATIONS_H
#define SB_STATS_DURATIONS_H

#include "stats/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_durations {
	uint32_t *small; /* nanoseconds; SB_DURATION_LARGE: the next of large */
	size_t count, room;
	uint64_t *large;
	size_t large_count, large_room;
};
#define SB_DURATION_LARGE UINT32_MAX

void sb_durations_done(struct sb_durations *d);
bool sb_durations_grow(struct sb_durations *d);
bool sb_durations_add_large(struct sb_durations *d, uint64_t ns);

static inline bool sb_durations_add(struct sb_durations *d, int64_t ns)
{
	if (ns >= SB_DURATION_LARGE)
		return sb_durations_add_large(d, (uint64_t)ns);
	if (d->count == d->room && !sb_durations_grow(d))
		return false;
	d->small[d->count++] = (uint32_t)ns;
	return true;
}

bool sb_durations_append(struct sb_durations *d, const struct sb_durations *more);
/* The i-th in order, walking forwards: *large_at starts at 0. */
static inline uint64_t sb_durations_next(const struct sb_durations *d, size_t i, size_t *large_at)
{
	return d->small[i] == SB_DURATION_LARGE ? d->large[(*large_at)++] : d->small[i];
}

/* Fills out_stats in seconds, except `last`; NaN where there are no values. */
int sb_durations_stats(const struct sb_durations *d, struct sb_stats *out_stats);

#endif
