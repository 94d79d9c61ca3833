/* Buckets, merging, and the error that is promised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/histogram.h"

#include <math.h>
#include <stdlib.h>

static void every_value_is_near_its_bucket(void **state)
{
	uint64_t value = 1;

	for (int i = 0; i < 100000; i++) {
		uint32_t bucket = sb_histogram_bucket(value);

		assert_true(bucket < SB_HISTOGRAM_BUCKETS);
		assert_true(fabs(sb_histogram_middle(bucket) - (double)value) <=
			    SB_HISTOGRAM_ERROR_RATIO * (double)value);
		value = value * 6364136223846793005u + 1442695040888963407u;
		if (i % 2)
			value >>= i % 61;
		value += !value;
	}
	assert_int_equal(sb_histogram_bucket(UINT64_MAX), SB_HISTOGRAM_BUCKETS - 1);
}

static void buckets_never_fall_as_values_rise(void **state)
{
	uint32_t last = 0;

	for (uint64_t v = 0; v < 100000; v++) {
		uint32_t bucket = sb_histogram_bucket(v);

		assert_true(bucket == last || bucket == last + 1);
		last = bucket;
	}
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void merged_halves_have_the_quantiles_of_the_whole(void **state)
{
	enum { COUNT = 20000 };
	static uint64_t values[COUNT];
	struct sb_histogram whole = { 0 }, halves[2] = { { 0 } };
	uint64_t seed = 7;

	for (int i = 0; i < COUNT; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		values[i] = 1000 + (seed >> 40) * (1 + (seed & 7));
		assert_true(sb_histogram_add(&whole, values[i], 1));
		assert_true(sb_histogram_add(&halves[i % 2], values[i], 1));
	}
	assert_true(sb_histogram_merge(&halves[0], &halves[1]));
	qsort(values, COUNT, sizeof values[0], ascending);
	assert_int_equal(halves[0].total, COUNT);
	for (double q = 0; q <= 1; q += 0.01) {
		double exact = (double)values[(int)(q * (COUNT - 1))];

		assert_true(sb_histogram_quantile(&whole, q) == sb_histogram_quantile(&halves[0], q));
		assert_true(
			fabs(sb_histogram_quantile(&whole, q) - exact) <= SB_HISTOGRAM_ERROR_RATIO * exact);
	}
	sb_histogram_done(&whole);
	sb_histogram_done(&halves[0]);
	sb_histogram_done(&halves[1]);
}

static void an_empty_one_has_no_quantile(void **state)
{
	struct sb_histogram h = { 0 };

	assert_true(isnan(sb_histogram_quantile(&h, 0.5)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_is_near_its_bucket),
		cmocka_unit_test(buckets_never_fall_as_values_rise),
		cmocka_unit_test(merged_halves_have_the_quantiles_of_the_whole),
		cmocka_unit_test(an_empty_one_has_no_quantile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
