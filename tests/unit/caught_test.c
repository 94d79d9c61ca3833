/* What a slow one becomes: a moment, one more of a row, one in the place of another, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/caught.h"
#include "record/clock.h"

static struct sb_caught_list list;
static struct sb_caught *moment;
static struct sb_slow_one displaced;

static struct sb_slow_one step(uint32_t generation, uint32_t index, uint64_t over)
{
	uint64_t begin = generation * 1000000u + index * 1000u + 1;

	return (struct sb_slow_one){ .what = "step",
		.by = "clock",
		.tid = 1,
		.index = index,
		.generation_ticks = generation * 1000000u + 1,
		.begin_ticks = begin,
		.end_ticks = begin + 500,
		.median_ticks = 100,
		.over_ticks = over };
}

static enum sb_caught_as take(struct sb_slow_one one)
{
	memset(&displaced, 0, sizeof displaced);
	return sb_caught_take(&list, &one, &moment, &displaced);
}

static struct sb_slow_one asked(uint64_t begin)
{
	return (struct sb_slow_one){
		.what = "asked", .by = "-", .asked = true, .tid = 1, .begin_ticks = begin
	};
}

static int setup(void **state)
{
	(void)state;
	sb_clock_init();
	sb_caught_init(&list, 2);
	return 0;
}

static void a_row_grows_and_knows_its_slowest(void **state)
{
	(void)state;
	assert_int_equal(take(step(1, 3, 60)), SB_CAUGHT_NEW);
	assert_int_equal(take(step(1, 4, 90)), SB_CAUGHT_LONGER);
	assert_int_equal(take(step(1, 5, 70)), SB_CAUGHT_LONGER);
	assert_int_equal(moment->count, 3);
	assert_int_equal(moment->first.index, 3);
	assert_int_equal(moment->slowest.index, 4);
	assert_int_equal(moment->cost_ticks, 220);
	assert_true(moment->last_end_ticks == step(1, 5, 0).end_ticks);
	assert_int_equal(list.kept_count, 1);
}

/* By time the pause has all that the step took longer. */
static void a_pause_and_its_step_are_one(void **state)
{
	struct sb_slow_one pause = step(1, 3, 400);

	(void)state;
	pause.by = "pause";
	pause.end_ticks += 400;
	take(step(1, 3, 60));
	assert_int_equal(take(pause), SB_CAUGHT_LONGER);
	assert_int_equal(moment->count, 1);
	assert_int_equal(moment->cost_ticks, 400);
	assert_string_equal(moment->slowest.by, "pause");
	assert_int_equal(take(step(1, 4, 50)), SB_CAUGHT_LONGER);
	assert_int_equal(moment->count, 2);
	assert_int_equal(moment->cost_ticks, 450);
}

static void what_is_not_next_to_it_is_another(void **state)
{
	struct sb_slow_one thread = step(1, 4, 60), kind = step(1, 4, 60);

	(void)state;
	sb_caught_init(&list, 10);
	thread.tid = 2;
	kind.what = "generation";
	take(step(1, 3, 60));
	assert_int_equal(take(step(1, 5, 60)), SB_CAUGHT_NEW);
	assert_int_equal(take(step(2, 4, 60)), SB_CAUGHT_NEW);
	assert_int_equal(take(thread), SB_CAUGHT_NEW);
	assert_int_equal(take(kind), SB_CAUGHT_NEW);
	assert_int_equal(list.kept_count, 5);
}

static void rows_of_two_threads_do_not_end_each_other(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		struct sb_slow_one one = step(1, i / 2, 60);

		one.tid = 1 + i % 2;
		assert_int_equal(take(one), i < 2 ? SB_CAUGHT_NEW : SB_CAUGHT_LONGER);
	}
	assert_int_equal(moment->count, 3);
}

