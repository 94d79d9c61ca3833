/* The live display's line on what a program makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/made.h"

static void check(struct sb_made_so_far now, struct sb_made_so_far before, double seconds, const char *wanted)
{
	struct sb_buf text = { 0 };

	sb_made_put(&text, &now, &before, seconds);
	assert_string_equal(sb_buf_text(&text), wanted);
	sb_buf_done(&text);
}

static void rates_are_of_the_time_since_the_line_before(void **state)
{
	check((struct sb_made_so_far){ 36, 12, 48 }, (struct sb_made_so_far){ 24, 8, 32 }, 2,
		"Speed: 6.0 FPS, 2.0 BPS, 8.0 steps/s (36 frames, 12 blocks, 48 steps)\n");
}

static void what_is_not_made_is_left_out(void **state)
{
	check((struct sb_made_so_far){ 0, 0, 5 }, (struct sb_made_so_far){ 0 }, 1,
		"Speed: 5.0 steps/s (5 steps)\n");
	check((struct sb_made_so_far){ 0 }, (struct sb_made_so_far){ 0 }, 1, "");
	check((struct sb_made_so_far){ 3, 1, 0 }, (struct sb_made_so_far){ 0 }, 0, "");
}

static void a_count_that_fell_is_no_negative_rate(void **state)
{
	check((struct sb_made_so_far){ 3, 0, 0 }, (struct sb_made_so_far){ 9, 0, 0 }, 1,
		"Speed: 0.0 FPS (3 frames)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_of_the_time_since_the_line_before),
		cmocka_unit_test(what_is_not_made_is_left_out),
		cmocka_unit_test(a_count_that_fell_is_no_negative_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
