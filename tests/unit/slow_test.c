/* Slow moments: which are caught, and what is kept of them, on a clock that the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fake/written.h"
#include "format/run_keys.h"
#include "gpu/held.h"
#include "gpu/peers.h"
#include "gpu/setup.h"
#include "gpu/slow.h"
#include "gpu/watch.h"
#include "record/clock.h"
#include "record/watcher.h"

static uint64_t clock_ticks = 1000000;
static char moments[2048]; /* each and a ';' */
static int moment_count, span_count, setup_count;
static int64_t span_begin, span_end; /* of the last one */

static uint64_t clock_now(void)
{
	return clock_ticks;
}

static uint64_t ms(uint64_t count)
{
	return count * sb_clock_hz() / 1000;
}

static void pass(uint64_t milliseconds)
{
	clock_ticks += ms(milliseconds);
}

void __wrap_sb_keep_meta_string(enum sb_meta_scope scope, const char *key, const char *value)
{
	size_t n = strlen(moments);

	assert_int_equal(scope, SB_META_RUN);
	setup_count += !strcmp(key, SB_RUN_GPU_SETUP);
	if (strcmp(key, SB_RUN_SLOW_MOMENT))
		return;
	snprintf(moments + n, sizeof moments - n, "%s;", value);
	moment_count++;
}

void __wrap_sb_keep_meta_int(enum sb_meta_scope scope, const char *key, int64_t value)
{
	(void)scope;
	span_count += !strcmp(key, SB_RUN_GPU_TRACE_KEPT);
	if (!strcmp(key, SB_RUN_GPU_TRACE_BEGIN))
		span_begin = value;
	else if (!strcmp(key, SB_RUN_GPU_TRACE_END))
		span_end = value;
}

static void start(uint32_t most)
{
	struct sb_trace_spec spec = { .bound = SB_TRACE_SLOW, .slow_ratio = 1.5, .moments = most };

	assert_true(sb_slow_start(&spec));
}

static int setup(void **state)
{
	(void)state;
	sb_clock_init();
	sb_clock_kind = SB_CLOCK_MONOTONIC;
	sb_clock_source = clock_now;
	clock_ticks += 10 * sb_clock_hz();
	moments[0] = 0;
	moment_count = span_count = setup_count = 0;
	written_reset();
	start(3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sb_slow_stop(true);
	return 0;
}

static void kernel(uint32_t name, uint64_t milliseconds)
{
	struct sb_held r = { .when = clock_ticks,
		.aux = name | (uint64_t)SB_GPU_KERNEL << 20,
		.payload = { clock_ticks, ms(milliseconds) },
		.words = 4 };

	sb_held_put(&r);
}

static void step(uint64_t milliseconds, uint32_t name, uint64_t gpu_milliseconds)
{
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	pass(1);
	if (gpu_milliseconds)
		kernel(name, gpu_milliseconds);
	pass(milliseconds - 1);
	sb_watcher_end(STROBE_ROLE_STEP);
	pass(1);
}

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
	assert_int_equal(sb_slow_kernels(), 2);
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
		assert_int_equal(sb_slow_enough(), i >= 2);
		steps(10, 10);
		step(30, 200, 6);
		steps(1, 10);
	}
	assert_int_equal(moment_count, 2);
	assert_int_equal(written_count, 4);
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
	assert_int_equal(lost[SB_LOST_CUPTI], 51); /* with the one of the step before */
	assert_non_null(strstr(missing, "51 records had made room"));
}

/* One that still runs when the step is judged, and one that has ended by then. */
static void a_step_that_met_a_set_up_is_not_slow(void **state)
{
	uint32_t setup;

	(void)state;
	steps(10, 10);
	setup = sb_setup_begin();
	steps(1, 40);
	sb_setup_end(setup, false);
	steps(2, 10); /* the first of them met its end */
	setup = sb_setup_begin();
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
	(void)state;
	steps(3, 10);
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	kernel(77, 1);
	pass(2);
	sb_watch_ask("out of memory");
	sb_slow_look(true);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "out_of_memory - ", 16);
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

/* Videos of 16 steps; after(i) does what a callback does after the i-th step of all. */
static void videos(int count, void (*after)(int), bool tracing)
{
	for (int i = 0; i < count * 16; i++) {
		if (i % 16 == 0)
			sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
		step(10, 1, tracing ? 5 : 0);
		after(i);
		if (i % 16 == 15)
			sb_watcher_end(STROBE_ROLE_GENERATION);
		sb_slow_look(tracing);
	}
}