static void what_cost_more_takes_the_place_of_the_least(void **state)
{
	(void)state;
	take(step(1, 1, 100));
	take(step(1, 3, 80));
	assert_int_equal(take(step(1, 5, 80)), SB_CAUGHT_NOT);
	assert_int_equal(take(step(1, 7, 81)), SB_CAUGHT_INSTEAD);
	assert_true(displaced.begin_ticks == step(1, 3, 0).begin_ticks);
	assert_int_equal(list.kept_count, 2);
	assert_int_equal(list.unkept_count, 1);
	assert_int_equal(take(step(1, 9, 150)), SB_CAUGHT_INSTEAD);
	assert_true(displaced.begin_ticks == step(1, 7, 0).begin_ticks);
	assert_int_equal(take(step(1, 11, 175)), SB_CAUGHT_INSTEAD);
	assert_true(displaced.begin_ticks == step(1, 1, 0).begin_ticks);
	assert_false(sb_caught_lost_slower(&list));
}

/* As slow ones come: in no order. */
static void of_many_in_any_order_the_worst_are_kept(void **state)
{
	(void)state;
	sb_caught_init(&list, 3);
	for (uint32_t i = 0; i < 10007; i++)
		take(step(i, 1, 1 + (uint64_t)i * 4801 % 10007));
	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++)
		if (list.all[i].kept)
			assert_in_range(list.all[i].cost_ticks, 10005, 10007);
	assert_int_equal(list.kept_count, 3);
	assert_false(sb_caught_lost_slower(&list));
}

static void a_slower_one_that_was_lost_is_known(void **state)
{
	uint64_t over = 1000;

	(void)state;
	for (uint32_t i = 0; i < 2 + 2 * SB_CAUGHT_FREE_SWAPS; i++)
		take(step(i, 1, over++));
	assert_false(sb_caught_lost_slower(&list));
	assert_int_equal(take(step(1000, 1, over)), SB_CAUGHT_NOT); /* no longer clearly more */
	assert_true(sb_caught_lost_slower(&list));
	for (uint32_t i = 0; i < 2 * SB_CAUGHT_UNKEPT; i++)
		take(step(2000 + i, 1, 10));
	assert_true(sb_caught_lost_slower(&list)); /* also where it is forgotten */
	take(step(3000, 1, 5000));
	take(step(3001, 1, 5000));
	assert_false(sb_caught_lost_slower(&list));
}

/* The rest of it is another moment. */
static void a_row_that_gave_way_and_goes_on_is_known(void **state)
{
	(void)state;
	take(step(1, 1, 100));
	take(step(2, 1, 300));
	assert_int_equal(take(step(3, 1, 290)), SB_CAUGHT_INSTEAD);
	assert_int_equal(take(step(1, 2, 150)), SB_CAUGHT_NOT);
	assert_false(sb_caught_lost_slower(&list));
	assert_int_equal(take(step(1, 3, 60)), SB_CAUGHT_NOT);
	assert_true(sb_caught_lost_slower(&list)); /* 310 in all */
}

static void a_row_without_a_place_gets_one_when_it_is_worth_it(void **state)
{
	(void)state;
	take(step(1, 1, 200));
	take(step(1, 3, 200));
	assert_int_equal(take(step(2, 1, 90)), SB_CAUGHT_NOT);
	assert_int_equal(take(step(2, 2, 90)), SB_CAUGHT_NOT);
	assert_int_equal(list.unkept_count, 1);
	assert_int_equal(take(step(2, 3, 90)), SB_CAUGHT_INSTEAD);
	assert_int_equal(moment->count, 3);
	assert_int_equal(list.unkept_count, 0);
	assert_int_equal(take(step(2, 4, 90)), SB_CAUGHT_LONGER);
}

/* Only the latest are remembered; all of them are counted. */
static void those_without_a_place_are_forgotten_and_counted(void **state)
{
	(void)state;
	take(step(1, 1, 1000));
	take(step(1, 3, 1000));
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(take(step(2 + i, 1, 90)), SB_CAUGHT_NOT);
	assert_int_equal(list.unkept_count, 1000);
	assert_int_equal(take(step(2, 2, 90)), SB_CAUGHT_NOT); /* a new one: the one before it is forgotten */
	assert_int_equal(list.unkept_count, 1001);
	assert_int_equal(list.kept_count, 2);
}

