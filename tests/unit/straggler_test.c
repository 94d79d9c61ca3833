/* Which ranks the others wait for, and how that is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/aggregate.h"
#include "report/ranks/ranks.h"
#include "report/ranks/screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, STEPS = 16, CALLS_MAX = 256 };

/* ---- a job whose ranks meet at every step ---- */

struct plan {
	double start_s[RANKS]; /* until a rank comes to the first collective */
	double extra_s[RANKS][STEPS]; /* beside the work that all have */
	double apart_s; /* of what rank 0 does in its first step, strobe's own work */
	int small; /* collectives after each step where rank 1 is last by a hair */
	bool chained; /* rank 2 waits in recv for rank 0 in every step, then ranks 2 and 3 meet */
	bool sums_only; /* nothing but the metrics is known */
	int64_t world; /* more ranks than these */
	int ranks; /* 0: RANKS */
};

static struct sb_fact_collective calls[RANKS][CALLS_MAX];
static size_t call_count[RANKS];
static double now_s[RANKS], import_self_s[RANKS], flops_self_s[RANKS];

static void add_call(
	int rank, const char *name, const char *group, int64_t number, double begin_s, double end_s)
{
	assert_true(call_count[rank] < CALLS_MAX);
	calls[rank][call_count[rank]++] = (struct sb_fact_collective){ .name = name,
		.group = group,
		.occurrence = number,
		.begin_s = begin_s,
		.end_s = end_s,
		.kind = sb_meet_kind_of(name) };
}

/* Ranks from..to meet: all leave 1 ms after the last has come. */
static void meet(int from, int to, const char *group, int64_t number)
{
	double last_s = 0;

	for (int r = from; r <= to; r++)
		last_s = fmax(last_s, now_s[r]);
	for (int r = from; r <= to; r++) {
		add_call(r, "collective:all_reduce", group, number, now_s[r], last_s + 0.001);
		now_s[r] = last_s + 0.001;
	}
}

static void step(const struct plan *p, int ranks, int number)
{
	if (p->chained && number) { /* what rank 0 sent at the end of the step before */
		add_call(2, "collective:recv", "p2p:gloo:0-3:0:0>2:0", number - 1, now_s[2],
			fmax(now_s[2], now_s[0]));
		add_call(0, "collective:send", "p2p:gloo:0-3:0:0>2:0", number - 1, now_s[0], now_s[0]);
		now_s[2] = fmax(now_s[2], now_s[0]);
	}
	for (int r = 0; r < ranks; r++)
		now_s[r] += 0.02 + p->extra_s[r][number];
	if (p->chained) {
		meet(0, 1, "gloo:0-1:1", number);
		meet(2, 3, "gloo:2-3:2", number);
		return;
	}
	meet(0, ranks - 1, "gloo:0-3:0", 1 + number * (1 + p->small));
	for (int i = 0; i < p->small; i++) {
		for (int r = 0; r < ranks; r++)
			now_s[r] += r == 1 ? 2e-5 : 1e-5;
		meet(0, ranks - 1, "gloo:0-3:0", 2 + number * (1 + p->small) + i);
	}
}

static int add_rank(struct sb_aggregate *a, const struct plan *p, int rank)
{
	struct sb_fact_stage stages[] = {
		{ .name = "import torch",
			.key = "import torch",
			.parent = -1,
			.role = STROBE_ROLE_IMPORT,
			.count = 1,
			.total_s = import_self_s[rank],
			.self_s = import_self_s[rank] },
		{ .name = "strobe: counting FLOPs",
			.key = "strobe: counting FLOPs",
			.parent = -1,
			.role = STROBE_ROLE_PROFILER,
			.count = 1,
			.total_s = flops_self_s[rank],
			.self_s = flops_self_s[rank] },
	};
	char label[32];
	struct sb_facts f = { .label = label,
		.host = "h",
		.id = "",
		.job = "",
		.name = "",
		.clock = "h",
		.rank = rank,
		.world_size = p->world   ? p->world
			      : p->ranks ? p->ranks
					 : RANKS,
		.start_real_ns = 1,
		.complete = true,
		.stages = stages,
		.stage_count = 2,
		.collectives = p->sums_only ? NULL : calls[rank],
		.collective_count = p->sums_only ? 0 : call_count[rank],
		.collective_total = p->sums_only ? 0 : (int64_t)call_count[rank] };

	snprintf(label, sizeof label, "rank_%d", rank);
	for (int m = 0; m < SB_METRIC_COUNT; m++)
		f.metrics[m] = NAN;
	f.metrics[SB_METRIC_WALL] = now_s[rank];
	f.metrics[SB_METRIC_COLLECTIVE] = 0;
	for (size_t i = 0; i < call_count[rank]; i++)
		f.metrics[SB_METRIC_COLLECTIVE] += calls[rank][i].end_s - calls[rank][i].begin_s;
	return sb_aggregate_add(a, &f);
}