static void waits_twice(int i)
{
	if (i == 28 || i == 52)
		pass(100);
}

static void launches_once(int i)
{
	if (i != 28)
		return;
	kernel(200, 100);
	pass(1);
}

static void waits_after_every_fourth(int i)
{
	if (i % 4 == 3)
		pass(50);
}

static void decodes_once(int i)
{
	if (i != 28)
		return;
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_VAE_DECODE);
	pass(100);
	sb_watcher_end(STROBE_ROLE_VAE_DECODE);
}

/* For what steps launched that were judged long ago. */
static void waits_for_the_gpu_once(int i)
{
	struct sb_held r = { .aux = 200 | (uint64_t)SB_GPU_KERNEL << 20, .words = 4 };

	if (i != 28)
		return;
	for (uint32_t k = 0; k < 25; k++) {
		r.when = clock_ticks - ms(6) - ms(11) * (k + 3);
		r.payload[0] = clock_ticks + ms(4) * k;
		r.payload[1] = ms(4);
		sb_held_put(&r);
	}
	pass(100);
}

static void a_long_pause_between_steps_is_caught_with_its_step(void **state)
{
	(void)state;
	videos(4, waits_twice, false);
	assert_int_equal(moment_count, 2);
	assert_memory_equal(moments, "step pause ", 11);
}

static void with_kernels_such_a_pause_is_judged_when_they_have_come(void **state)
{
	(void)state;
	videos(4, waits_twice, true);
	assert_int_equal(moment_count, 2);
	assert_memory_equal(moments, "step pause ", 11);
}

static void what_is_launched_in_a_pause_is_judged_by_its_own_time(void **state)
{
	(void)state;
	videos(4, launches_once, true);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "step pause ", 11);
	assert_int_equal(written_name(&written[written_count - 1]), 200);
}

static void a_pause_that_comes_again_and_again_is_not_slow(void **state)
{
	(void)state;
	videos(4, waits_after_every_fourth, false);
	videos(4, waits_after_every_fourth, true);
	assert_int_equal(moment_count, 0);
}

static void a_stage_with_a_role_between_steps_is_no_pause(void **state)
{
	(void)state;
	videos(4, decodes_once, false);
	assert_int_equal(moment_count, 0);
}

static void a_pause_that_waits_for_earlier_steps_is_not_slow(void **state)
{
	(void)state;
	videos(4, waits_for_the_gpu_once, true);
	assert_int_equal(moment_count, 0);
}

static void the_longest_but_one_is_told_of_eight_or_more(void **state)
{
	static struct sb_peers p;

	(void)state;
	memset(&p, 0, sizeof p);
	for (uint64_t i = 1; i < SB_PEERS_RARE; i++)
		sb_peers_add(&p, 7, i);
	assert_true(sb_peers_second(&p, 7) == UINT64_MAX);
	sb_peers_add(&p, 7, 100);
	assert_int_equal(sb_peers_second(&p, 7), SB_PEERS_RARE - 1);
	sb_peers_add(&p, 7, 100);
	assert_int_equal(sb_peers_second(&p, 7), 100);
	assert_true(sb_peers_second(&p, 8) == UINT64_MAX);
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

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
		TEST(a_step_that_met_a_set_up_is_not_slow),
		TEST(steps_of_a_larger_video_are_not_slow),
		TEST(only_steps_of_one_kind_are_peers),
		TEST(the_first_step_of_a_generation_warms_up),
		TEST(a_slow_generation_is_caught_and_a_longer_video_is_not),
		TEST(without_kernels_the_moment_is_marked),
		TEST(what_runs_is_kept_when_memory_runs_out_or_when_asked),
		TEST(a_program_without_steps_can_ask),
		TEST(a_step_inside_a_step_is_part_of_it),
		TEST(a_long_pause_between_steps_is_caught_with_its_step),
		TEST(with_kernels_such_a_pause_is_judged_when_they_have_come),
		TEST(what_is_launched_in_a_pause_is_judged_by_its_own_time),
		TEST(a_pause_that_comes_again_and_again_is_not_slow),
		TEST(a_stage_with_a_role_between_steps_is_no_pause),
		TEST(a_pause_that_waits_for_earlier_steps_is_not_slow),
		TEST(the_longest_but_one_is_told_of_eight_or_more),
		TEST(medians_are_of_the_last_ones_of_each_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
