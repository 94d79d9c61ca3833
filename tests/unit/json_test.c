/* The JSON writer: commas, nesting, escapes, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"

#include <math.h>

static void objects_and_arrays_nest_with_commas(void **state)
{
	struct sb_buf out = { 0 };
	struct sb_json j;

	sb_json_init(&j, &out, false);
	sb_json_object_begin(&j, NULL);
	sb_json_int(&j, "a", -1);
	sb_json_array_begin(&j, "b");
	sb_json_double(&j, NULL, 0.1);
	sb_json_double(&j, NULL, NAN);
	sb_json_array_end(&j);
	sb_json_string(&j, "c", "x\"\\\n\x01\xff\xc3\xa9");
	sb_json_object_end(&j);
	assert_string_equal(sb_buf_text(&out),
		"{\"a\":-1,\"b\":[0.1,null],\"c\":\"x\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\"}");
	sb_buf_done(&out);
}

static void nothing_in_a_string_moves_a_cursor(void **state)
{
	static const char text[] = "\x1b\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0\xe2\x80\xae\xe2\x80\xa8\xe2\x81"
				   "\xa6\xe2\x81\xb0\xf0\x9f\x98\x80";
	struct sb_buf out = { 0 };

	sb_json_quote(&out, text, sizeof text - 1);
	assert_string_equal(sb_buf_text(&out), "\"\\u001b\\u007f\\u0080\\u009b\\u009f\xc2\xa0\\u202e\\u2028\\"
					       "u2066\xe2\x81\xb0\xf0\x9f\x98\x80\"");
	sb_buf_done(&out);
}

static void fixed_numbers_drop_trailing_zeros(void **state)
{
	struct sb_buf out = { 0 };
	struct sb_json j;

	sb_json_init(&j, &out, false);
	sb_json_array_begin(&j, NULL);
	sb_json_fixed(&j, NULL, 1.5, 3);
	sb_json_fixed(&j, NULL, 100, 0);
	sb_json_fixed(&j, NULL, 2.0, 2);
	sb_json_array_end(&j);
	assert_string_equal(sb_buf_text(&out), "[1.5,100,2]");
	sb_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_and_arrays_nest_with_commas),
		cmocka_unit_test(nothing_in_a_string_moves_a_cursor),
		cmocka_unit_test(fixed_numbers_drop_trailing_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
