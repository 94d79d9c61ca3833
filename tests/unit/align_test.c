/* Clocks of ranks, set beside each other by the collectives they share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/align.h"

#define COLLECTIVES 20
#define START_NS 1767225600000000000u

static struct sb_fact_collective collectives[3][COLLECTIVES];

/* Rank r says its times late by late_s, and leaves within jitter_s. */
static struct sb_align_rank rank_of(int r, const char *host, double late_s, double jitter_s)
{
	for (int i = 0; i < COLLECTIVES; i++)
		collectives[r][i] = (struct sb_fact_collective){ "all_reduce", i, i,
			i + 0.5 + jitter_s * ((i * 7 + r) % 5) / 5 };
	return (struct sb_align_rank){ .host = host,
		.start_real_ns = START_NS + (uint64_t)(late_s * 1e9),
		.collectives = collectives[r],
		.collective_count = COLLECTIVES };
}

static void collectives_correct_another_hosts_clock(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.25, 1e-4),
		rank_of(2, "a", 0, 1e-4) };

	assert_int_equal(sb_align(ranks, 3), 0);
	assert_int_equal(ranks[1].method, SB_ALIGN_COLLECTIVES);
	assert_true(fabs(ranks[1].offset_s + 0.25) < 1e-4);
	assert_true(ranks[1].residual_s > 0 && ranks[1].residual_s < 1e-4);
	assert_int_equal(ranks[1].matched_count, COLLECTIVES);
	assert_int_equal(ranks[2].method, SB_ALIGN_SAME_HOST);
	assert_true(ranks[2].offset_s == 0);
	assert_true(sb_align_residual(ranks, 3) < 1e-4);
}

static void without_collectives_the_error_is_not_known(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.25, 0) };

	ranks[1].collective_count = 2; /* too few to trust */
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_int_equal(ranks[1].method, SB_ALIGN_REAL_TIME);
	assert_true(ranks[1].offset_s == 0 && isnan(ranks[1].residual_s));
	assert_true(isnan(sb_align_residual(ranks, 2)));
}

static void a_collective_that_one_rank_missed_is_not_matched_with_the_next(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.25, 0) };

	ranks[1].collectives++; /* its first was lost; occurrences keep their numbers */
	ranks[1].collective_count--;
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_int_equal(ranks[1].matched_count, COLLECTIVES - 1);
	assert_true(fabs(ranks[1].offset_s + 0.25) < 1e-6 && ranks[1].residual_s < 1e-6);
}

static void one_wild_collective_does_not_move_a_clock(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.25, 0) };

	collectives[1][7].end_s += 60;
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_true(fabs(ranks[1].offset_s + 0.25) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectives_correct_another_hosts_clock),
		cmocka_unit_test(without_collectives_the_error_is_not_known),
		cmocka_unit_test(a_collective_that_one_rank_missed_is_not_matched_with_the_next),
		cmocka_unit_test(one_wild_collective_does_not_move_a_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
