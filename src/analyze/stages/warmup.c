/* The first iterations are held against what comes after them: that decides what a warm-up is. */
#include "analyze/stages/warmup.h"

#include "stats/statistics.h"

#include <string.h>

#define WARMUP_WINDOW 16 /* a warm-up is no longer than this, and than half of all */

/* Median and median absolute deviation of values (which get sorted). */
static void centre_of(double *values, size_t count, double *out_median, double *out_deviation)
{
	sb_stats_sort(values, count);
	*out_median = sb_stats_percentile(values, count, 0.5);
	for (size_t i = 0; i < count; i++)
		values[i] = values[i] > *out_median ? values[i] - *out_median : *out_median - values[i];
	sb_stats_sort(values, count);
	*out_deviation = sb_stats_percentile(values, count, 0.5);
}

/* The first iterations are a warm-up while they are clearly slower than what
 * comes after: above both 1.25 times the later median and 5 deviations. */
static size_t warmup_of(const double *seconds, size_t count, double median, double deviation)
{
	size_t limit = count / 2 < WARMUP_WINDOW ? count / 2 : WARMUP_WINDOW;
	size_t n = 0;

	while (n < limit && seconds[n] > 1.25 * median && seconds[n] > median + 5 * deviation)
		n++;
	return count >= 4 ? n : 0;
}

size_t sb_warmup_count(const double *seconds, double *scratch, size_t count)
{
	size_t skip = count / 2 < WARMUP_WINDOW ? count / 2 : WARMUP_WINDOW;
	double median, deviation;

	if (count < 4)
		return 0;
	memcpy(scratch, seconds + skip, (count - skip) * sizeof *scratch);
	centre_of(scratch, count - skip, &median, &deviation);
	return warmup_of(seconds, count, median, deviation);
}
