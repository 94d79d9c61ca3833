/* A growing byte string: base64 of every remainder of three, and a buffer that is still empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"

#include <string.h>

static void base64_pads_what_is_no_multiple_of_three(void **state)
{
	/* RFC 4648, section 10 */
	static const char *const vectors[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
		{ "\xfb\xff\xfe", "+//+" } };

	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		struct sb_buf b = { 0 };

		sb_buf_puts(&b, "x:");
		sb_buf_put_base64(&b, vectors[i][0], strlen(vectors[i][0]));
		sb_buf_putc(&b, '.');
		assert_int_equal(b.size, strlen(vectors[i][1]) + 3);
		assert_memory_equal(b.data + 2, vectors[i][1], strlen(vectors[i][1]));
		assert_string_equal(b.data + b.size - 1, ".");
		sb_buf_done(&b);
	}
}

static void nothing_is_an_empty_text(void **state)
{
	struct sb_buf b = { 0 };

	assert_string_equal(sb_buf_text(&b), "");
	sb_buf_put_base64(&b, NULL, 0);
	assert_string_equal(sb_buf_text(&b), "");
	assert_false(sb_buf_failed(&b));
	sb_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_pads_what_is_no_multiple_of_three),
		cmocka_unit_test(nothing_is_an_empty_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
