/* The page around the data: nothing in the data can leave its element. */
#include "report/page/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct sb_buf page_of(const char *json, const char *live)
{
	struct sb_buf out = { 0 };
	struct sb_page page = { .kind = "report", .json = json, .json_size = strlen(json), .live = live };

	assert_int_equal(sb_page_write(&page, &out), 0);
	return out;
}

static void a_script_in_a_name_stays_a_string(void **state)
{
	struct sb_buf out = page_of("{\"name\":\"</script><script>alert(1)</script>\"}", NULL);

	assert_null(strstr(out.data, "<script>alert(1)"));
	assert_non_null(strstr(out.data, "\\u003c/script>\\u003cscript>alert(1)"));
	sb_buf_done(&out);
}

static void line_separators_are_escaped(void **state)
{
	struct sb_buf out = page_of("{\"a\":\"x\xe2\x80\xa8y\xe2\x80\xa9\xe2\x80\xa7\"}", NULL);

	assert_non_null(strstr(out.data, "x\\u2028y\\u2029\xe2\x80\xa7\""));
	sb_buf_done(&out);
}

static void indentation_is_left_out_and_text_is_not(void **state)
{
	struct sb_buf out = page_of(
		"{\n  \"a b\": [\n    1,\n    2\n  ],\n  \"c\": \"x  y\\n  z\"\n}\n", NULL);

	assert_non_null(strstr(out.data, ">{\"a b\": [1,2],\"c\": \"x  y\\n  z\"}</script>"));
	sb_buf_done(&out);
}

static void a_file_may_connect_nowhere_and_a_live_page_home_only(void **state)
{
	struct sb_buf file = page_of("{}", NULL), live = page_of("{}", "/api/runs/a\"b");

	assert_non_null(strstr(file.data, "default-src 'none'"));
	assert_non_null(strstr(file.data, "connect-src 'none'"));
	assert_null(strstr(file.data, "connect-src 'self'"));
	assert_non_null(strstr(live.data, "connect-src 'self'"));
	assert_non_null(strstr(live.data, "data-live=\"/api/runs/a&#34;b\""));
	sb_buf_done(&file);
	sb_buf_done(&live);
}

static void the_page_names_no_other_place(void **state)
{
	struct sb_buf out = page_of("{}", NULL);

	assert_null(strstr(out.data, "src=\"http"));
	assert_null(strstr(out.data, "href=\"http"));
	assert_null(strstr(out.data, "url(http"));
	assert_null(strstr(out.data, "<!--strobe:"));
	sb_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_script_in_a_name_stays_a_string),
		cmocka_unit_test(line_separators_are_escaped),
		cmocka_unit_test(indentation_is_left_out_and_text_is_not),
		cmocka_unit_test(a_file_may_connect_nowhere_and_a_live_page_home_only),
		cmocka_unit_test(the_page_names_no_other_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
