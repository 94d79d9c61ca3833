/* Percentiles by counting, in two passes over the values: linear, exact, and the
 * values keep their order. */
#include "stats/durations.h"

#include "base/error.h"
#include "base/room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 6
#define FEW 4096
#define VERY_FEW 32
#define DIGITS 2048u

void sb_durations_done(struct sb_durations *d)
{
	free(d->small);
	free(d->large);
	memset(d, 0, sizeof *d);
}

bool sb_durations_grow(struct sb_durations *d)
{
	return SB_MAKE_ROOM(d->small, d->count, d->room);
}

bool sb_durations_add_large(struct sb_durations *d, uint64_t ns)
{
	if (!SB_MAKE_ROOM(d->large, d->large_count, d->large_room))
		return false;
	if (!sb_durations_grow(d))
		return false;
	d->large[d->large_count++] = ns;
	d->small[d->count++] = SB_DURATION_LARGE;
	return true;
}

bool sb_durations_append(struct sb_durations *d, const struct sb_durations *more)
{
	size_t large_at = 0;

	for (size_t i = 0; i < more->count; i++)
		if (!sb_durations_add(d, (int64_t)sb_durations_next(more, i, &large_at)))
			return false;
	return true;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One digit of 11 bits; stable. */
static void sort_by_digit(const uint32_t *from, uint32_t *to, size_t count, unsigned shift)
{
	uint32_t at[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		at[from[i] >> shift & (DIGITS - 1)]++;
	for (uint32_t d = 0; d < DIGITS; d++) {
		uint32_t n = at[d];

		at[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_very_few(const uint32_t *from, uint32_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = i;

		for (; k && to[k - 1] > from[i]; k--)
			to[k] = to[k - 1];
		to[k] = from[i];
	}
}

static int select_few(const uint32_t *values, size_t count, const size_t *ranks, uint32_t *out_values)
{
	uint32_t *sorted = malloc(2 * count * sizeof *sorted), *other = sorted + count;

	if (!sorted)
		return STROBE_ENOMEM;
	if (count <= VERY_FEW) {
		sort_very_few(values, sorted, count);
	} else {
		sort_by_digit(values, sorted, count, 0);
		sort_by_digit(sorted, other, count, 11);
		sort_by_digit(other, sorted, count, 22);
	}
	for (int i = 0; i < RANKS; i++)
		out_values[i] = sorted[ranks[i]];
	free(sorted);
	return 0;
}

/* Finds the bin that holds a rank; the rank inside it comes back in *rank. */
static uint32_t bin_of(const uint32_t *bins, size_t *rank)
{
	uint32_t bin = 0;

	while (*rank >= bins[bin])
		*rank -= bins[bin++];
	return bin;
}

static int select_many(const uint32_t *values, size_t count, const size_t *ranks, uint32_t *out_values)
{
	uint32_t *bins = calloc(65536, sizeof *bins);
	uint32_t *low = malloc(65536 * sizeof *low);
	uint32_t last_high = UINT32_MAX;

	if (!bins || !low) {
		free(bins);
		free(low);
		return STROBE_ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		bins[values[i] >> 16]++;
	for (int r = 0; r < RANKS; r++) {
		size_t rank = ranks[r];
		uint32_t high = bin_of(bins, &rank);

		if (high != last_high) { /* ranks ascend: a bin is counted once */
			memset(low, 0, 65536 * sizeof *low);
			for (size_t i = 0; i < count; i++)
				low[values[i] & 65535] += values[i] >> 16 == high;
			last_high = high;
		}
		out_values[r] = high << 16 | bin_of(low, &rank);
	}
	free(bins);
	free(low);
	return 0;
}

/* The values at six ascending ranks. Large values are all above the small ones. */
static int select_ranks(const struct sb_durations *d, const size_t *ranks, double *out_ns)
{
	uint32_t small[RANKS];
	size_t small_count = d->count - d->large_count;
	int err = d->count <= FEW ? select_few(d->small, d->count, ranks, small)
				  : select_many(d->small, d->count, ranks, small);
	uint64_t *sorted = NULL;

	if (!err && d->large_count) {
		sorted = malloc(d->large_count * sizeof *sorted);
		if (!sorted)
			err = STROBE_ENOMEM;
		else
			memcpy(sorted, d->large, d->large_count * sizeof *sorted);
		if (sorted)
			qsort(sorted, d->large_count, sizeof *sorted, compare_u64);
	}
	for (int i = 0; !err && i < RANKS; i++)
		out_ns[i] = ranks[i] < small_count ? (double)small[i]
						   : (double)sorted[ranks[i] - small_count];
	free(sorted);
	return err;
}

static void sums(const struct sb_durations *d, struct sb_stats *s)
{
	double total = 0, squares = 0, min = INFINITY, max = 0;
	size_t large_at = 0;
	uint64_t exact = 0;

	for (size_t i = 0; i < d->count; i++)
		exact += sb_durations_next(d, i, &large_at);
	total = (double)exact;
	s->mean = total / (double)d->count;
	large_at = 0;
	for (size_t i = 0; i < d->count; i++) {
		double v = (double)sb_durations_next(d, i, &large_at);

		squares += (v - s->mean) * (v - s->mean);
		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	s->total = total / 1e9;
	s->mean /= 1e9;
	s->min = min / 1e9;
	s->max = max / 1e9;
	s->std = d->count > 1 ? sqrt(squares / (double)(d->count - 1)) / 1e9 : NAN;
}

int sb_durations_stats(const struct sb_durations *d, struct sb_stats *out_stats)
{
	static const double quantiles[] = { 0.50, 0.95, 0.99 };
	size_t ranks[RANKS];
	double at[RANKS], value[3];

	*out_stats = SB_STATS_NONE;
	out_stats->count = (int64_t)d->count;
	if (!d->count)
		return 0;
	for (int i = 0; i < 3; i++) {
		double place = quantiles[i] * (double)(d->count - 1);

		ranks[2 * i] = (size_t)place;
		ranks[2 * i + 1] = ranks[2 * i] + 1 < d->count ? ranks[2 * i] + 1 : ranks[2 * i];
	}
	/* ranks ascend, except for a neighbour that the next quantile shares: sort them */
	size_t sorted[RANKS];
	memcpy(sorted, ranks, sizeof sorted);
	for (int i = 1; i < RANKS; i++)
		for (int k = i; k && sorted[k] < sorted[k - 1]; k--) {
			size_t swap = sorted[k];

			sorted[k] = sorted[k - 1];
			sorted[k - 1] = swap;
		}
	if (select_ranks(d, sorted, at))
		return sb_fail(STROBE_ENOMEM, "no memory for percentiles of %zu values", d->count);
	sums(d, out_stats);
	for (int i = 0; i < 3; i++) {
		double place = quantiles[i] * (double)(d->count - 1);
		double low = 0, high = 0;

		for (int k = 0; k < RANKS; k++) {
			if (sorted[k] == ranks[2 * i])
				low = at[k];
			if (sorted[k] == ranks[2 * i + 1])
				high = at[k];
		}
		value[i] = (low + (high - low) * (place - floor(place))) / 1e9;
	}
	out_stats->p50 = value[0];
	out_stats->p95 = value[1];
	out_stats->p99 = value[2];
	return 0;
}
