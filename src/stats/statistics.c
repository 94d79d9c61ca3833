/* Describing measurements: moments, medians, percentiles and resampled
 * intervals. The judgement of two series is in judge.c. */
#include "stats/statistics.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 2000
#define RESAMPLED_VALUES_MAX 1000 /* past this, evenly spaced order statistics stand in */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort_few(double *v, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		double x = v[i];
		size_t k = i;

		for (; k && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Quicksort without a call per comparison; where it goes wrong (depth spent),
 * the C library's takes over. NaN is not among the values. */
static void sort(double *v, size_t count, int depth)
{
	while (count > 24) {
		double a = v[0], b = v[count / 2], c = v[count - 1];
		double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
		size_t low = 0, high = count - 1;

		if (!depth--) {
			qsort(v, count, sizeof *v, ascending);
			return;
		}
		for (;; low++, high--) {
			double swapped;

			while (v[low] < pivot)
				low++;
			while (v[high] > pivot)
				high--;
			if (low >= high)
				break;
			swapped = v[low];
			v[low] = v[high];
			v[high] = swapped;
		}
		/* the smaller half by a call, the larger in this loop */
		if (low < count - low) {
			sort(v, low, depth);
			v += low;
			count -= low;
		} else {
			sort(v + low, count - low, depth);
			count = low;
		}
	}
	sort_few(v, count);
}

void sb_stats_sort(double *values, size_t count)
{
	sort(values, count, 64);
}

static double *sorted_copy(const double *values, size_t count)
{
	double *copy = malloc((count ? count : 1) * sizeof *copy);

	if (!copy) {
		sb_fail(STROBE_ENOMEM, "no memory for the statistics of %zu values", count);
		return NULL;
	}
	if (count)
		memcpy(copy, values, count * sizeof *copy);
	sb_stats_sort(copy, count);
	return copy;
}

double sb_stats_percentile(const double *sorted, size_t count, double q)
{
	double position = q * (double)(count - 1);
	size_t below = (size_t)position;
	double part = position - (double)below;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

int sb_stats_of(const double *values, size_t count, struct sb_stats *out_stats)
{
	struct sb_stats s = SB_STATS_NONE;
	double *sorted, squares = 0;

	s.count = (int64_t)count;
	if (!count) {
		*out_stats = s;
		return 0;
	}
	sorted = sorted_copy(values, count);
	if (!sorted)
		return STROBE_ENOMEM;
	s.total = 0;
	for (size_t i = 0; i < count; i++)
		s.total += values[i];
	s.mean = s.total / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	if (count > 1)
		s.std = sqrt(squares / (double)(count - 1));
	s.last = values[count - 1];
	s.min = sorted[0];
	s.max = sorted[count - 1];
	s.median = sb_stats_percentile(sorted, count, 0.5);
	s.p95 = sb_stats_percentile(sorted, count, 0.95);
	s.p99 = sb_stats_percentile(sorted, count, 0.99);
	free(sorted);
	*out_stats = s;
	return 0;
}

/* ---- resampling --------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

struct pool {
	double *sorted;
	uint16_t *drawn; /* how often each value was drawn */
	size_t count;
};

static void pool_done(struct pool *p)
{
	free(p->sorted);
	free(p->drawn);
}

static int pool_init(struct pool *p, const double *values, size_t count)
{
	p->count = count;
	p->drawn = NULL;
	p->sorted = sorted_copy(values, count);
	if (!p->sorted)
		return STROBE_ENOMEM;
	if (count > RESAMPLED_VALUES_MAX) {
		for (size_t i = 0; i < RESAMPLED_VALUES_MAX; i++)
			p->sorted[i] = sb_stats_percentile(
				p->sorted, count, ((double)i + 0.5) / RESAMPLED_VALUES_MAX);
		p->count = RESAMPLED_VALUES_MAX;
	}
	p->drawn = malloc(p->count * sizeof *p->drawn);
	if (!p->drawn)
		return sb_fail(STROBE_ENOMEM, "no memory for resampling");
	return 0;
}

static double nth_drawn(const struct pool *p, size_t n)
{
	size_t seen = 0;

	for (size_t i = 0; i < p->count; i++) {
		seen += p->drawn[i];
		if (seen > n)
			return p->sorted[i];
	}
	return p->sorted[p->count - 1];
}

static double resampled_median(struct pool *p, uint64_t *random)
{
	memset(p->drawn, 0, p->count * sizeof *p->drawn);
	for (size_t i = 0; i < p->count; i++)
		p->drawn[(next_random(random) >> 32) * p->count >> 32]++;
	if (p->count % 2)
		return nth_drawn(p, p->count / 2);
	return (nth_drawn(p, p->count / 2 - 1) + nth_drawn(p, p->count / 2)) / 2;
}

static void middle_95(double *values, struct sb_interval *out_interval)
{
	sort(values, RESAMPLES, 64);
	out_interval->low = sb_stats_percentile(values, RESAMPLES, 0.025);
	out_interval->high = sb_stats_percentile(values, RESAMPLES, 0.975);
}

int sb_stats_median_interval(const double *values, size_t count, struct sb_interval *out_interval)
{
	struct pool pool = { 0 };
	uint64_t random = 1;
	double *medians = NULL;
	int err;

	*out_interval = (struct sb_interval){ NAN, NAN };
	if (count < 3)
		return 0;
	err = pool_init(&pool, values, count);
	if (!err && !(medians = malloc(RESAMPLES * sizeof *medians)))
		err = sb_fail(STROBE_ENOMEM, "no memory for resampling");
	if (!err) {
		for (size_t i = 0; i < RESAMPLES; i++)
			medians[i] = resampled_median(&pool, &random);
		middle_95(medians, out_interval);
	}
	free(medians);
	pool_done(&pool);
	return err;
}

int sb_stats_ratio_interval(const double *base, size_t base_count, const double *now, size_t now_count,
	struct sb_interval *out_interval)
{
	struct pool before = { 0 }, after = { 0 };
	uint64_t random = 1;
	double *ratios = NULL;
	int err;

	*out_interval = (struct sb_interval){ NAN, NAN };
	if (base_count < 3 || now_count < 3)
		return 0;
	err = pool_init(&before, base, base_count);
	if (!err)
		err = pool_init(&after, now, now_count);
	if (!err && !(ratios = malloc(RESAMPLES * sizeof *ratios)))
		err = sb_fail(STROBE_ENOMEM, "no memory for resampling");
	if (!err && before.sorted[0] > 0) {
		for (size_t i = 0; i < RESAMPLES; i++) {
			double denominator = resampled_median(&before, &random);

			ratios[i] = resampled_median(&after, &random) / denominator;
		}
		middle_95(ratios, out_interval);
	}
	free(ratios);
	pool_done(&before);
	pool_done(&after);
	return err;
}
