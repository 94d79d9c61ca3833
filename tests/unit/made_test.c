/* What the ranks of a job made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/ranks/screen.h"

#include <math.h>

/* Ranks that meet may share a video: what each counts is said. Others have made different ones. */
static void what_ranks_made_is_said_and_not_counted_twice(void **state)
{
	struct sb_aggregate *a = sb_aggregate_new();
	struct sb_buf out = { 0 };

	a->metrics[SB_METRIC_GENERATIONS] =
		(struct sb_across_ranks){ .count = 4, .min = 1, .max = 2, .sum = 5 };
	a->metrics[SB_METRIC_FRAMES] =
		(struct sb_across_ranks){ .count = 4, .min = 81, .max = 81, .sum = 324 };
	assert_int_equal(sb_aggregate_count_made(a), 0);
	assert_int_equal(a->made_count, 2);
	assert_true(a->made[0].all == 5 && a->made[0].least == 1 && a->made[0].most == 2);
	sb_ranks_put_made(a, &out);
	assert_string_equal(sb_buf_text(&out), "Made by all ranks: 5 generations, 324 frames\n");
	sb_buf_done(&out);
	a->metrics[SB_METRIC_COLLECTIVE].count = 4;
	assert_int_equal(sb_aggregate_count_made(a), 0);
	assert_true(isnan(a->made[0].all) && a->made[0].most == 2);
	sb_ranks_put_made(a, &out);
	assert_string_equal(
		sb_buf_text(&out), "Each rank: 1 to 2 generations, 81 frames (they may share a video)\n");
	sb_buf_done(&out);
	sb_aggregate_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_ranks_made_is_said_and_not_counted_twice) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
