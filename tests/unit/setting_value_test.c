/* Settings as numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/setting_value.h"

#include <math.h>

static void every_type_is_a_number_or_none(void **state)
{
	assert_true(sb_setting_value(STROBE_TYPE_INT, 7, NAN, NULL) == 7);
	assert_true(sb_setting_value(STROBE_TYPE_BOOL, 1, NAN, NULL) == 1);
	assert_true(sb_setting_value(STROBE_TYPE_FLOAT, 0, 2.5, NULL) == 2.5);
	assert_true(sb_setting_value(STROBE_TYPE_STRING, 0, 0, "24.5") == 24.5);
	assert_true(isnan(sb_setting_value(STROBE_TYPE_STRING, 0, 0, "24 fps")));
	assert_true(sb_setting_value(STROBE_TYPE_STRING, 0, 0, "64 MiB") == 64 << 20);
	assert_true(sb_setting_value(STROBE_TYPE_STRING, 0, 0, "1 GiB") == 1 << 30);
	assert_true(isnan(sb_setting_value(STROBE_TYPE_STRING, 0, 0, "")));
	assert_true(isnan(sb_setting_value(STROBE_TYPE_STRING, 0, 0, NULL)));
}

static void a_list_is_searched_by_whole_names(void **state)
{
	const char *list = "step_ms=150;fps=10;slow_step_ms=7";

	assert_true(sb_setting_listed(list, "step_ms") == 150);
	assert_true(sb_setting_listed(list, "fps") == 10);
	assert_true(sb_setting_listed(list, "slow_step_ms") == 7);
	assert_true(isnan(sb_setting_listed(list, "ms")));
	assert_true(isnan(sb_setting_listed(list, "step")));
	assert_true(isnan(sb_setting_listed(NULL, "fps")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_a_number_or_none),
		cmocka_unit_test(a_list_is_searched_by_whole_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
