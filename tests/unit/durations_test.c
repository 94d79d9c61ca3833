/* Percentiles of durations at every number of values, against sorting them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "close_within.h"
#include "stats/durations.h"
#include "stats/statistics.h"

#include <stdlib.h>

static uint64_t random_state = 1;

/* Of very different sizes; some need more than 32 bits. */
static int64_t random_ns(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(random_state >> (28 + (random_state >> 5) % 36));
}

static void check(size_t count, int64_t ceiling_ns)
{
	struct sb_durations d = { 0 };
	double *values = malloc(count * sizeof *values);
	struct sb_stats stats;

	assert_non_null(values);
	for (size_t i = 0; i < count; i++) {
		int64_t ns = random_ns() % ceiling_ns;

		assert_true(sb_durations_add(&d, ns));
		values[i] = (double)ns;
	}
	sb_stats_sort(values, count);
	for (size_t i = 1; i < count; i++)
		assert_true(values[i - 1] <= values[i]);
	assert_int_equal(sb_durations_stats(&d, &stats), 0);
	assert_int_equal(stats.count, count);
	close_within(stats.p50, sb_stats_percentile(values, count, 0.50) / 1e9, 1e-12);
	close_within(stats.p95, sb_stats_percentile(values, count, 0.95) / 1e9, 1e-12);
	close_within(stats.p99, sb_stats_percentile(values, count, 0.99) / 1e9, 1e-12);
	sb_durations_done(&d);
	free(values);
}

static void percentiles_are_exact_at_every_count(void **state)
{
	(void)state;
	for (size_t count = 1; count < 80; count++) {
		check(count, INT64_MAX);
		check(count, 7);
	}
	check(4095, INT64_MAX);
	check(4096, 3000000);
	check(4097, INT64_MAX);
	check(9000, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_exact_at_every_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
