/* Slow moments of a program that launches ahead: its GPU is behind by some time, at most the length of the queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "slow_watch.h"

#define LAUNCHES 4096

static struct sb_held launched[LAUNCHES]; /* since the test began */
static uint32_t launch_count, come_count;
static uint64_t gpu_free; /* when the GPU has done all of it */

/* The program waits where the queue is full. */
static void launch(uint32_t name, uint64_t milliseconds, uint64_t queue_ms)
{
	struct sb_held *r = &launched[launch_count++];

	assert_true(launch_count < LAUNCHES);
	*r = (struct sb_held){ .when = clock_ticks,
		.aux = name | (uint64_t)SB_GPU_KERNEL << 20,
		.payload = { gpu_free > clock_ticks ? gpu_free : clock_ticks, ms(milliseconds) },
		.words = 4 };
	gpu_free = r->payload[0] + r->payload[1];
	if (gpu_free > clock_ticks + ms(queue_ms))
		clock_ticks = gpu_free - ms(queue_ms);
}

/* Records come when the work is done. */
static void look(void)
{
	for (; come_count < launch_count; come_count++) {
		const struct sb_held *r = &launched[come_count];

		if (r->payload[0] + r->payload[1] > clock_ticks)
			break;
		sb_held_put(r);
	}
	sb_slow_look(true);
}

/* 3 ms of the CPU and 10 ms of the GPU, in ten kernels. */
static void ahead(uint32_t name, uint64_t sleep_ms, uint64_t kernel_ms, uint64_t queue_ms)
{
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	pass(1);
	for (int i = 0; i < 10; i++)
		launch(name, kernel_ms, queue_ms);
	pass(2 + sleep_ms);
	sb_watcher_end(STROBE_ROLE_STEP);
	look();
}

static void ahead_often(int count, uint64_t queue_ms)
{
	for (int i = 0; i < count; i++)
		ahead(1, 0, 1, queue_ms);
}

static int begin(void **state)
{
	launch_count = come_count = 0;
	gpu_free = 0;
	return setup(state);
}

/* Whether it is the one of this time. */
static void assert_moment(const char *what, uint64_t begin_ticks)
{
	char kind[16], by[8];
	uint64_t seen;

	assert_int_equal(moment_count, 1);
	assert_int_equal(sscanf(moments, "%15s %7s %" SCNu64, kind, by, &seen), 3);
	assert_string_equal(kind, what);
	assert_int_equal(seen, begin_ticks);
}

static void a_sleep_that_the_gpu_works_through_is_not_slow(void **state)
{
	(void)state;
	for (uint64_t queue_ms = 60; queue_ms <= 100; queue_ms += 40) {
		ahead_often(40, queue_ms);
		ahead(2, queue_ms - 5, 1, queue_ms);
		ahead_often(40, queue_ms);
	}
	sb_slow_stop(true);
	assert_int_equal(moment_count, 0);
}

/* The GPU works through the most of it, and then has nothing to do for as long as two steps take. */
static void a_sleep_that_outlasts_the_queue_is_slow(void **state)
{
	uint64_t begin_ticks;

	(void)state;
	ahead_often(40, 100);
	begin_ticks = clock_ticks;
	ahead(2, 120, 1, 100);
	ahead_often(40, 100);
	sb_slow_stop(true);
	assert_moment("step", begin_ticks);
	assert_memory_equal(moments, "step clock ", 11);
}

/* Two sleeps: the first takes the queue's work, in the second the GPU starves. */
static void the_step_in_which_the_gpu_starves_is_named(void **state)
{
	uint64_t begin_ticks;

	(void)state;
	ahead_often(40, 60);
	ahead(2, 45, 1, 60);
	begin_ticks = clock_ticks;
	ahead(3, 45, 1, 60);
	ahead_often(40, 60);
	sb_slow_stop(true);
	assert_moment("step", begin_ticks);
}