static struct sb_aggregate *job_of(const struct plan *p)
{
	struct sb_aggregate *a = sb_aggregate_new();
	int ranks = p->ranks ? p->ranks : RANKS;

	assert_non_null(a);
	for (int r = 0; r < ranks; r++) {
		call_count[r] = 0;
		now_s[r] = p->start_s[r];
		import_self_s[r] = p->start_s[r] * 0.9;
		flops_self_s[r] = r ? 0 : p->apart_s;
	}
	if (!p->chained)
		meet(0, ranks - 1, "gloo:0-3:0", 0);
	for (int i = 0; i < STEPS; i++)
		step(p, ranks, i);
	for (size_t i = 0; i < call_count[0] && p->apart_s > 0; i++)
		if (calls[0][i].occurrence == 1)
			calls[0][i].apart_s = p->apart_s;
	for (int r = 0; r < ranks; r++)
		assert_int_equal(add_rank(a, p, r), 0);
	assert_int_equal(sb_aggregate_finish(a), 0);
	return a;
}

static void slow(struct plan *p, int rank, double extra_s)
{
	for (int i = 0; i < STEPS; i++)
		p->extra_s[rank][i] = extra_s;
}

static void assert_only(const struct sb_aggregate *a, int64_t rank)
{
	for (size_t i = 0; i < a->rank_count; i++)
		assert_int_equal(a->ranks[i].straggler, a->ranks[i].rank == rank);
}

static void a_slow_rank_is_named_with_its_seconds_however_ranks_started(void **state)
{
	struct plan p = { .start_s = { 9, 14, 10, 11 } };
	struct sb_aggregate *a;

	slow(&p, 2, 0.08);
	a = job_of(&p);
	assert_only(a, 2);
	assert_true(fabs(a->ranks[2].behind_s - STEPS * 0.08) < 1e-6);
	assert_true(fabs(a->ranks[2].caused_wait_s - 3 * STEPS * 0.08) < 1e-6);
	assert_true(fabs(a->startup_wait_s - (5 + 4 + 3)) < 1e-6);
	assert_int_equal(a->work_measure, SB_WORK_BETWEEN_COLLECTIVES);
	sb_aggregate_free(a);
}

static void many_small_collectives_do_not_outvote_a_long_wait(void **state)
{
	struct plan p = { .start_s = { 9, 9, 9, 9 }, .small = 12 };
	struct sb_aggregate *a;

	slow(&p, 2, 0.08);
	a = job_of(&p);
	assert_true(a->ranks[1].last_count > a->ranks[2].last_count);
	assert_only(a, 2);
	sb_aggregate_free(a);
}

static void a_rank_that_only_started_late_is_not_named(void **state)
{
	struct plan p = { .start_s = { 9, 9, 20, 9 } };
	struct sb_aggregate *a = job_of(&p);

	assert_only(a, -1);
	assert_string_equal(a->straggler_rule, "none: rank 0 works most, 0 s (0.0 %) more than the median "
					       "rank; a straggler works over 5 % "
					       "more");
	assert_true(a->ranks[2].work_s < 1);
	sb_aggregate_free(a);
}

