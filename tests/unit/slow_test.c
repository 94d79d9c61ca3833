/* Slow moments: which are caught, and what is kept of them, on a clock that the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "slow_watch.h"

static void steps(int count, uint64_t milliseconds)
{
	for (int i = 0; i < count; i++) {
		step(milliseconds, 100 + (uint32_t)i, 5);
		sb_slow_look(true);
	}
}

static void a_slow_step_is_kept_with_the_normal_one_before_it(void **state)
{
	uint64_t begin, normal;

	(void)state;
	steps(10, 10);
	normal = clock_ticks - ms(11);
	begin = clock_ticks;
	step(30, 200, 6);
	sb_slow_look(true);
	assert_int_equal(moment_count, 0); /* its records may still be on their way */
	steps(1, 10);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "step clock ", 11);
	assert_int_equal(written_count, 2);
	assert_int_equal(written_name(&written[0]), 109);
	assert_int_equal(written_name(&written[1]), 200);
	assert_int_equal(span_count, 1);
	assert_in_range(span_begin, normal, normal + 10); /* milliseconds are rounded to ticks */
	assert_in_range(span_end, begin + ms(30) - 10, begin + ms(30));
	assert_int_equal(sb_slow_record_kernels(), 2);
	steps(10, 10);
	assert_int_equal(moment_count, 1);
	assert_int_equal(written_count, 2);
}

static void a_healthy_run_writes_nothing(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200; i++) {
		step(10 + i % 5, 1, 5 + i % 2);
		sb_slow_look(true);
	}
	sb_slow_stop(true);
	assert_int_equal(moment_count + span_count, 0);
	assert_int_equal(written_count, 0);
}

/* The program did not wait for its GPU: by the clock all its steps are alike. */
static void a_step_slow_on_the_gpu_alone_is_caught(void **state)
{
	(void)state;
	steps(10, 10);
	step(10, 200, 40);
	sb_slow_look(true);
	assert_int_equal(moment_count, 0); /* its records may still be on their way */
	steps(2, 10);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "step gpu ", 9);
	assert_int_equal(written_count, 2);
	assert_int_equal(written_name(&written[1]), 200);
}

/* It launches ahead until the queue is full; then each step takes as long as the GPU needs for an earlier one. */
static void a_step_that_waits_for_earlier_work_is_not_slow(void **state)
{
	uint64_t gpu = 0;

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		struct sb_held r = {
			.when = clock_ticks + ms(1), .aux = 100 + i, .payload = { 0, ms(10) }, .words = 4
		};

		gpu = gpu > r.when ? gpu : r.when;
		r.payload[0] = gpu;
		gpu += ms(10);
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
		pass(i < 8 ? 3 : 10);
		sb_watcher_end(STROBE_ROLE_STEP);
		sb_held_put(&r);
		sb_slow_look(true);
	}
	sb_slow_stop(true);
	assert_int_equal(moment_count, 0);
}

static void a_stall_of_such_a_program_is_slow(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 12; i++) {
		struct sb_held r = { .aux = 100 + i, .words = 4 };

		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
		pass(1);
		r.when = clock_ticks;
		r.payload[0] = clock_ticks + ms(8); /* runs into the next step */
		r.payload[1] = ms(8);
		pass(i == 8 ? 79 : 9);
		sb_watcher_end(STROBE_ROLE_STEP);
		sb_held_put(&r);
		sb_slow_look(true);
	}
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "step clock ", 11);
}

static void a_step_without_gpu_work_is_judged_after_a_while(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		step(10, 1, 0);
	step(30, 1, 0);
	sb_slow_look(true);
	assert_int_equal(moment_count, 0);
	pass(3000);
	sb_slow_look(true);
	assert_int_equal(moment_count, 1);
}

static void the_last_step_is_judged_when_the_trace_ends(void **state)
{
	(void)state;
	steps(10, 10);
	step(10, 200, 40);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 1);
	assert_int_equal(written_count, 2);
}

static void records_that_come_late_are_kept_too(void **state)
{
	struct sb_held late = { .aux = 300 | (uint64_t)SB_GPU_KERNEL << 20, .words = 4 };

	(void)state;
	steps(10, 10);
	late.when = clock_ticks + ms(2);
	step(30, 200, 6);
	steps(1, 10);
	assert_int_equal(written_count, 2);
	sb_held_put(&late);
	sb_slow_look(true);
	sb_slow_look(true); /* and once only */
	assert_int_equal(written_count, 3);
	assert_int_equal(written_name(&written[2]), 300);
	pass(2000);
	sb_slow_look(true);
	sb_held_put(&late);
	sb_slow_look(true);
	assert_int_equal(written_count, 3);
}

static void no_more_are_kept_than_were_asked_for(void **state)
{
	(void)state;
	start(2);
	for (int i = 0; i < 4; i++) {
		steps(10, 10);
		step(30, 200, 6);
		steps(1, 10);
	}
	assert_int_equal(moment_count, 2);
	assert_int_equal(written_count, 4);
	assert_false(sb_slow_record_full()); /* a slower one would be kept */
	sb_slow_stop(true);
	assert_int_equal(unkept, 2);
}

