/* The last part of a path. */
#include "base/filename.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_last_part_is_the_name(void **state)
{
	assert_string_equal(sb_filename_of("runs/t2v/run.strobe"), "run.strobe");
	assert_string_equal(sb_filename_of("run.strobe"), "run.strobe");
	assert_string_equal(sb_filename_of("/python3"), "python3");
	assert_string_equal(sb_filename_of("runs/"), "");
	assert_string_equal(sb_filename_of(""), "");
}

static void endings_are_compared_from_the_end(void **state)
{
	assert_true(sb_ends_with("run.strobe", ".strobe"));
	assert_true(sb_ends_with(".strobe", ".strobe"));
	assert_false(sb_ends_with("strobe", ".strobe"));
	assert_false(sb_ends_with("run.strobe.spool", ".strobe"));
	assert_true(sb_ends_with("run", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_last_part_is_the_name),
		cmocka_unit_test(endings_are_compared_from_the_end) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