static void strobes_own_work_is_never_a_cause(void **state)
{
	struct plan p = { .start_s = { 9, 9, 9, 9 }, .apart_s = 0.5 };
	struct sb_aggregate *a;

	p.extra_s[0][0] = 0.5;
	a = job_of(&p);
	assert_only(a, -1);
	assert_true(fabs(a->ranks[0].behind_s) < 1e-6);
	sb_aggregate_free(a);
}

static void one_long_wait_is_named_and_a_short_one_is_chance(void **state)
{
	struct plan p = { .start_s = { 9, 9, 9, 9 } };
	struct sb_aggregate *a;

	p.extra_s[1][STEPS - 1] = 0.5; /* one rank has most of the frames to decode */
	a = job_of(&p);
	assert_only(a, 1);
	sb_aggregate_free(a);
	p.extra_s[1][STEPS - 1] = 0.05; /* a rank that was held up once */
	a = job_of(&p);
	assert_only(a, -1);
	assert_string_equal(a->straggler_rule, "none: rank 1 works most, 50.0 ms (15.6 %) more than the "
					       "median rank, but in 1 of 16 parts of "
					       "the run; a straggler does in 12");
	sb_aggregate_free(a);
}

static void ranks_that_differ_as_much_are_no_stragglers(void **state)
{
	struct plan p = { .start_s = { 9, 9, 9, 9 } };
	struct sb_aggregate *a;

	slow(&p, 1, 0.001);
	slow(&p, 2, 0.002);
	slow(&p, 3, 0.003);
	a = job_of(&p);
	assert_only(a, -1);
	assert_string_equal(a->straggler_rule,
		"none: rank 3 works most, 24.0 ms (7.0 %) more than the median "
		"rank; ranks differ by as much: 5 "
		"robust deviations are 0.12 s");
	sb_aggregate_free(a);
}

static void who_waits_in_recv_is_not_late_but_the_one_it_waits_for(void **state)
{
	struct plan p = { .start_s = { 9, 9, 9, 9 }, .chained = true };
	struct sb_aggregate *a;

	slow(&p, 1, 0.02);
	a = job_of(&p);
	assert_true(a->ranks[2].last_count > STEPS / 2);
	assert_only(a, 1);
	sb_aggregate_free(a);
}

static void half_of_the_world_names_nobody(void **state)
{
	struct plan p = { .start_s = { 9, 9, 9, 9 }, .world = 8 };
	struct sb_aggregate *a;
	struct sb_buf out = { 0 };

	slow(&p, 2, 0.08);
	a = job_of(&p);
	assert_only(a, -1);
	assert_string_equal(a->straggler_rule,
		"not judged: 4 of 8 ranks are here, and those that are waited for may be elsewhere");
	sb_ranks_screen(a, "runs/job", &out);
	assert_non_null(strstr(sb_buf_text(&out), "4 of 8 ranks on 1 host"));
	assert_non_null(strstr(sb_buf_text(&out), "not judged: 4 of 8 ranks are here"));
	sb_buf_done(&out);
	sb_aggregate_free(a);
}

static void two_ranks_can_tell_where_they_meet_often(void **state)
{
	struct plan p = { .start_s = { 9, 12 }, .ranks = 2 };
	struct sb_aggregate *a;

	slow(&p, 0, 0.08);
	a = job_of(&p);
	assert_only(a, 0);
	sb_aggregate_free(a);
}

/* ---- ranks of which only sums are known ---- */

static void without_collectives_imports_and_strobes_own_work_are_left_out(void **state)
{
	struct plan p = { .start_s = { 9, 14, 10, 11 }, .sums_only = true };
	struct sb_aggregate *a = job_of(&p);

	assert_int_equal(a->work_measure, SB_WORK_IN_STAGES);
	for (int r = 0; r < RANKS; r++)
		assert_true(fabs(a->ranks[r].work_s - (p.start_s[r] * 0.1 + STEPS * 0.02)) < 1e-6);
	sb_aggregate_free(a);
}

static struct sb_aggregate_rank few[2];

static struct sb_aggregate few_of(double work0_s, double work1_s)
{
	const double work_s[2] = { work0_s, work1_s };