static void what_had_to_make_room_is_counted(void **state)
{
	(void)state;
	steps(10, 10);
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	sb_slow_look(true);
	for (uint32_t i = 0; i < SB_HELD_RECORDS + 50; i++)
		kernel(7, 1);
	pass(30);
	sb_watcher_end(STROBE_ROLE_STEP);
	sb_slow_look(true);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 1);
	assert_int_equal(lost[SB_LOST_GPU_HELD], 51); /* with the one of the step before */
	assert_non_null(strstr(missing, "51 records had made room"));
}

/* A long generation is kept whole: what its first steps lost is counted, too, and what was lost before it is not. */
static void what_made_room_is_counted_of_all_steps(void **state)
{
	const uint32_t steps_in_one = 100, kernels = SB_HELD_RECORDS / 50;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t begin = clock_ticks;

		for (uint32_t k = 0; k < steps_in_one; k++) {
			sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
			sb_slow_look(true);
			for (uint32_t n = 0; n < kernels; n++)
				kernel(7, 0);
			pass(1);
			sb_watcher_end(STROBE_ROLE_STEP);
		}
		sb_slow_look(true);
		assert_int_equal(sb_held_overwritten(begin), steps_in_one * kernels - SB_HELD_RECORDS);
	}
}

/* One that still runs when the step is judged, and one that has ended by then. */
static void a_step_that_met_a_set_up_is_not_slow(void **state)
{
	struct sb_setup setup;

	(void)state;
	steps(10, 10);
	setup = sb_setup_begin("strobe: setting up");
	steps(1, 40);
	sb_setup_end(setup, false);
	steps(2, 10); /* the first of them met its end */
	setup = sb_setup_begin("strobe: setting up");
	pass(1);
	sb_setup_end(setup, false);
	assert_int_equal(setup_count, 2);
	steps(3, 10);
	assert_int_equal(moment_count, 0);
	steps(1, 40);
	steps(1, 10);
	assert_int_equal(moment_count, 1);
}

static void steps_of_a_larger_video_are_not_slow(void **state)
{
	(void)state;
	for (int video = 0; video < 6; video++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
		sb_watcher_fact(SB_NAME_FRAMES, video % 2 ? 81 : 9);
		for (int i = 0; i < 8; i++)
			step(video % 2 ? 50 : 10, 1, 0);
		sb_watcher_end(STROBE_ROLE_GENERATION);
		sb_slow_look(false);
	}
	assert_int_equal(moment_count, 0);
}

static void only_steps_of_one_kind_are_peers(void **state)
{
	(void)state;
	for (int i = 0; i < 12; i++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
		sb_watcher_fact(SB_NAME_BLOCK_SIZE, i % 3 ? 1 : 21); /* the large ones take long */
		if (i % 3 == 1)
			sb_watcher_fact(SB_NAME_CACHED, 1); /* and these hardly anything */
		pass(i % 3 == 0 ? 100 : i % 3 == 1 ? 2 : 10);
		sb_watcher_end(STROBE_ROLE_STEP);
	}
	sb_slow_look(false);
	assert_int_equal(moment_count, 0);
}

static void the_first_step_of_a_generation_warms_up(void **state)
{
	(void)state;
	for (int g = 0; g < 6; g++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
		step(50, 1, 0);
		for (int i = 0; i < 5; i++)
			step(10, 1, 0);
		sb_watcher_end(STROBE_ROLE_GENERATION);
		sb_slow_look(false);
	}
	assert_int_equal(moment_count, 0);
}

static void generation(uint64_t milliseconds, int64_t frames)
{
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
	sb_watcher_fact(SB_NAME_FRAMES, frames);
	pass(milliseconds);
	sb_watcher_end(STROBE_ROLE_GENERATION);
	sb_slow_look(false);
}

static void a_slow_generation_is_caught_and_a_longer_video_is_not(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		generation(100, 49);
	generation(400, 121);
	assert_int_equal(moment_count, 0);
	generation(400, 49);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "generation clock ", 17);
}

/* Too few came before the fourth one to judge it; it is no measure for the others all the same. */
static void a_slow_one_that_was_not_judged_is_no_normal_one(void **state)
{
	uint64_t normal_begin, normal_end;

	(void)state;
	for (int i = 0; i < 2; i++)
		generation(100, 49);
	generation(110, 49);
	generation(700, 49);
	generation(500, 49);
	assert_int_equal(moment_count, 1);
	assert_int_equal(
		sscanf(moments, "generation clock %*u %*u %" SCNu64 " %" SCNu64, &normal_begin, &normal_end),
		2);
	assert_in_range(normal_end - normal_begin, ms(110) - 10, ms(110) + 10);
}

static void without_kernels_the_moment_is_marked(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		step(10, 1, 0);
	step(30, 1, 0);
	sb_slow_look(false);
	assert_int_equal(moment_count, 1);
	assert_int_equal(span_count, 0);
	assert_int_equal(written_count, 0);
}

