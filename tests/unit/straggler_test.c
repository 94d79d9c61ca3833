/* Which ranks the others wait for, and how that is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/aggregate.h"
#include "report/ranks/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, COLLECTIVES = 10 };

static struct sb_fact_collective collectives[COLLECTIVES];
static struct sb_aggregate_rank ranks[RANKS];
static double import_s[RANKS];
static struct sb_aggregate_stage import;

/* Ten seconds of import, three outside every stage, and little work: as a short program under load. */
static struct sb_aggregate job_of(double work0_s, double work1_s)
{
	const double work_s[RANKS] = { work0_s, work1_s };

	for (int i = 0; i < COLLECTIVES; i++)
		collectives[i] = (struct sb_fact_collective){ .begin_s = 13 + i * 0.05,
			.end_s = 13.02 + i * 0.05 };
	for (int r = 0; r < RANKS; r++) {
		ranks[r] = (struct sb_aggregate_rank){
			.rank = r, .host = "", .collectives = collectives, .collective_count = COLLECTIVES
		};
		for (int m = 0; m < SB_METRIC_COUNT; m++)
			ranks[r].metrics[m] = NAN;
		import_s[r] = 10;
		ranks[r].metrics[SB_METRIC_COLLECTIVE] = 0.2;
		ranks[r].metrics[SB_METRIC_UNATTRIBUTED] = 3;
		ranks[r].metrics[SB_METRIC_WALL] = 13.2 + work_s[r];
	}
	import = (struct sb_aggregate_stage){ .name = "import torch",
		.role = STROBE_ROLE_IMPORT,
		.selves = import_s,
		.totals = import_s,
		.rank_room = RANKS };
	return (struct sb_aggregate){
		.ranks = ranks, .rank_count = RANKS, .world_size = RANKS, .stages = &import, .stage_count = 1
	};
}

static void work_is_what_stages_took_however_long_the_imports(void **state)
{
	struct sb_aggregate job = job_of(0.11, 0.12);

	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_true(fabs(ranks[0].work_s - 0.11) < 1e-9 && fabs(ranks[1].work_s - 0.12) < 1e-9);
}

static void time_outside_every_stage_is_work_where_nothing_else_is_known(void **state)
{
	struct sb_aggregate job = job_of(0, 0);

	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_true(fabs(ranks[0].work_s - 3) < 1e-9);
}

/* One rank has a stage that takes a moment, the other has none. */
static void all_ranks_are_compared_by_one_measure(void **state)
{
	struct sb_aggregate job = job_of(0, 0.12);

	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_true(fabs(ranks[0].work_s - 3) < 1e-9 && fabs(ranks[1].work_s - 3.12) < 1e-9);
}

static void a_rank_that_only_comes_late_is_not_said_to_work_more(void **state)
{
	struct sb_aggregate job = job_of(0.20, 0.10);
	struct sb_buf out = { 0 };

	ranks[1].clear_count = ranks[1].last_count = COLLECTIVES;
	ranks[1].caused_wait_s = 0.3;
	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_true(ranks[1].straggler && ranks[1].behind_s < 0);
	assert_int_equal(sb_aggregate_draw(&job), 0);
	sb_ranks_screen(&job, "runs/job", &out);
	assert_non_null(strstr(sb_buf_text(&out),
		"The others wait for rank 1: last at 10 collectives, with no more work than the median\n"));
	sb_aggregate_drawings_done(&job);
	sb_buf_done(&out);
}

static void a_rank_that_works_more_is_said_to(void **state)
{
	struct sb_aggregate job = job_of(0.10, 0.20);
	struct sb_buf out = { 0 };

	ranks[1].clear_count = ranks[1].last_count = COLLECTIVES;
	ranks[1].caused_wait_s = 0.3;
	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_int_equal(sb_aggregate_draw(&job), 0);
	sb_ranks_screen(&job, "runs/job", &out);
	assert_non_null(
		strstr(sb_buf_text(&out), "The others wait for rank 1: 0.05 s more work than the median\n"));
	sb_aggregate_drawings_done(&job);
	sb_buf_done(&out);
}

static void the_rank_furthest_behind_is_named_first(void **state)
{
	struct sb_aggregate job = job_of(0.10, 0.20);

	ranks[0].straggler = ranks[1].straggler = true;
	ranks[0].behind_s = 0.004; /* less than is shown */
	ranks[1].behind_s = 2;
	job.metrics[SB_METRIC_RSS_PEAK].count = RANKS;
	assert_int_equal(sb_aggregate_draw(&job), 0);
	assert_int_equal(job.straggler_count, 2);
	assert_int_equal(job.stragglers[0], 1);
	assert_int_equal(job.stragglers[1], 0);
	assert_true(ranks[1].works_more && !ranks[0].works_more);
	assert_string_equal(job.memory_metric, "rss_peak_bytes"); /* no GPU was sampled */
	sb_aggregate_drawings_done(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_what_stages_took_however_long_the_imports),
		cmocka_unit_test(time_outside_every_stage_is_work_where_nothing_else_is_known),
		cmocka_unit_test(all_ranks_are_compared_by_one_measure),
		cmocka_unit_test(a_rank_that_only_comes_late_is_not_said_to_work_more),
		cmocka_unit_test(a_rank_that_works_more_is_said_to),
		cmocka_unit_test(the_rank_furthest_behind_is_named_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