	for (int r = 0; r < 2; r++) {
		few[r] = (struct sb_aggregate_rank){ .rank = r, .host = "" };
		for (int m = 0; m < SB_METRIC_COUNT; m++)
			few[r].metrics[m] = NAN;
		few[r].metrics[SB_METRIC_UNATTRIBUTED] = 3;
		few[r].metrics[SB_METRIC_WALL] = 3 + work_s[r];
	}
	return (struct sb_aggregate){ .ranks = few, .rank_count = 2, .world_size = 2 };
}

/* One rank has a stage that takes a moment, the other has none. */
static void all_ranks_are_compared_by_one_measure(void **state)
{
	struct sb_aggregate job = few_of(0, 0.12);

	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_int_equal(job.work_measure, SB_WORK_IN_RUN);
	assert_true(fabs(few[0].work_s - 3) < 1e-9 && fabs(few[1].work_s - 3.12) < 1e-9);
	free(job.straggler_rule);
	job = few_of(0.11, 0.12);
	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_true(fabs(few[0].work_s - 0.11) < 1e-9 && fabs(few[1].work_s - 0.12) < 1e-9);
	free(job.straggler_rule);
}

static void a_rank_with_twice_a_very_short_work_is_too_short_to_judge(void **state)
{
	struct sb_aggregate_rank three[3];
	struct sb_aggregate job;

	few_of(0.001, 0.001);
	memcpy(three, few, sizeof few);
	three[2] = few[0];
	three[2].rank = 2;
	for (int r = 0; r < 3; r++) {
		three[r].metrics[SB_METRIC_UNATTRIBUTED] = 0;
		three[r].metrics[SB_METRIC_WALL] = r == 2 ? 0.002 : 0.001;
	}
	job = (struct sb_aggregate){ .ranks = three, .rank_count = 3, .world_size = 3 };
	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_string_equal(job.straggler_rule,
		"none: rank 2 works most, 1.00 ms (100.0 %) more than the median "
		"rank; that is too short to judge");
	free(job.straggler_rule);
}

static void work_is_never_negative(void **state)
{
	struct sb_aggregate job = few_of(1, 1);

	few[0].metrics[SB_METRIC_COLLECTIVE] = 1.002; /* waits that overlap count twice */
	few[1].metrics[SB_METRIC_COLLECTIVE] = 0.5;
	assert_int_equal(sb_aggregate_find_stragglers(&job), 0);
	assert_true(few[0].work_s >= 0);
	free(job.straggler_rule);
}

static void the_rank_furthest_behind_is_named_first(void **state)
{
	struct sb_aggregate job = few_of(0.10, 0.20);
	struct sb_buf out = { 0 };

	few[0].straggler = few[1].straggler = true;
	few[0].behind_s = 0.5;
	few[1].behind_s = 2;
	job.metrics[SB_METRIC_RSS_PEAK].count = 2;
	assert_int_equal(sb_aggregate_draw(&job), 0);
	assert_int_equal(job.straggler_count, 2);
	assert_int_equal(job.stragglers[0], 1);
	assert_int_equal(job.stragglers[1], 0);
	assert_string_equal(job.memory_metric, "rss_peak_bytes"); /* no GPU was sampled */
	sb_ranks_screen(&job, "runs/job", &out);
	assert_non_null(strstr(sb_buf_text(&out),
		"Slowest is rank 1: 2.00 s more work than the other rank\n")); /* no collectives */
	sb_buf_clear(&out);
	job.metrics[SB_METRIC_COLLECTIVE].count = 2;
	sb_ranks_screen(&job, "runs/job", &out);
	assert_non_null(strstr(
		sb_buf_text(&out), "The others wait for rank 1: 2.00 s more work than the other rank\n"));
	sb_aggregate_drawings_done(&job);
	sb_buf_done(&out);
}

