/* The exporters' numbers: every digit in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exchange/out.h"

#include <inttypes.h>
#include <stdio.h>

static void same_as_printf(uint64_t value)
{
	char put[64] = { 0 }, expected[64];

	*sb_put_u64(put, value) = '|'; /* the end is where the next thing goes */
	snprintf(expected, sizeof expected, "%" PRIu64 "|", value);
	assert_string_equal(put, expected);
}

static void whole_numbers_are_what_printf_writes(void **state)
{
	uint64_t power = 1;

	same_as_printf(0);
	same_as_printf(UINT64_MAX);
	for (int i = 0; i < 20; i++, power *= 10) {
		same_as_printf(power - 1);
		same_as_printf(power);
		same_as_printf(power + 1);
	}
	for (int bit = 0; bit < 64; bit++) {
		same_as_printf(1ull << bit);
		same_as_printf((1ull << bit) - 1);
	}
}

static void microseconds_have_three_decimals(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = { { 0, "0.000" }, { 7, "0.007" }, { 1234567, "1234.567" }, { -1500, "-1.500" },
		{ INT64_MIN, "-9223372036854775.808" } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char put[64] = { 0 };

		sb_put_us(put, cases[i].ns);
		assert_string_equal(put, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_what_printf_writes),
		cmocka_unit_test(microseconds_have_three_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
