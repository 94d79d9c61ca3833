/* How often which duration came: equal bins from the shortest to the longest. */
#ifndef SB_STATS_DISTRIBUTION_H
#define SB_STATS_DISTRIBUTION_H

#include "stats/fields.h"

#define SB_DISTRIBUTION_BINS 24u

struct sb_distribution {
	double from_s, bin_s;
	int64_t *value_counts; /* of each bin */
	size_t bin_count; /* 0: not made */
};

extern const struct sb_fields sb_distribution_fields;

/* Counts the values into bins. counts: SB_DISTRIBUTION_BINS zeros at first; *out_distribution then points to them.
 * Fewer than two values make none. */
void sb_distribution_of(
	const double *seconds, size_t count, int64_t *counts, struct sb_distribution *out_distribution);

#endif