/* However the durations go, a place changes hands a bounded number of times. */
static void few_give_way_however_long_it_gets_worse(void **state)
{
	uint32_t instead = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		instead += take(step(i, 1, 100 + i)) == SB_CAUGHT_INSTEAD;
	assert_in_range(instead, 2 * SB_CAUGHT_FREE_SWAPS,
		2 * (SB_CAUGHT_FREE_SWAPS + 31)); /* 1000 is 1.25 to the 31st */
	assert_true(moment->kept || list.unkept_count > 0);
}

static void what_was_asked_for_takes_the_place_of_a_slow_one(void **state)
{
	(void)state;
	take(step(1, 1, 1000));
	take(step(1, 3, 100));
	assert_int_equal(take(asked(5)), SB_CAUGHT_INSTEAD);
	assert_true(displaced.begin_ticks == step(1, 3, 0).begin_ticks);
	assert_false(sb_caught_full(&list));
	assert_int_equal(take(asked(6)), SB_CAUGHT_INSTEAD); /* in another step */
	assert_true(sb_caught_full(&list));
	assert_int_equal(take(asked(7)), SB_CAUGHT_NOT);
	assert_int_equal(take(step(2, 1, 100000)), SB_CAUGHT_NOT);
	assert_int_equal(list.unkept_count, 2);
}

static struct sb_slow_one asked_until(uint64_t begin, uint64_t end, const char *what)
{
	struct sb_slow_one one = asked(begin);

	one.end_ticks = end;
	one.what = what;
	return one;
}

/* A program that tries smaller and smaller sizes, or calls without an end. */
static void what_is_asked_for_again_in_the_same_step_is_the_same_moment(void **state)
{
	(void)state;
	assert_int_equal(take(asked_until(5, 10, "out_of_memory")), SB_CAUGHT_NEW);
	for (uint64_t i = 11; i < 1000; i++)
		assert_int_equal(take(asked_until(5, i, "out_of_memory")), SB_CAUGHT_LONGER);
	assert_true(moment->slowest.end_ticks == 999);
	assert_int_equal(moment->count, 1);
	assert_int_equal(take(asked_until(5, 1000, "asked")), SB_CAUGHT_NEW); /* for another reason */
	assert_int_equal(list.kept_count, 2);
	assert_int_equal(list.unkept_count, 0);
}

/* There is no step that tells one moment from the next. */
static void what_is_asked_for_within_a_second_is_the_same_moment(void **state)
{
	const uint64_t second = sb_clock_hz();

	(void)state;
	assert_int_equal(take(asked_until(0, 10 * second, "asked")), SB_CAUGHT_NEW);
	assert_int_equal(take(asked_until(0, 11 * second - 1, "asked")), SB_CAUGHT_LONGER);
	assert_int_equal(take(asked_until(0, 13 * second, "asked")), SB_CAUGHT_NEW);
}

static void a_generation_costs_what_its_slow_steps_cost(void **state)
{
	(void)state;
	take(step(1, 1, 100));
	take(step(1, 2, 50));
	take(step(1, 7, 30));
	take(step(2, 1, 1000));
	assert_int_equal(sb_caught_cost_ticks(&list, 1, step(1, 0, 0).generation_ticks), 180);
	assert_int_equal(sb_caught_cost_ticks(&list, 2, step(1, 0, 0).generation_ticks), 0);
	assert_int_equal(sb_caught_cost_ticks(&list, 1, 0), 0);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_grows_and_knows_its_slowest),
		TEST(a_pause_and_its_step_are_one),
		TEST(what_is_not_next_to_it_is_another),
		TEST(rows_of_two_threads_do_not_end_each_other),
		TEST(what_cost_more_takes_the_place_of_the_least),
		TEST(of_many_in_any_order_the_worst_are_kept),
		TEST(a_slower_one_that_was_lost_is_known),
		TEST(a_row_that_gave_way_and_goes_on_is_known),
		TEST(a_row_without_a_place_gets_one_when_it_is_worth_it),
		TEST(those_without_a_place_are_forgotten_and_counted),
		TEST(few_give_way_however_long_it_gets_worse),
		TEST(what_was_asked_for_takes_the_place_of_a_slow_one),
		TEST(what_is_asked_for_again_in_the_same_step_is_the_same_moment),
		TEST(what_is_asked_for_within_a_second_is_the_same_moment),
		TEST(a_generation_costs_what_its_slow_steps_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
