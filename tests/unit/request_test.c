/* Heads of requests: what is understood, what is refused. */
#include "serve/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int parse(const char *text, struct sb_request *out)
{
	static char head[SB_REQUEST_HEAD_MAX];
	size_t size = strlen(text);

	memcpy(head, text, size + 1);
	assert_int_equal(sb_request_head_size(head, size), size);
	return sb_request_parse(head, size, out);
}

static void a_request_is_taken_apart(void **state)
{
	struct sb_request r;

	assert_int_equal(
		parse("GET /runs/a%20b?x=1&token=t HTTP/1.1\r\nHost: localhost:80\r\ncookie:  a=b \r\n\r\n",
			&r),
		0);
	assert_int_equal(r.method, SB_METHOD_GET);
	assert_true(r.keep_alive);
	assert_string_equal(r.path, "/runs/a%20b");
	assert_string_equal(r.query, "x=1&token=t");
	assert_string_equal(r.host, "localhost:80");
	assert_string_equal(r.cookie, "a=b");
	assert_null(r.origin);
	assert_int_equal(parse("HEAD / HTTP/1.0\r\n\r\n", &r), 0);
	assert_int_equal(r.method, SB_METHOD_HEAD);
	assert_false(r.keep_alive);
	assert_int_equal(parse("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", &r), 0);
	assert_false(r.keep_alive);
	assert_int_equal(parse("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", &r), 0);
	assert_int_equal(r.method, SB_METHOD_OTHER);
}

static void half_a_head_is_not_one_yet(void **state)
{
	assert_int_equal(sb_request_head_size("GET / HTTP/1.1\r\nHost: a\r\n", 25), 0);
	assert_int_equal(sb_request_head_size("", 0), 0);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const wrong[] = { "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n",
		"GET / HTTP/2.0\r\n\r\n", "GET http://evil/ HTTP/1.1\r\n\r\n",
		"GET //evil/?token=x HTTP/1.1\r\n\r\n", "GET /\\evil/ HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\n: nothing\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
		"GET / HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n", "GET /\n HTTP/1.1\r\n\r\n",
		"GET /\x01 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n" };
	struct sb_request r;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(parse(wrong[i], &r), 400);
	assert_int_equal(parse("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", &r), 413);
	assert_int_equal(parse("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", &r), 413);
}

/* Every prefix and every single changed byte of a request: no read outside it,
 * and an answer each time (the sanitizers watch). */
static void damaged_heads_do_no_harm(void **state)
{
	static const char whole[] = "GET /a?b=%41 HTTP/1.1\r\nHost: h\r\nAccept: x\r\n\r\n";
	char head[sizeof whole], out[64];
	struct sb_request r;
	size_t parsed = 0;

	for (size_t i = 0; i < sizeof whole - 1; i++)
		for (int c = 0; c < 256; c++) {
			size_t size;

			memcpy(head, whole, sizeof whole);
			head[i] = (char)c;
			size = sb_request_head_size(head, sizeof whole - 1);
			if (!size || sb_request_parse(head, size, &r))
				continue;
			parsed++;
			sb_request_parameter(r.query, "b", out, sizeof out);
			sb_request_without(r.query, "b", out, sizeof out);
		}
	assert_true(parsed > 1000);
}

static void codes_are_decoded(void **state)
{
	char out[8];

	assert_true(sb_request_decode("a%2Fb", 5, out, sizeof out));
	assert_string_equal(out, "a/b");
	assert_false(sb_request_decode("a%00", 4, out, sizeof out));
	assert_false(sb_request_decode("a%4", 3, out, sizeof out));
	assert_false(sb_request_decode("a%zz", 4, out, sizeof out));
	assert_false(sb_request_decode("12345678", 8, out, sizeof out));
	sb_request_encode("a b/~", out, sizeof out);
	assert_string_equal(out, "a%20b"); /* the rest does not fit */
}

static void parameters_are_found_and_taken_out(void **state)
{
	char out[64];

	assert_true(sb_request_parameter("base=a%20b&new=c&token=t", "new", out, sizeof out));
	assert_string_equal(out, "c");
	assert_false(sb_request_parameter("news=c", "new", out, sizeof out));
	assert_false(sb_request_parameter(NULL, "new", out, sizeof out));
	sb_request_without("base=a%20b&token=t&new=c", "token", out, sizeof out);
	assert_string_equal(out, "base=a%20b&new=c");
	sb_request_without("token=t", "token", out, sizeof out);
	assert_string_equal(out, "");
	sb_request_without("&&token=t&a", "token", out, sizeof out);
	assert_string_equal(out, "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_taken_apart),
		cmocka_unit_test(half_a_head_is_not_one_yet),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(damaged_heads_do_no_harm),
		cmocka_unit_test(codes_are_decoded),
		cmocka_unit_test(parameters_are_found_and_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
