/* Counts of durations in log-linear buckets: quantiles in little memory. Histograms of many ranks can be
 * added up. A value v below 32 has a bucket of its own; else 32 buckets per octave. The middle of a bucket
 * is at most SB_HISTOGRAM_ERROR_RATIO away from any value in it. */
#ifndef SB_BASE_HISTOGRAM_H
#define SB_BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_HISTOGRAM_ERROR_RATIO (1.0 / 64)
#define SB_HISTOGRAM_BUCKETS (32 + 59 * 32)

struct sb_histogram {
	uint32_t first; /* bucket of counts[0] */
	uint32_t size;
	uint64_t total;
	uint64_t *counts;
};

void sb_histogram_done(struct sb_histogram *h); /* h may be zeroed */
bool sb_histogram_add(struct sb_histogram *h, uint64_t value, uint64_t count); /* false: no memory */
bool sb_histogram_merge(struct sb_histogram *h, const struct sb_histogram *more);
/* q from 0 to 1; NaN when empty. */
double sb_histogram_quantile(const struct sb_histogram *h, double q);

uint32_t sb_histogram_bucket(uint64_t value);
double sb_histogram_middle(uint32_t bucket);
bool sb_histogram_add_bucket(struct sb_histogram *h, uint32_t bucket, uint64_t count);

#endif
