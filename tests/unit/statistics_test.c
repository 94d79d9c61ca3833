/* Medians, intervals, the rank test and the judgement on noisy pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stats/statistics.h"
#include "noise.h"

#include <math.h>
#include <stdlib.h>

#define ITERATIONS 20

/* What a GPU step looks like: 2.5 % of ordinary noise, and in one of 20 an
 * interruption that adds up to 40 %. */
static void measure(double *out, size_t count, double mean)
{
	for (size_t i = 0; i < count; i++) {
		out[i] = mean * exp(0.025 * gaussian());
		if (uniform() < 0.05)
			out[i] *= 1 + 0.4 * uniform();
	}
}

/* The same with neighbours that resemble each other: clocks that wander. */
static void measure_drifting(double *out, size_t count, double mean)
{
	double drift = gaussian();

	for (size_t i = 0; i < count; i++) {
		out[i] = mean * (1 + 0.02 * drift);
		drift = 0.6 * drift + 0.8 * gaussian();
	}
}

typedef void (*source)(double *out, size_t count, double mean);

static int count_verdicts(source from, double change, enum sb_verdict wanted, int pairs)
{
	int found = 0;

	for (int i = 0; i < pairs; i++) {
		double base[ITERATIONS], now[ITERATIONS];
		struct sb_judgement j;

		from(base, ITERATIONS, 1.59);
		from(now, ITERATIONS, 1.59 * change);
		assert_int_equal(
			sb_judge(base, ITERATIONS, now, ITERATIONS, &sb_tolerance_default, true, &j), 0);
		found += j.verdict == wanted;
	}
	return found;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void an_even_count_has_the_middle_of_two(void **state)
{
	const double values[] = { 4, 1, 3, 2 };
	struct sb_stats s;

	assert_int_equal(sb_stats_of(values, 4, &s), 0);
	assert_true(s.median == 2.5);
	assert_true(s.mean == 2.5);
	assert_true(fabs(s.std - 1.2909944487358056) < 1e-12); /* sample, not population */
	assert_true(s.min == 1 && s.max == 4 && s.total == 10);
	assert_true(fabs(s.p95 - 3.85) < 1e-12);
}

static void percentiles_of_any_order_are_those_of_the_sorted(void **state)
{
	enum { COUNT = 1000 };
	static double values[COUNT];

	/* risen, fallen, saw teeth, few different values, all the same, at random */
	for (int shape = 0; shape < 6; shape++) {
		struct sb_stats s;
		double q[3] = { 0 };

		for (int i = 0; i < COUNT; i++)
			values[i] = shape == 0   ? i
				    : shape == 1 ? COUNT - 1 - i
				    : shape == 2 ? i % 37 * 100 + i / 37
				    : shape == 3 ? i % 3
				    : shape == 4 ? 5
						 : (int)(uniform() * 1e6);
		assert_int_equal(sb_stats_of(values, COUNT, &s), 0);
		qsort(values, COUNT, sizeof values[0], by_size);
		q[0] = sb_stats_percentile(values, COUNT, 0.5);
		q[1] = sb_stats_percentile(values, COUNT, 0.95);
		q[2] = sb_stats_percentile(values, COUNT, 0.99);
		assert_true(s.median == q[0] && s.p95 == q[1] && s.p99 == q[2]);
		assert_true(s.min == values[0] && s.max == values[COUNT - 1]);
	}
}

static void one_value_has_no_deviation_and_none_has_nothing(void **state)
{
	const double value = 7;
	struct sb_stats s;

	assert_int_equal(sb_stats_of(&value, 1, &s), 0);
	assert_true(s.median == 7 && isnan(s.std));
	assert_int_equal(sb_stats_of(NULL, 0, &s), 0);
	assert_int_equal(s.count, 0);
	assert_true(isnan(s.mean) && isnan(s.median));
}

static void the_exact_test_counts_arrangements(void **state)
{
	const double base[] = { 1, 2, 3, 4 }, above[] = { 5, 6, 7, 8 }, mixed[] = { 2.5, 5, 6, 7 };
	struct sb_rank_test t;

	assert_int_equal(sb_stats_rank_test(base, 4, above, 4, &t), 0);
	assert_true(t.exact);
	assert_true(fabs(t.p - 2.0 / 70) < 1e-12);
	assert_true(t.effect == 1);
	/* two base values exceed one new value: U = 14 of 16; 4 arrangements of 70 */
	assert_int_equal(sb_stats_rank_test(base, 4, mixed, 4, &t), 0);
	assert_true(fabs(t.p - 2 * 4.0 / 70) < 1e-12);
	assert_true(t.effect == 14.0 / 16);
}

static void ties_fall_back_to_the_corrected_approximation(void **state)
{
	const double same[] = { 1, 1, 1, 1, 1, 1 };
	struct sb_rank_test t;

	assert_int_equal(sb_stats_rank_test(same, 6, same, 6, &t), 0);
	assert_false(t.exact);
	assert_true(t.p == 1 && t.effect == 0.5);
}

static void intervals_hold_the_truth_and_repeat_exactly(void **state)
{
	double base[ITERATIONS], now[ITERATIONS];
	struct sb_interval one, two;
	int held = 0;

	seed = 5;
	for (int i = 0; i < 200; i++) {
		measure(base, ITERATIONS, 1);
		measure(now, ITERATIONS, 1.05);
		assert_int_equal(sb_stats_ratio_interval(base, ITERATIONS, now, ITERATIONS, &one), 0);
		held += one.low <= 1.05 && one.high >= 1.05;
	}
	assert_true(held >= 180);
	sb_stats_ratio_interval(base, ITERATIONS, now, ITERATIONS, &two);
	assert_true(one.low == two.low && one.high == two.high);
	sb_stats_median_interval(base, 2, &one);
	assert_true(isnan(one.low) && isnan(one.high));
}

static void equal_pairs_give_few_false_regressions(void **state)
{
	seed = 1;
	assert_true(count_verdicts(measure, 1.0, SB_VERDICT_WORSE, 200) <= 10);
	assert_true(count_verdicts(measure, 1.0, SB_VERDICT_BETTER, 200) <= 10);
}

/* A machine that slows down while the slow side is measured does not make 300 us of 20 ms. */
static void drift_does_not_hide_what_is_far_beyond_it(void **state)
{
	const double base[] = { 0.02, 0.022, 0.024, 0.026, 0.03, 0.035, 0.04, 0.05 };
	const double now[] = { 1e-3, 5e-4, 4e-4, 3e-4, 2e-4, 1e-4, 5e-5, 1e-6 };
	const double near[] = { 0.012, 0.013, 0.014, 0.015, 0.016, 0.017, 0.018, 0.019 };
	struct sb_rank_test test;

	(void)state;
	assert_int_equal(sb_stats_rank_test(base, 8, now, 8, &test), 0);
	assert_true(test.inflation == 1 && test.p < 0.001);
	assert_int_equal(sb_stats_rank_test(now, 8, base, 8, &test), 0);
	assert_true(test.inflation == 1 && test.p < 0.001);
	assert_int_equal(sb_stats_rank_test(base, 8, near, 8, &test), 0);
	assert_true(test.inflation > 1);
}

static void drifting_equal_pairs_give_few_false_regressions(void **state)
{
	seed = 2;
	assert_true(count_verdicts(measure_drifting, 1.0, SB_VERDICT_WORSE, 200) <= 10);
}

static void a_true_change_of_5_percent_is_found(void **state)
{
	seed = 3;
	assert_true(count_verdicts(measure, 1.05, SB_VERDICT_WORSE, 200) >= 180);
	assert_true(count_verdicts(measure, 1 / 1.05, SB_VERDICT_BETTER, 200) >= 180);
}

static enum sb_verdict judge_single(double base, double now, bool higher_is_worse)
{
	struct sb_tolerance t = sb_tolerance_default;
	struct sb_judgement j;

	t.few = SB_FEW_BY_TOLERANCE;
	assert_int_equal(sb_judge(&base, 1, &now, 1, &t, higher_is_worse, &j), 0);
	assert_int_equal(j.basis, SB_BASIS_TOLERANCE);
	return j.verdict;
}

static void single_values_need_both_tolerances(void **state)
{
	assert_int_equal(judge_single(281.96, 299.88, true), SB_VERDICT_WORSE);
	assert_int_equal(judge_single(14.02, 10.05, true), SB_VERDICT_BETTER);
	assert_int_equal(judge_single(0.001, 0.004, true), SB_VERDICT_SAME); /* 4 x, but 3 ms */
	assert_int_equal(judge_single(100, 101, true), SB_VERDICT_SAME); /* 1 s, but 1 % */
	assert_int_equal(judge_single(30, 20, false), SB_VERDICT_WORSE); /* frames per second */
}

static void three_repetitions_are_too_few_and_four_are_named(void **state)
{
	const double base[] = { 10.0, 10.1, 9.9, 10.05 }, apart[] = { 10.8, 10.7, 10.9, 10.75 };
	struct sb_judgement j;
	double many[60];

	for (int i = 0; i < 60; i++)
		many[i] = 9.9 + 0.003 * i;

	for (size_t count = 1; count <= 3; count++) {
		struct sb_tolerance single = sb_tolerance_default;

		single.few = SB_FEW_BY_TOLERANCE;
		assert_int_equal(sb_judge(base, count, apart, count, &sb_tolerance_default, true, &j), 0);
		assert_int_equal(j.verdict, SB_VERDICT_TOO_FEW);
		assert_int_equal(sb_judge(base, count, apart, count, &single, true, &j), 0);
		assert_int_equal(j.verdict, SB_VERDICT_WORSE);
	}
	assert_int_equal(sb_judge(base, 1, apart, 4, &sb_tolerance_default, true, &j), 0);
	assert_int_equal(j.verdict, SB_VERDICT_TOO_FEW);
	assert_int_equal(sb_judge(many, 60, apart, 3, &sb_tolerance_default, true, &j), 0);
	assert_int_equal(
		j.verdict, SB_VERDICT_TOO_FEW); /* many on one side do not make up for three on the other */
	assert_int_equal(sb_judge_count_needed(sb_tolerance_default.alpha), 4);
	assert_int_equal(sb_judge(base, 4, apart, 4, &sb_tolerance_default, true, &j), 0);
	assert_int_equal(j.verdict, SB_VERDICT_WORSE);
}

/* 30.1 -> 38.1 ms passed once, below a floor of 10 ms that is for single values alone. */
static void no_floor_hides_what_repetitions_prove(void **state)
{
	double base[10], now[10];
	struct sb_judgement j;

	for (int i = 0; i < 10; i++) {
		base[i] = 0.0301 + 0.0001 * (i * 7 % 10);
		now[i] = 0.0381 + 0.0001 * (i * 3 % 10);
	}
	assert_int_equal(sb_judge(base, 10, now, 10, &sb_tolerance_default, true, &j), 0);
	assert_int_equal(j.verdict, SB_VERDICT_WORSE);
	assert_true(fabs(j.shift_ratio - 1.26) < 0.01);
}

static void values_of_nothing_are_the_same(void **state)
{
	const double none[5] = { 0 };
	struct sb_judgement j;

	assert_int_equal(sb_judge(none, 5, none, 5, &sb_tolerance_default, true, &j), 0);
	assert_int_equal(j.verdict, SB_VERDICT_SAME);
}

static void certain_but_tiny_changes_are_the_same(void **state)
{
	double base[1000], now[1000];
	struct sb_judgement j;

	seed = 4;
	for (int i = 0; i < 1000; i++) {
		base[i] = 1 + 0.001 * gaussian();
		now[i] = 1.005 + 0.001 * gaussian();
	}
	assert_int_equal(sb_judge(base, 1000, now, 1000, &sb_tolerance_default, true, &j), 0);
	assert_true(j.p < 1e-6);
	assert_int_equal(j.verdict, SB_VERDICT_SAME);
}

static void few_values_tell_a_deviation_badly(void **state)
{
	assert_true(isinf(sb_student_t(0)));
	assert_true(fabs(sb_student_t(1) - 12.706) < 1e-9 && fabs(sb_student_t(4.9) - 2.776) < 1e-9);
	for (double freedom = 2; freedom < 400; freedom++)
		assert_true(sb_student_t(freedom) <= sb_student_t(freedom - 1));
	assert_true(fabs(sb_student_t(60) - 2.000) < 0.002 && fabs(sb_student_t(1e9) - 1.960) < 0.001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_even_count_has_the_middle_of_two),
		cmocka_unit_test(percentiles_of_any_order_are_those_of_the_sorted),
		cmocka_unit_test(one_value_has_no_deviation_and_none_has_nothing),
		cmocka_unit_test(the_exact_test_counts_arrangements),
		cmocka_unit_test(ties_fall_back_to_the_corrected_approximation),
		cmocka_unit_test(intervals_hold_the_truth_and_repeat_exactly),
		cmocka_unit_test(equal_pairs_give_few_false_regressions),
		cmocka_unit_test(drift_does_not_hide_what_is_far_beyond_it),
		cmocka_unit_test(drifting_equal_pairs_give_few_false_regressions),
		cmocka_unit_test(a_true_change_of_5_percent_is_found),
		cmocka_unit_test(single_values_need_both_tolerances),
		cmocka_unit_test(three_repetitions_are_too_few_and_four_are_named),
		cmocka_unit_test(no_floor_hides_what_repetitions_prove),
		cmocka_unit_test(values_of_nothing_are_the_same),
		cmocka_unit_test(few_values_tell_a_deviation_badly),
		cmocka_unit_test(certain_but_tiny_changes_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
