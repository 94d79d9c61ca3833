/* Who may ask the server. */
#include "serve/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void only_loopback_is_loopback(void **state)
{
	assert_true(sb_guard_is_loopback("127.0.0.1"));
	assert_true(sb_guard_is_loopback("127.9.9.9"));
	assert_true(sb_guard_is_loopback("::1"));
	assert_true(sb_guard_is_loopback("localhost"));
	assert_false(sb_guard_is_loopback("0.0.0.0"));
	assert_false(sb_guard_is_loopback("::"));
	assert_false(sb_guard_is_loopback("10.0.0.1"));
	assert_false(sb_guard_is_loopback("127.evil.example"));
}

static void foreign_hosts_are_refused(void **state)
{
	struct sb_guard g = { .hosts = { "gpu7" }, .host_count = 1 };

	assert_true(sb_guard_host(&g, "localhost:8077"));
	assert_true(sb_guard_host(&g, "LOCALHOST"));
	assert_true(sb_guard_host(&g, "127.0.0.1:1"));
	assert_true(sb_guard_host(&g, "[::1]:8077"));
	assert_true(sb_guard_host(&g, "gpu7:8077"));
	assert_false(sb_guard_host(&g, "evil.example"));
	assert_false(sb_guard_host(&g, "localhost.evil.example"));
	assert_false(sb_guard_host(&g, "127.0.0.1.evil.example:8077"));
	assert_false(sb_guard_host(&g, "[::1"));
	assert_false(sb_guard_host(&g, ""));
	assert_false(sb_guard_host(&g, NULL));
}

static void foreign_origins_are_refused(void **state)
{
	assert_true(sb_guard_origin(NULL, "localhost:8077"));
	assert_true(sb_guard_origin("http://localhost:8077", "localhost:8077"));
	assert_false(sb_guard_origin("http://localhost:9999", "localhost:8077"));
	assert_false(sb_guard_origin("http://evil.example", "localhost:8077"));
	assert_false(sb_guard_origin("null", "localhost:8077"));
	assert_false(sb_guard_origin("http://localhost:8077", NULL));
}

static void a_token_must_match_whole(void **state)
{
	struct sb_guard none = { 0 }, g = { .token = "0123456789abcdef" };

	assert_true(sb_guard_token(&none, NULL));
	assert_true(sb_guard_token(&g, "0123456789abcdef"));
	assert_false(sb_guard_token(&g, "0123456789abcde"));
	assert_false(sb_guard_token(&g, "0123456789abcdef0"));
	assert_false(sb_guard_token(&g, ""));
	assert_false(sb_guard_token(&g, NULL));
}

static void the_cookie_is_found_among_others(void **state)
{
	char out[8];

	assert_true(sb_guard_cookie("a=1; strobe_token=xyz; b=2", "strobe_token", out, sizeof out));
	assert_string_equal(out, "xyz");
	assert_false(sb_guard_cookie("xstrobe_token=xyz", "strobe_token", out, sizeof out));
	assert_false(sb_guard_cookie("strobe_token=12345678", "strobe_token", out, sizeof out));
	assert_false(sb_guard_cookie(NULL, "strobe_token", out, sizeof out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_loopback_is_loopback),
		cmocka_unit_test(foreign_hosts_are_refused),
		cmocka_unit_test(foreign_origins_are_refused),
		cmocka_unit_test(a_token_must_match_whole),
		cmocka_unit_test(the_cookie_is_found_among_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
