/* Steps that are slow in a row are one moment, and of many moments the worst are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "slow_watch.h"

#define USUAL 10u

/* A video of n steps, each of so many milliseconds; 0: as usual. Their kernels are named 100 + index. */
static void video(const uint64_t *milliseconds, uint32_t n, bool tracing)
{
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
	for (uint32_t i = 0; i < n; i++) {
		step(milliseconds[i] ? milliseconds[i] : USUAL, 100 + i, tracing ? 5 : 0);
		sb_slow_look(tracing);
	}
	sb_watcher_end(STROBE_ROLE_GENERATION);
	sb_slow_look(tracing);
}

static const uint64_t healthy[10] = { 0 };

static bool was_written(uint32_t name)
{
	for (uint32_t i = 0; i < written_count; i++)
		if (written_name(&written[i]) == name)
			return true;
	return false;
}

static void settle(bool tracing)
{
	sb_slow_look(tracing);
	pass(3000);
	sb_slow_look(tracing);
}

/* As an H200 had it: three slow steps took all three places, and the slow one after them was not kept. */
static void steps_slow_in_a_row_are_one_moment(void **state)
{
	const uint64_t slow[10] = { [3] = 17, [4] = 21, [5] = 18, [6] = 300 };
	uint64_t begin;

	(void)state;
	video(healthy, 10, true);
	written_reset();
	begin = clock_ticks + 3 * ms(USUAL + 1);
	video(slow, 10, true);
	settle(true);
	assert_int_equal(moment_count, 1);
	assert_int_equal(row_count, 1);
	assert_string_equal(row.what, "step");
	assert_int_equal(row.count, 4);
	assert_in_range(row.moment, begin - 10, begin + 10);
	assert_in_range(row.end - row.begin, ms(300) - 10, ms(300) + 10);
	assert_int_equal(row.last_end, row.end);
	assert_in_range(row.over, ms(290) - 10, ms(290) + 10);
	assert_true(was_written(102) && was_written(103) && was_written(106));
	assert_false(was_written(104) || was_written(105) || was_written(107));
	sb_slow_stop(true);
	assert_int_equal(moment_count + row_count, 2);
	assert_int_equal(unkept, 0);
}

static void the_slowest_of_a_row_is_told_also_where_it_is_the_first(void **state)
{
	const uint64_t slow[10] = { [3] = 40, [4] = 20, [5] = 20 };

	(void)state;
	video(healthy, 10, true);
	written_reset();
	video(slow, 10, true);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 1);
	assert_int_equal(row.count, 3);
	assert_in_range(row.end - row.begin, ms(40) - 10, ms(40) + 10);
	assert_true(row.last_end > row.end);
	assert_false(was_written(104) || was_written(105));
}

static void without_kernels_a_row_is_one_moment_too(void **state)
{
	const uint64_t slow[10] = { [3] = 17, [4] = 21, [5] = 18, [6] = 300 };

	(void)state;
	video(healthy, 10, false);
	video(slow, 10, false);
	assert_int_equal(row_count, 0); /* the row may go on */
	settle(false);
	assert_int_equal(moment_count + row_count, 2);
	assert_int_equal(row.count, 4);
	assert_in_range(row.end - row.begin, ms(300) - 10, ms(300) + 10);
	assert_int_equal(span_count + (int)written_count, 0);
}

/* What is slow now and then is a moment each time. */
static void steps_that_are_slow_in_turn_are_no_row(void **state)
{
	const uint64_t slow[10] = { [2] = 30, [4] = 30, [6] = 30 };

	(void)state;
	video(healthy, 10, true);
	video(slow, 10, true);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 3);
	assert_int_equal(row_count, 0);
}

static void a_row_ends_with_its_generation(void **state)
{
	const uint64_t last[10] = { [9] = 30 }, next[10] = { [1] = 30 };

	(void)state;
	video(healthy, 10, true);
	video(last, 10, true);
	video(next, 10, true);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 2);
	assert_int_equal(row_count, 0);
}

/* The pause belongs to the step before it. */
static void a_slow_step_with_a_long_pause_is_one_moment(void **state)
{
	(void)state;
	video(healthy, 10, false);
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
	for (int i = 0; i < 10; i++) {
		step(i == 5 ? 30 : USUAL, 1, 0);
		pass(i == 5 ? 200 : 0);
		sb_slow_look(false);
	}
	sb_watcher_end(STROBE_ROLE_GENERATION);
	sb_slow_stop(false);
	assert_int_equal(moment_count, 1);
	assert_int_equal(row.count, 1);
	assert_string_equal(row.by, "pause");
	assert_in_range(row.end - row.begin, ms(231) - 10, ms(231) + 10);
}

