/* Theil-Sen slope and Mann-Kendall test. */
#include "stats/trend.h"
#include "stats/statistics.h"

#include "base/error.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 10u
#define PAIRS_MAX (EXACT_MAX * (EXACT_MAX - 1) / 2)

/* How many orders of n values have so many pairs the wrong way round: row n from row n - 1. */
static double exact_p(size_t n, double s)
{
	double orders[PAIRS_MAX + 1] = { 1 }, all = 0, as_far = 0;
	size_t pairs = n * (n - 1) / 2;

	for (size_t k = 2; k <= n; k++) {
		double next[PAIRS_MAX + 1] = { 0 };

		for (size_t i = 0; i <= pairs; i++)
			for (size_t j = 0; j < k && j <= i; j++)
				next[i] += orders[i - j];
		memcpy(orders, next, sizeof orders);
	}
	for (size_t i = 0; i <= pairs; i++) {
		all += orders[i];
		if (fabs((double)pairs - 2 * (double)i) >= fabs(s))
			as_far += orders[i];
	}
	return as_far / all;
}

/* Of the score under the null hypothesis; equal values take from it. sorted: ascending. */
static double variance(const double *sorted, size_t n, bool *out_ties)
{
	double size = (double)n, sum = size * (size - 1) * (2 * size + 5);

	*out_ties = false;
	for (size_t i = 0, end; i < n; i = end) {
		double t;

		for (end = i + 1; end < n && sorted[end] == sorted[i];)
			end++;
		t = (double)(end - i);
		*out_ties |= end - i > 1;
		sum -= t * (t - 1) * (2 * t + 5);
	}
	return sum / 18;
}

static double p_of(double score, double deviation, size_t n, bool ties)
{
	if (n <= EXACT_MAX && !ties)
		return exact_p(n, score);
	if (!(deviation > 0))
		return 1;
	return fmin(1, erfc(fmax(0, fabs(score) - 1) / deviation / sqrt(2)));
}

/* The middle, and the ranks that the deviation of the score puts around it. */
static void slopes_between(const double *slopes, size_t count, double deviation, struct sb_trend *out)
{
	double half = 1.96 * deviation, n = (double)count;
	double low = floor((n - half) / 2), high = ceil((n + half) / 2);

	out->slope = count % 2 ? slopes[count / 2] : (slopes[count / 2 - 1] + slopes[count / 2]) / 2;
	out->low = slopes[low > 0 ? (size_t)low : 0];
	out->high = slopes[high < n ? (size_t)high : count - 1];
}

int sb_stats_trend(const double *x, const double *y, size_t count, struct sb_trend *out_trend)
{
	struct sb_trend t = { NAN, NAN, NAN, 1 };
	double *slopes, *sorted, score = 0, deviation;
	size_t pairs = 0;
	bool ties;

	*out_trend = t;
	if (count < 3)
		return 0;
	slopes = malloc((count * (count - 1) / 2 + count) * sizeof *slopes);
	if (!slopes)
		return sb_fail(STROBE_ENOMEM, "no memory for a trend");
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++) {
			score += (y[k] > y[i]) - (y[k] < y[i]);
			if (x[k] > x[i])
				slopes[pairs++] = (y[k] - y[i]) / (x[k] - x[i]);
		}
	sorted = slopes + pairs;
	memcpy(sorted, y, count * sizeof *y);
	sb_stats_sort(sorted, count);
	deviation = sqrt(fmax(0, variance(sorted, count, &ties)));
	if (pairs) {
		sb_stats_sort(slopes, pairs);
		slopes_between(slopes, pairs, deviation, &t);
		t.p = p_of(score, deviation, count, ties);
		*out_trend = t;
	}
	free(slopes);
	return 0;
}
