/* Durations in equal bins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stats/distribution.h"

static struct sb_distribution made(const double *seconds, size_t count, int64_t *zeros)
{
	struct sb_distribution d = { 0 };

	sb_distribution_of(seconds, count, zeros, &d);
	return d;
}

static void every_duration_is_in_one_bin_and_the_longest_in_the_last(void **state)
{
	static const double seconds[] = { 1, 25, 1.5, 2, 24.999, 13 };
	int64_t zeros[SB_DISTRIBUTION_BINS] = { 0 }, sum = 0;
	struct sb_distribution d = made(seconds, 6, zeros);

	assert_true(d.from_s == 1 && d.bin_s == 1 && d.bin_count == SB_DISTRIBUTION_BINS);
	assert_int_equal(d.value_counts[0], 2);
	assert_int_equal(d.value_counts[1], 1);
	assert_int_equal(d.value_counts[12], 1);
	assert_int_equal(d.value_counts[SB_DISTRIBUTION_BINS - 1], 2);
	for (size_t i = 0; i < d.bin_count; i++)
		sum += d.value_counts[i];
	assert_int_equal(sum, 6);
}

static void equal_durations_are_all_in_the_first_bin(void **state)
{
	static const double seconds[] = { 0.25, 0.25, 0.25 };
	int64_t zeros[SB_DISTRIBUTION_BINS] = { 0 };
	struct sb_distribution d = made(seconds, 3, zeros);

	assert_true(d.from_s == 0.25 && d.bin_s > 0);
	assert_int_equal(d.value_counts[0], 3);
}

static void one_duration_makes_none(void **state)
{
	static const double seconds[] = { 1 };
	int64_t zeros[SB_DISTRIBUTION_BINS] = { 0 };

	assert_int_equal(made(seconds, 1, zeros).bin_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_duration_is_in_one_bin_and_the_longest_in_the_last),
		cmocka_unit_test(equal_durations_are_all_in_the_first_bin),
		cmocka_unit_test(one_duration_makes_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
