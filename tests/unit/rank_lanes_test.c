/* Lanes of ranks on one clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "close_within.h"
#include "compare/rank_lanes.h"

#define START_NS 1767225600000000000u

/* Ran for wall_s from late_s on; its clock is ahead by ahead_s. */
static struct sb_aggregate_rank rank_of(double late_s, double ahead_s, double wall_s)
{
	struct sb_aggregate_rank r = { .start_real_ns = START_NS + (uint64_t)((late_s + ahead_s) * 1e9),
		.align = { .offset_s = -ahead_s } };

	r.metrics[SB_METRIC_WALL] = wall_s;
	return r;
}

static void waiting_and_absence_fall_into_their_bins(void **state)
{
	struct sb_fact_collective collectives[] = {
		{ .name = "all_reduce", .occurrence = 0, .begin_s = 2, .end_s = 3 },
		{ .name = "all_reduce", .occurrence = 1, .begin_s = 4.5, .end_s = 4.75 }
	};
	struct sb_aggregate_rank ranks[] = { rank_of(0, 0, 10), rank_of(2, 100, 5) };
	struct sb_aggregate a = { .ranks = ranks, .rank_count = 2 };
	static const uint8_t expected[] = { SB_LANE_AWAY, SB_LANE_AWAY, 0, 0, 100, 0, 25, SB_LANE_AWAY,
		SB_LANE_AWAY, SB_LANE_AWAY };
	struct sb_rank_lanes lanes;

	ranks[1].collectives = collectives;
	ranks[1].collective_count = 2;
	assert_int_equal(sb_rank_lanes_of(&a, 10, &lanes), 0);
	assert_int_equal(lanes.bin_count, 10);
	close_within(lanes.bin_s, 1, 1e-9);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(lanes.wait_percent[i], 0);
		assert_int_equal(lanes.wait_percent[10 + i], expected[i]);
	}
	sb_rank_lanes_done(&lanes);
}

static void a_rank_that_began_before_the_first_widens_the_axis(void **state)
{
	struct sb_aggregate_rank ranks[] = { rank_of(5, 0, 5), rank_of(0, 0, 10) };
	struct sb_aggregate a = { .ranks = ranks, .rank_count = 2 };
	struct sb_rank_lanes lanes;

	assert_int_equal(sb_rank_lanes_of(&a, 2, &lanes), 0);
	close_within(lanes.bin_s, 5, 1e-9);
	assert_int_equal(lanes.wait_percent[0], SB_LANE_AWAY);
	assert_int_equal(lanes.wait_percent[1], 0);
	assert_int_equal(lanes.wait_percent[2], 0);
	sb_rank_lanes_done(&lanes);
}

static void what_is_past_the_known_collectives_is_not_called_work(void **state)
{
	struct sb_fact_collective collectives[] = {
		{ .name = "all_reduce", .occurrence = 0, .begin_s = 1, .end_s = 1.5 }
	};
	struct sb_aggregate_rank ranks[] = { rank_of(0, 0, 4), rank_of(0, 0, 4) };
	struct sb_aggregate a = { .ranks = ranks, .rank_count = 2 };
	struct sb_rank_lanes lanes;

	ranks[0].collectives = ranks[1].collectives = collectives;
	ranks[0].collective_count = ranks[1].collective_count = 1;
	ranks[0].collective_total = 3; /* two more were not kept */
	ranks[1].collective_total = 1;
	ranks[1].damage = "1 place lost";
	assert_int_equal(sb_rank_lanes_of(&a, 4, &lanes), 0);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(lanes.wait_percent[4 * r + 1], 50);
		assert_int_equal(lanes.wait_percent[4 * r + 2], SB_LANE_UNKNOWN);
		assert_int_equal(lanes.wait_percent[4 * r + 3], SB_LANE_UNKNOWN);
	}
	sb_rank_lanes_done(&lanes);
}

static void runs_of_different_days_have_no_lanes(void **state)
{
	struct sb_aggregate_rank ranks[] = { rank_of(0, 0, 10), rank_of(86400, 0, 10) };
	struct sb_aggregate a = { .ranks = ranks, .rank_count = 2 };
	struct sb_rank_lanes lanes;

	assert_int_equal(sb_rank_lanes_of(&a, 10, &lanes), 0);
	assert_int_equal(lanes.bin_count, 0);
	assert_null(lanes.wait_percent);
}

static void a_report_without_a_start_has_no_lanes(void **state)
{
	struct sb_aggregate_rank ranks[] = { rank_of(0, 0, 10), rank_of(0, 0, 10) };
	struct sb_aggregate a = { .ranks = ranks, .rank_count = 2 };
	struct sb_rank_lanes lanes;

	ranks[1].start_real_ns = 0;
	assert_int_equal(sb_rank_lanes_of(&a, 10, &lanes), 0);
	assert_int_equal(lanes.bin_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_and_absence_fall_into_their_bins),
		cmocka_unit_test(a_rank_that_began_before_the_first_widens_the_axis),
		cmocka_unit_test(what_is_past_the_known_collectives_is_not_called_work),
		cmocka_unit_test(runs_of_different_days_have_no_lanes),
		cmocka_unit_test(a_report_without_a_start_has_no_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
