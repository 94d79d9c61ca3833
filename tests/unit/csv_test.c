/* CSV: quotes, formulas, and what is no text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/csv.h"

#include <string.h>

static void fields_are_written(const char *const (*fields)[2], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sb_buf b = { 0 };

		sb_csv_add(&b, fields[i][0]);
		assert_string_equal(sb_buf_text(&b), fields[i][1]);
		sb_buf_done(&b);
	}
}
#define FIELDS_ARE_WRITTEN(fields) fields_are_written(fields, sizeof(fields) / sizeof *(fields))

static void quotes_stand_where_they_have_to(void **state)
{
	static const char *const fields[][2] = { { "", "" }, { "vae decode", "vae decode" },
		{ "a,b", "\"a,b\"" }, { "a \"b\"", "\"a \"\"b\"\"\"" }, { "a\r\nb", "\"a\r\nb\"" },
		{ "a\tb", "a\tb" } };

	FIELDS_ARE_WRITTEN(fields);
}

static void a_formula_is_text_inside_the_quotes_too(void **state)
{
	static const char *const fields[][2] = { { "=1+1", " =1+1" }, { "@a", " @a" }, { "1-1", "1-1" },
		{ "-0.5", "-0.5" }, { "-1+cmd", " -1+cmd" }, { "-", "-" },
		{ "=SUM(A1,A2)", "\" =SUM(A1,A2)\"" } };

	FIELDS_ARE_WRITTEN(fields);
}

static void what_is_no_text_is_replaced(void **state)
{
	static const char *const fields[][2] = { { "a\x1b[31m", "a\xef\xbf\xbd[31m" },
		{ "\xff!", "\xef\xbf\xbd!" }, { "\xc2\x9b", "\xef\xbf\xbd" }, { "\xc3\xa9", "\xc3\xa9" } };

	FIELDS_ARE_WRITTEN(fields);
}

static void the_largest_field_keeps_to_its_room(void **state)
{
	char text[102], field[SB_CSV_ROOM(100) + 1];

	memset(text, '\xff', sizeof text - 1);
	text[0] = '=';
	text[100] = ',';
	text[101] = 0;
	memset(field, '.', sizeof field);
	assert_int_equal(sb_csv_put(field, text, 100) - field, 3 + 1 + 99 * 3);
	assert_int_equal(field[SB_CSV_ROOM(100)], '.');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_stand_where_they_have_to),
		cmocka_unit_test(a_formula_is_text_inside_the_quotes_too),
		cmocka_unit_test(what_is_no_text_is_replaced),
		cmocka_unit_test(the_largest_field_keeps_to_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
