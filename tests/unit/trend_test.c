/* The slope over pairs and the test of its sign. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stats/trend.h"

#include <math.h>

static struct sb_trend trend(const double *y, size_t count)
{
	double x[SB_TREND_MAX];
	struct sb_trend t;

	for (size_t i = 0; i < count; i++)
		x[i] = (double)i;
	assert_int_equal(sb_stats_trend(x, y, count, &t), 0);
	return t;
}

static void one_outlier_does_not_move_the_slope(void **state)
{
	static const double y[] = { 0, 2, 4, 900, 8, 10, 12, 14, 16 };
	struct sb_trend t = trend(y, 9);

	assert_true(t.slope == 2);
	assert_true(t.low <= 2 && t.high >= 2);
	assert_true(t.p < 0.01);
}

/* Five values in order: 2 of 120 orders are as far out. */
static void few_points_are_counted_exactly(void **state)
{
	static const double up[] = { 1, 2, 3, 4, 5 }, mixed[] = { 3, 1, 4, 2, 5 };

	assert_true(fabs(trend(up, 5).p - 2.0 / 120) < 1e-12);
	assert_true(trend(mixed, 5).p > 0.3);
}

static void equal_values_are_no_trend(void **state)
{
	static const double flat[] = { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 };
	struct sb_trend t = trend(flat, 12);

	assert_true(t.slope == 0 && t.p == 1);
}

static void noise_is_seldom_a_trend(void **state)
{
	uint64_t seed = 1;
	int said = 0;

	for (int round = 0; round < 200; round++) {
		double y[30];

		for (int i = 0; i < 30; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			y[i] = (double)(seed >> 40);
		}
		said += trend(y, 30).p < 0.02;
	}
	assert_true(said <= 10);
}

static void two_points_are_too_few(void **state)
{
	static const double y[] = { 1, 2 };

	assert_true(isnan(trend(y, 2).slope) && trend(y, 2).p == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_outlier_does_not_move_the_slope),
		cmocka_unit_test(few_points_are_counted_exactly),
		cmocka_unit_test(equal_values_are_no_trend),
		cmocka_unit_test(noise_is_seldom_a_trend),
		cmocka_unit_test(two_points_are_too_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