/* The first three are not the worst three. */
static void a_slower_moment_displaces_the_least_slow_one(void **state)
{
	const uint64_t slow[10] = { [1] = 20, [3] = 25, [5] = 22, [7] = 17, [9] = 21 };

	(void)state;
	video(healthy, 10, true);
	written_reset();
	video(slow, 10, true);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 4);
	assert_non_null(strstr(displaced, "step "));
	assert_null(strstr(strchr(displaced, ';') + 1, ";")); /* one gave way */
	assert_int_equal(unkept, 1);
	assert_int_equal(slower_lost, 0);
	assert_true(was_written(109));
	assert_false(was_written(107));
}

/* Each step of it costs less than what is kept; together they cost more. */
static void a_long_row_is_worth_more_than_its_steps(void **state)
{
	const uint64_t single[10] = { [3] = 30 }, row_of[10] = { [3] = 25, [4] = 25, [5] = 25, [6] = 25 };

	(void)state;
	start(1);
	video(healthy, 10, true);
	video(single, 10, true);
	assert_int_equal(moment_count, 1);
	written_reset();
	video(row_of, 10, true);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 2);
	assert_int_equal(row.count, 4);
	assert_non_null(strstr(displaced, "step "));
	assert_int_equal(unkept, 0);
	assert_true(was_written(103)); /* still held */
}

/* A row after the places are taken is one that was not kept, however long. */
static void a_row_that_is_not_kept_counts_once(void **state)
{
	const uint64_t single[10] = { [3] = 500 }, row_of[10] = { [5] = 25, [6] = 25, [7] = 25 };

	(void)state;
	start(1);
	video(healthy, 10, true);
	video(single, 10, true);
	video(row_of, 10, true);
	sb_slow_stop(true);
	assert_int_equal(moment_count, 1);
	assert_int_equal(unkept, 1);
}

static void what_was_asked_for_never_gives_way(void **state)
{
	const uint64_t slow[10] = { [3] = 30, [6] = 500 };

	(void)state;
	start(2);
	video(healthy, 10, true);
	sb_watch_ask("now");
	sb_slow_look(true);
	video(slow, 10, true);
	sb_watch_ask("out of memory");
	sb_slow_look(true);
	assert_int_equal(moment_count,
		4); /* it came in the place of the slow one, which had come in that of another */
	assert_null(strstr(displaced, "asked"));
	assert_true(sb_slow_record_full());
	sb_watch_ask("again");
	sb_slow_look(true);
	assert_int_equal(moment_count, 4);
	sb_slow_stop(true);
	assert_int_equal(unkept, 1);
}

/* One step in which memory runs out again and again, and a program that asks without an end: each is one moment, what is
 * slow later has its place, and the file does not grow with every call. */
static void a_storm_of_requests_takes_one_place(void **state)
{
	const uint64_t slow[10] = { [6] = 500 };

	(void)state;
	for (int tracing = 0; tracing < 2; tracing++) {
		start(4);
		moment_count = row_count = span_count = 0;
		video(healthy, 10, tracing);
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
		sb_slow_look(tracing);
		for (int i = 0; i < 500; i++) {
			pass(2);
			sb_watch_ask("out of memory");
			sb_watch_ask("a customer called");
			assert_true(sb_slow_look(tracing));
		}
		assert_int_equal(moment_count, 2);
		sb_watcher_end(STROBE_ROLE_STEP); /* and slow it is */
		assert_in_range(row_count, 0, 2); /* once a second */
		video(slow, 10, tracing);
		settle(tracing);
		assert_int_equal(moment_count, 4);
		assert_in_range(span_count, 0, 10);
		sb_slow_stop(tracing);
		assert_int_equal(unkept, 0);
		assert_in_range(row_count, 2, 4); /* to the last of them */
		assert_string_equal(row.what, "asked");
		assert_int_equal(row.count, 1);
	}
	start(3);
}

