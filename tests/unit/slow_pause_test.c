/* Pauses between the steps of a generation: which are slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "slow_watch.h"

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

/* One in forty, but in every video: a preview at half time. */
static void a_pause_at_the_same_step_of_every_video_is_no_news(void **state)
{
	(void)state;
	for (int tracing = 0; tracing < 2; tracing++) {
		start(100);
		moment_count = 0;
		for (int i = 0; i < 6 * 40; i++) {
			if (i % 40 == 0)
				sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
			step(10, 1, tracing ? 5 : 0);
			if (i % 40 == 20 && tracing)
				kernel(200, 100);
			pass(i % 40 == 20 ? 100 : 0);
			if (i % 40 == 39)
				sb_watcher_end(STROBE_ROLE_GENERATION);
			sb_slow_look(tracing);
		}
		sb_slow_stop(tracing);
		assert_int_equal(moment_count, 2); /* those of the first two videos: two are no habit yet */
	}
	start(3);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_long_pause_between_steps_is_caught_with_its_step),
		TEST(with_kernels_such_a_pause_is_judged_when_they_have_come),
		TEST(what_is_launched_in_a_pause_is_judged_by_its_own_time),
		TEST(a_pause_that_comes_again_and_again_is_not_slow),
		TEST(a_stage_with_a_role_between_steps_is_no_pause),
		TEST(a_pause_that_waits_for_earlier_steps_is_not_slow),
		TEST(a_pause_at_the_same_step_of_every_video_is_no_news),
		TEST(the_longest_but_one_is_told_of_eight_or_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
