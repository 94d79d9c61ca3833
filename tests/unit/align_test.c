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
		collectives[r][i] = (struct sb_fact_collective){ .name = "all_reduce",
			.occurrence = i,
			.begin_s = i + 0.499,
			.end_s = i + 0.5 + jitter_s * ((i * 7 + r) % 5) / 5 };
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
	assert_true(fabs(ranks[1].offset_s + 0.25) < 5e-4);
	assert_true(ranks[1].residual_s > 0 && ranks[1].residual_s < 5e-4);
	assert_true(
		fabs(ranks[1].offset_s + 0.25) <= ranks[1].uncertainty_s && ranks[1].uncertainty_s < 4e-3);
	assert_int_equal(ranks[1].matched_count, COLLECTIVES);
	assert_int_equal(ranks[2].method, SB_ALIGN_SAME_HOST);
	assert_true(ranks[2].offset_s == 0);
	assert_true(sb_align_residual(ranks, 3) < 5e-4);
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
	assert_true(fabs(ranks[1].offset_s + 0.25) < 1e-3 && ranks[1].residual_s < 1e-6);
}

static void one_wild_collective_does_not_move_a_clock(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.25, 0) };

	collectives[1][7].end_s += 60;
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_true(fabs(ranks[1].offset_s + 0.25) < 1e-3);
}

/* Two groups, each on a host of its own, one behind by design: nothing says how far apart their
 * clocks are, whatever their collectives are called. */
static void groups_that_never_meet_align_nothing(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.05, 0) };

	for (int i = 0; i < COLLECTIVES; i++) {
		collectives[0][i].group = "nccl:0,1:tp";
		collectives[1][i].group = "nccl:2,3:tp";
	}
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_int_equal(ranks[1].method, SB_ALIGN_REAL_TIME);
	assert_true(ranks[1].offset_s == 0 && isnan(ranks[1].uncertainty_s));
}

/* A stage of a pipeline sends 300 ms after the other began to wait: that bounds one side only. */
static void a_pipelines_sends_set_no_clock(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0, 0) };

	for (int i = 0; i < COLLECTIVES; i++) {
		collectives[0][i] = (struct sb_fact_collective){ .name = "collective:send",
			.group = "p2p:0>1",
			.occurrence = i,
			.begin_s = i + 0.3,
			.end_s = i + 0.3001,
			.kind = SB_MEET_SEND };
		collectives[1][i] = collectives[0][i];
		collectives[1][i].kind = SB_MEET_RECV;
		collectives[1][i].begin_s = i;
	}
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_int_equal(ranks[1].method, SB_ALIGN_REAL_TIME);
}

static void the_first_rank_need_not_meet_everyone(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.25, 0),
		rank_of(2, "c", 0.5, 0) };

	for (int i = 0; i < COLLECTIVES; i++) {
		collectives[0][i].group = "gloo:0,1:a";
		collectives[1][i].group = i % 2 ? "gloo:0,1:a" : "gloo:1,2:b";
		collectives[2][i].group = "gloo:1,2:b";
	}
	assert_int_equal(sb_align(ranks, 3), 0);
	assert_int_equal(ranks[2].method, SB_ALIGN_COLLECTIVES);
	assert_true(fabs(ranks[2].offset_s + 0.5) <= ranks[2].uncertainty_s);
	assert_true(ranks[2].uncertainty_s > ranks[1].uncertainty_s);
}

static void a_clock_that_drifts_is_followed(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "a", 0, 0), rank_of(1, "b", 0.1, 0) };

	for (int i = 0; i < COLLECTIVES; i++) /* one every 6 minutes, 30 ppm fast */
		for (int r = 0; r < 2; r++) {
			double t = i * 360, fast = r ? 1 + 30e-6 : 1;

			collectives[r][i].begin_s = (t + 0.499) * fast;
			collectives[r][i].end_s = (t + 0.5) * fast;
		}
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_true(fabs(ranks[1].drift_ratio - 30e-6) < 1e-6);
	for (int i = 0; i < COLLECTIVES; i++)
		assert_true(fabs(sb_align_time(&ranks[0], &ranks[1], collectives[1][i].end_s) -
				    collectives[0][i].end_s) < 1.2e-3);
}

static void machines_of_one_name_have_their_own_clocks(void **state)
{
	struct sb_align_rank ranks[] = { rank_of(0, "localhost", 0, 0), rank_of(1, "localhost", 0.25, 0) };

	ranks[0].clock = "localhost boot-a";
	ranks[1].clock = "localhost boot-b";
	assert_int_equal(sb_align(ranks, 2), 0);
	assert_int_equal(ranks[1].method, SB_ALIGN_COLLECTIVES);
	assert_true(fabs(ranks[1].offset_s + 0.25) <= ranks[1].uncertainty_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_that_never_meet_align_nothing),
		cmocka_unit_test(a_pipelines_sends_set_no_clock),
		cmocka_unit_test(the_first_rank_need_not_meet_everyone),
		cmocka_unit_test(a_clock_that_drifts_is_followed),
		cmocka_unit_test(machines_of_one_name_have_their_own_clocks),
		cmocka_unit_test(collectives_correct_another_hosts_clock),
		cmocka_unit_test(without_collectives_the_error_is_not_known),
		cmocka_unit_test(a_collective_that_one_rank_missed_is_not_matched_with_the_next),
		cmocka_unit_test(one_wild_collective_does_not_move_a_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
