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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_last_part_is_the_name) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
