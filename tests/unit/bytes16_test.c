/* Sixteen bytes at once give what one at a time gives, at every place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes16.h"

static void first_is_the_place_of_the_first_match(void **state)
{
	char bytes[16];

	(void)state;
	memset(bytes, 'a', sizeof bytes);
	assert_int_equal(sb_bytes16_first(sb_bytes16_load(bytes) == 'x'), 16);
	for (unsigned last = 16; last-- > 0;) {
		bytes[last] = 'x'; /* those after it match, too */
		assert_int_equal(sb_bytes16_first(sb_bytes16_load(bytes) == 'x'), last);
	}
}

static void bytes_past_ascii_are_below_zero(void **state)
{
	char bytes[16];

	(void)state;
	for (int c = 0; c < 256; c++) {
		memset(bytes, 'a', sizeof bytes);
		bytes[9] = (char)c;
		assert_int_equal(
			sb_bytes16_first(sb_bytes16_load(bytes) < ' '), c < ' ' || c >= 0x80 ? 9 : 16);
	}
}

static void count_takes_every_length_and_more_than_a_byte_holds(void **state)
{
	static char bytes[16 * 700];
	uint64_t expected = 0;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = i % 7 && i > 16 ? 'a' : '\n';
	for (size_t size = 0; size < 100; size++) {
		assert_int_equal(sb_bytes16_count(bytes, bytes + size, '\n'), expected);
		expected += bytes[size] == '\n';
	}
	memset(bytes, '\n', sizeof bytes);
	assert_int_equal(sb_bytes16_count(bytes, bytes + sizeof bytes, '\n'), sizeof bytes);
	assert_int_equal(sb_bytes16_count(bytes, bytes + sizeof bytes, 'a'), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_is_the_place_of_the_first_match),
		cmocka_unit_test(bytes_past_ascii_are_below_zero),
		cmocka_unit_test(count_takes_every_length_and_more_than_a_byte_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