static void a_late_group_is_named_on_the_first_screen(void **state)
{
	struct sb_aggregate job = few_of(0.10, 0.20);
	struct sb_late_group group = {
		.group = "nccl:2-3:tp", .late_count = 12, .shared_count = 13, .wait_s = 2.56
	};
	struct sb_buf out = { 0 };

	few[1].straggler = true;
	few[1].behind_s = 2;
	few[1].slow_stage = "attention";
	job.late_groups = &group;
	job.late_group_count = 1;
	assert_int_equal(sb_aggregate_draw(&job), 0);
	sb_ranks_screen(&job, "runs/job", &out);
	assert_non_null(strstr(sb_buf_text(&out), "2.00 s more work than the other rank, in attention\n"
						  "The others wait for group nccl:2-3:tp: last at 12 of 13 "
						  "collectives, 2.56 s over all ranks\n"));
	sb_aggregate_drawings_done(&job);
	sb_buf_done(&out);
}

/* A recording may come from anywhere: what it names is printed, never obeyed. */
static void no_name_of_a_job_speaks_to_the_terminal(void **state)
{
	const struct sb_aggregate_options options = { 0 };
	struct sb_late_group late = { .group = "nccl:\033[2J\n0-1:tp", .late_count = 12, .shared_count = 13 };
	struct sb_communication met = { .operation = "all\033[1m", .group = "gloo:\033]0;title\a" };
	struct sb_aggregate_problem problem = { .label = "rank\033[31m_9", .what = "no\a recording" };
	struct sb_aggregate_attempt attempts[2] = { { 1, "a\033[31m", "killed\033[31m", false, false },
		{ 2, "b", "complete", true, false } };
	struct sb_aggregate job = few_of(0.10, 0.20);
	struct sb_buf out = { 0 };

	few[1] = (struct sb_aggregate_rank){ .rank = 1,
		.host = "node\033[31m",
		.label = "rank\033[31m_1",
		.damage = "cut\033[31m",
		.slow_stage = "attention\033[31m",
		.straggler = true,
		.work_s = 3,
		.behind_s = 2 };
	few[0].label = "rank\033[31m_0"; /* which ended without a stop */
	job.job = "job\033[31m";
	job.late_groups = &late;
	job.communication = &met;
	job.problems = &problem;
	job.attempts = attempts;
	job.late_group_count = job.communication_count = job.problem_count = 1;
	job.attempt_count = 2;
	job.metrics[SB_METRIC_COLLECTIVE].count = 2;
	assert_int_equal(sb_aggregate_draw(&job), 0);
	sb_ranks_screen(&job, "runs/job", &out);
	assert_non_null(strstr(sb_buf_text(&out), "The others wait for group nccl:?[2J 0-1:tp: last at 12"));
	assert_non_null(strstr(sb_buf_text(&out), "attempt 1: killed?[31m\n"));
	sb_aggregate_text(&job, &options, &out);
	assert_non_null(strstr(sb_buf_text(&out), "\ngroup nccl:?[2J 0-1:tp comes late as a whole"));
	assert_non_null(strstr(sb_buf_text(&out), "Left out: rank?[31m_9: no? recording\n"));
	assert_null(strpbrk(sb_buf_text(&out), "\033\a"));
	sb_aggregate_drawings_done(&job);
	sb_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_name_of_a_job_speaks_to_the_terminal),
		cmocka_unit_test(a_late_group_is_named_on_the_first_screen),
		cmocka_unit_test(a_slow_rank_is_named_with_its_seconds_however_ranks_started),
		cmocka_unit_test(many_small_collectives_do_not_outvote_a_long_wait),
		cmocka_unit_test(a_rank_that_only_started_late_is_not_named),
		cmocka_unit_test(strobes_own_work_is_never_a_cause),
		cmocka_unit_test(one_long_wait_is_named_and_a_short_one_is_chance),
		cmocka_unit_test(ranks_that_differ_as_much_are_no_stragglers),
		cmocka_unit_test(who_waits_in_recv_is_not_late_but_the_one_it_waits_for),
		cmocka_unit_test(half_of_the_world_names_nobody),
		cmocka_unit_test(two_ranks_can_tell_where_they_meet_often),
		cmocka_unit_test(without_collectives_imports_and_strobes_own_work_are_left_out),
		cmocka_unit_test(all_ranks_are_compared_by_one_measure),
		cmocka_unit_test(a_rank_with_twice_a_very_short_work_is_too_short_to_judge),
		cmocka_unit_test(work_is_never_negative),
		cmocka_unit_test(the_rank_furthest_behind_is_named_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