static void a_pause_that_outlasts_the_queue_is_slow(void **state)
{
	(void)state;
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
	ahead_often(40, 100);
	pass(120);
	ahead_often(40, 100);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "step pause ", 11);
}

static void a_pause_that_the_gpu_works_through_is_not_slow(void **state)
{
	(void)state;
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
	ahead_often(40, 100);
	pass(95);
	ahead_often(40, 100);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 0);
}

/* Each waits for its GPU; one waits for what another thread had launched, too. */
static void a_wait_for_as_much_again_is_not_slow(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		pass(1);
		if (i == 20)
			launch(9, 10, 1000);
		pass(1);
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
		pass(1);
		launch(i, 8, 1000);
		clock_ticks = gpu_free;
		pass(1);
		sb_watcher_end(STROBE_ROLE_STEP);
		look();
	}
	sb_slow_stop(true);
	assert_int_equal(moment_count, 0);
}

static void one_that_is_slow_on_a_gpu_seconds_behind_is_caught(void **state)
{
	uint64_t begin_ticks;

	(void)state;
	for (int i = 0; i < 30; i++)
		ahead(1, 0, 50, 8000);
	begin_ticks = clock_ticks;
	ahead(2, 0, 150, 8000);
	for (int i = 0; i < 30; i++)
		ahead(1, 0, 50, 8000);
	sb_slow_stop(true);
	assert_moment("step", begin_ticks);
	assert_memory_equal(moments, "step gpu ", 9);
}

static void what_was_asked_for_is_kept_when_the_gpu_comes_to_it(void **state)
{
	uint32_t kept = 0;

	(void)state;
	for (int i = 0; i < 12; i++)
		ahead(1, 0, 50, 8000);
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	launch(77, 50, 8000);
	sb_watch_ask("a customer called");
	look();
	sb_watcher_end(STROBE_ROLE_STEP);
	for (int i = 0; i < 30; i++)
		ahead(1, 0, 50, 8000);
	sb_slow_stop(true);
	for (uint32_t i = 0; i < written_count; i++)
		kept += written_name(&written[i]) == 77;
	assert_int_equal(kept, 1);
}

/* The first videos fill the queue, the others wait for the GPU as long as it takes for each. */
static void a_generation_that_waits_for_earlier_ones_is_not_slow(void **state)
{
	(void)state;
	for (int video = 0; video < 12; video++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
		ahead_often(5, 300);
		sb_watcher_end(STROBE_ROLE_GENERATION);
	}
	sb_slow_stop(true);
	assert_int_equal(moment_count, 0);
}

static void such_a_generation_in_which_the_gpu_starves_is_slow(void **state)
{
	(void)state;
	for (int video = 0; video < 12; video++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
		ahead(1, video == 9 ? 150 : 0, 1, 100); /* the first step is not judged */
		ahead_often(4, 100);
		sb_watcher_end(STROBE_ROLE_GENERATION);
	}
	sb_slow_stop(true);
	assert_int_equal(moment_count, 1);
	assert_memory_equal(moments, "generation clock ", 17);
}

#define BEHIND(f) cmocka_unit_test_setup_teardown(f, begin, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BEHIND(a_sleep_that_the_gpu_works_through_is_not_slow),
		BEHIND(a_sleep_that_outlasts_the_queue_is_slow),
		BEHIND(the_step_in_which_the_gpu_starves_is_named),
		BEHIND(a_pause_that_outlasts_the_queue_is_slow),
		BEHIND(a_pause_that_the_gpu_works_through_is_not_slow),
		BEHIND(a_wait_for_as_much_again_is_not_slow),
		BEHIND(one_that_is_slow_on_a_gpu_seconds_behind_is_caught),
		BEHIND(what_was_asked_for_is_kept_when_the_gpu_comes_to_it),
		BEHIND(a_generation_that_waits_for_earlier_ones_is_not_slow),
		BEHIND(such_a_generation_in_which_the_gpu_starves_is_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
