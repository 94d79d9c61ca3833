/* The quantile histogram. */
#include "base/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SUB_BITS 5
#define SUB (1u << SUB_BITS)

void sb_histogram_done(struct sb_histogram *h)
{
	free(h->counts);
	memset(h, 0, sizeof *h);
}

uint32_t sb_histogram_bucket(uint64_t value)
{
	unsigned top;

	if (value < SUB)
		return (uint32_t)value;
	top = 63u - (unsigned)__builtin_clzll(value);
	return (top - SUB_BITS + 1) * SUB + ((uint32_t)(value >> (top - SUB_BITS)) & (SUB - 1));
}

double sb_histogram_middle(uint32_t bucket)
{
	unsigned shift;

	if (bucket < SUB)
		return bucket;
	shift = bucket / SUB - 1;
	return ldexp((double)(SUB + bucket % SUB) + 0.5, (int)shift) - 0.5;
}

/* Makes room for a bucket on either side. */
static bool reach(struct sb_histogram *h, uint32_t bucket)
{
	uint32_t first = h->size && h->first < bucket ? h->first : bucket;
	uint32_t end = h->size && h->first + h->size > bucket + 1 ? h->first + h->size : bucket + 1;
	uint64_t *counts;

	if (h->size && bucket >= h->first && bucket < h->first + h->size)
		return true;
	if (h->size) { /* a little ahead, so that growing stays rare */
		first = first < h->first ? (first > 8 ? first - 8 : 0) : first;
		end = end > h->first + h->size ? end + 8 : end;
	}
	counts = calloc(end - first, sizeof *counts);
	if (!counts)
		return false;
	if (h->size)
		memcpy(counts + (h->first - first), h->counts, h->size * sizeof *counts);
	free(h->counts);
	h->counts = counts;
	h->first = first;
	h->size = end - first;
	return true;
}

bool sb_histogram_add_bucket(struct sb_histogram *h, uint32_t bucket, uint64_t count)
{
	if (bucket >= SB_HISTOGRAM_BUCKETS)
		bucket = SB_HISTOGRAM_BUCKETS - 1;
	if (!reach(h, bucket))
		return false;
	h->counts[bucket - h->first] += count;
	h->total += count;
	return true;
}

bool sb_histogram_add(struct sb_histogram *h, uint64_t value, uint64_t count)
{
	return sb_histogram_add_bucket(h, sb_histogram_bucket(value), count);
}

bool sb_histogram_merge(struct sb_histogram *h, const struct sb_histogram *more)
{
	for (uint32_t i = 0; i < more->size; i++)
		if (more->counts[i] && !sb_histogram_add_bucket(h, more->first + i, more->counts[i]))
			return false;
	return true;
}

double sb_histogram_quantile(const struct sb_histogram *h, double q)
{
	double wanted = q * (double)(h->total - 1);
	uint64_t seen = 0;

	if (!h->total)
		return NAN;
	for (uint32_t i = 0; i < h->size; i++) {
		seen += h->counts[i];
		if ((double)seen > wanted)
			return sb_histogram_middle(h->first + i);
	}
	return sb_histogram_middle(h->first + h->size - 1);
}