/* It is written at once, in case the program ends, and again when its step has ended. */
static void what_was_asked_for_is_the_whole_step(void **state)
{
	uint64_t begin;

	(void)state;
	start(1);
	video(healthy, 3, true);
	written_reset();
	begin = clock_ticks;
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	pass(5);
	sb_watch_ask("SIGUSR2");
	assert_true(sb_slow_look(true)); /* full, and the step still runs */
	assert_int_equal(moment_count, 1);
	assert_int_equal(row_count, 0);
	kernel(77, 5);
	pass(25);
	sb_watcher_end(STROBE_ROLE_STEP);
	assert_false(sb_slow_look(true));
	sb_slow_stop(true);
	assert_int_equal(moment_count, 1);
	assert_int_equal(row_count, 1);
	assert_string_equal(row.what, "asked");
	assert_in_range(row.moment, begin - 10, begin + 10);
	assert_in_range(row.end - row.begin, ms(30) - 10, ms(30) + 10);
	assert_true(was_written(77));
	assert_int_equal(unkept, 0);
}

static void a_watch_that_is_full_says_so(void **state)
{
	(void)state;
	start(1);
	video(healthy, 3, true);
	assert_true(sb_slow_look(true));
	sb_watch_ask("now");
	assert_false(sb_slow_look(true));
	assert_non_null(strstr(missing, "what was asked for, or ran out of memory, took all 1 places"));
}

/* The generation is slow for that step alone: it takes no second place. */
static void a_generation_that_its_steps_explain_is_the_same_moment(void **state)
{
	const uint64_t slow[10] = { [9] = 200 }; /* judged after its generation has ended */

	(void)state;
	for (int tracing = 0; tracing < 2; tracing++) {
		start(3);
		moment_count = 0;
		for (int i = 0; i < 5; i++)
			video(healthy, 10, tracing);
		video(slow, 10, tracing);
		settle(tracing);
		assert_int_equal(moment_count, 1);
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
		pass(500); /* before its steps */
		for (uint32_t i = 0; i < 10; i++)
			step(USUAL, 100 + i, tracing ? 5 : 0);
		sb_watcher_end(STROBE_ROLE_GENERATION);
		settle(tracing);
		assert_int_equal(moment_count, 2);
		assert_non_null(strstr(moments, "generation clock "));
		sb_slow_stop(tracing);
	}
	start(3);
}

/* A model that moves, or clocks that come up: it is so in every video. */
static void what_is_slow_at_the_same_step_every_time_is_no_news(void **state)
{
	const uint64_t moves[10] = { [4] = 60 }, slower[10] = { [4] = 200 },
		       other[10] = { [4] = 60, [7] = 60 };

	(void)state;
	for (int i = 0; i < 6; i++)
		video(moves, 10, true);
	settle(true);
	assert_int_equal(moment_count,
		1); /* once it was: the first had too few peers, and two are no habit before the third */
	video(other, 10, true);
	settle(true);
	assert_int_equal(moment_count, 2);
	video(slower, 10, true);
	settle(true);
	assert_int_equal(moment_count, 3);
}

/* A long row is written while its records are still held. */
static void the_slowest_is_written_before_its_records_make_room(void **state)
{
	(void)state;
	video(healthy, 10, true);
	written_reset();
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_GENERATION);
	for (uint32_t i = 0; i < 10; i++) {
		sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
		sb_slow_look(true);
		pass(1);
		kernel(100 + i, 5);
		for (uint32_t k = 0; i > 4 && k < SB_HELD_RECORDS / 3; k++)
			kernel(50, 0);
		pass(i == 3 ? 29 : i == 4 ? 49 : i > 4 ? 19 : 9);
		sb_watcher_end(STROBE_ROLE_STEP);
		pass(1);
		sb_slow_look(true);
	}
	assert_true(was_written(104));
	assert_int_equal(lost[SB_LOST_GPU_HELD], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(steps_slow_in_a_row_are_one_moment),
		TEST(the_slowest_of_a_row_is_told_also_where_it_is_the_first),
		TEST(without_kernels_a_row_is_one_moment_too),
		TEST(steps_that_are_slow_in_turn_are_no_row),
		TEST(a_row_ends_with_its_generation),
		TEST(a_slow_step_with_a_long_pause_is_one_moment),
		TEST(a_slower_moment_displaces_the_least_slow_one),
		TEST(a_long_row_is_worth_more_than_its_steps),
		TEST(a_row_that_is_not_kept_counts_once),
		TEST(what_was_asked_for_never_gives_way),
		TEST(a_storm_of_requests_takes_one_place),
		TEST(what_was_asked_for_is_the_whole_step),
		TEST(a_watch_that_is_full_says_so),
		TEST(a_generation_that_its_steps_explain_is_the_same_moment),
		TEST(what_is_slow_at_the_same_step_every_time_is_no_news),
		TEST(the_slowest_is_written_before_its_records_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