static void what_runs_is_kept_when_memory_runs_out_or_when_asked(void **state)
{
	uint64_t normal[2];

	(void)state;
	steps(3, 10);
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	kernel(77, 1);
	pass(2);
	sb_watch_ask("out of memory");
	sb_slow_look(true);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "out_of_memory - ", 16);
	assert_int_equal(sscanf(moments, "%*s %*s %*u %*u %" SCNu64 " %" SCNu64, &normal[0], &normal[1]), 2);
	assert_in_range(normal[1] - normal[0], ms(10) - 10, ms(10) + 10); /* beside the step before */
	assert_int_equal(written_count, 2); /* and the step before */
	assert_int_equal(written_name(&written[1]), 77);
	sb_watch_ask("a customer called");
	sb_slow_look(true);
	assert_non_null(strstr(moments, ";asked - "));
	assert_non_null(strstr(moments, " a customer called;"));
}

/* Everything that is held, where the program has no steps. */
static void a_program_without_steps_can_ask(void **state)
{
	(void)state;
	kernel(1, 1);
	pass(5);
	sb_watch_ask("now");
	sb_slow_look(true);
	assert_int_equal(written_count, 1);
	assert_in_range(span_end - span_begin, ms(5), ms(6)); /* since the watch began */
}

static void without_a_step_the_last_second_is_kept(void **state)
{
	(void)state;
	kernel(1, 1);
	pass(2000);
	kernel(2, 1);
	pass(5);
	sb_watch_ask("out of memory");
	sb_slow_look(true);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 2);
	assert_in_range(span_end - span_begin, ms(999), ms(1001));
}

static void a_step_inside_a_step_is_part_of_it(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
		step(i == 10 ? 12 : 2, 1, 0);
		pass(20);
		sb_watcher_end(STROBE_ROLE_STEP);
	}
	sb_slow_look(false);
	assert_int_equal(moment_count, 0);
}

/* Steps, those that were judged, the same of generations; four are needed to judge the fifth. */
static void a_watch_says_what_it_judged(void **state)
{
	(void)state;
	for (int g = 0; g < 6; g++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
		steps(3, 10);
		sb_watcher_end(STROBE_ROLE_GENERATION);
	}
	assert_true(watched == 1.5);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 0);
	assert_string_equal(judged, "18 8 6 2"); /* two of each generation are no warm-up */
	start(3);
}

static void medians_are_of_the_last_ones_of_each_kind(void **state)
{
	static struct sb_peers p;

	(void)state;
	memset(&p, 0, sizeof p);
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(sb_peers_add(&p, 7, i * 10), 0);
	assert_int_equal(sb_peers_add(&p, 7, 1000), 25);
	assert_int_equal(sb_peers_add(&p, 7, 1000), 30);
	for (uint64_t i = 0; i < SB_PEERS_LAST; i++)
		sb_peers_add(&p, 7, 500);
	assert_int_equal(sb_peers_add(&p, 7, 1), 500);
	for (uint64_t key = 100; key < 100 + SB_PEERS_KINDS; key++) /* pushes it out */
		assert_int_equal(sb_peers_add(&p, key, 1), 0);
	assert_int_equal(sb_peers_add(&p, 7, 1), 0);
	assert_true(sb_peers_slow(16000, 10000, 1.5, 1000000));
	assert_false(sb_peers_slow(15000, 10000, 1.5, 1000000));
	assert_false(sb_peers_slow(1600, 1000, 1.5, 1000000)); /* less than a millisecond more */
	assert_false(sb_peers_slow(16000, 0, 1.5, 1000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slow_step_is_kept_with_the_normal_one_before_it),
		TEST(a_healthy_run_writes_nothing),
		TEST(a_step_that_waits_for_earlier_work_is_not_slow),
		TEST(a_stall_of_such_a_program_is_slow),
		TEST(a_step_without_gpu_work_is_judged_after_a_while),
		TEST(a_step_slow_on_the_gpu_alone_is_caught),
		TEST(the_last_step_is_judged_when_the_trace_ends),
		TEST(records_that_come_late_are_kept_too),
		TEST(no_more_are_kept_than_were_asked_for),
		TEST(what_had_to_make_room_is_counted),
		TEST(what_made_room_is_counted_of_all_steps),
		TEST(a_step_that_met_a_set_up_is_not_slow),
		TEST(steps_of_a_larger_video_are_not_slow),
		TEST(only_steps_of_one_kind_are_peers),
		TEST(the_first_step_of_a_generation_warms_up),
		TEST(a_slow_generation_is_caught_and_a_longer_video_is_not),
		TEST(a_slow_one_that_was_not_judged_is_no_normal_one),
		TEST(without_kernels_the_moment_is_marked),
		TEST(what_runs_is_kept_when_memory_runs_out_or_when_asked),
		TEST(a_program_without_steps_can_ask),
		TEST(without_a_step_the_last_second_is_kept),
		TEST(a_step_inside_a_step_is_part_of_it),
		TEST(a_watch_says_what_it_judged),
		TEST(medians_are_of_the_last_ones_of_each_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
