/* Reading ahead: the same bytes in the same order, the end, errors, and stopping early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "exchange/ahead.h"

#include <string.h>

struct numbers {
	uint32_t next, end;
	size_t most; /* numbers of one read */
	int fails; /* at the end */
};

static ssize_t read_numbers(void *self, char *to, size_t size)
{
	struct numbers *n = self;
	size_t count = size / sizeof n->next;

	if (count > n->most)
		count = n->most;
	if (count > n->end - n->next)
		count = n->end - n->next;
	for (size_t i = 0; i < count; i++, n->next++)
		memcpy(to + i * sizeof n->next, &n->next, sizeof n->next);
	if (!count && n->fails) {
		sb_fail(STROBE_EFORMAT, "number %u is damaged", n->end);
		return -1;
	}
	return (ssize_t)(count * sizeof n->next);
}

/* Takes all numbers, step bytes at a time; returns what ended them. */
static ssize_t take_all(struct sb_ahead *a, size_t step, uint32_t *out_count)
{
	uint32_t value, expected = 0;
	char kept[8];
	size_t have = 0;
	ssize_t n;

	while ((n = sb_ahead_read(a, kept + have, step < 4 - have ? step : 4 - have)) > 0) {
		have += (size_t)n;
		if (have < 4)
			continue;
		memcpy(&value, kept, 4);
		assert_int_equal(value, expected);
		expected++;
		have = 0;
	}
	*out_count = expected;
	return n;
}

static void bytes_come_in_order_then_the_end(void **state)
{
	const size_t most[] = { 1u << 20, 1000, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof most / sizeof most[0]; i++) {
		struct numbers n = { .end = most[i] == 1 ? 500 : 700000, .most = most[i] };
		struct sb_ahead *a = sb_ahead_new(read_numbers, &n);
		uint32_t count;

		assert_non_null(a);
		assert_int_equal(take_all(a, 3, &count), 0);
		assert_int_equal(count, n.end);
		assert_int_equal(take_all(a, 3, &count), 0);
		sb_ahead_free(a);
	}
}

static void an_error_comes_after_what_was_read_with_its_message(void **state)
{
	struct numbers n = { .end = 100000, .most = 77, .fails = 1 };
	struct sb_ahead *a = sb_ahead_new(read_numbers, &n);
	uint32_t count;

	(void)state;
	assert_int_equal(take_all(a, 4, &count), -1);
	assert_int_equal(count, 100000);
	assert_string_equal(sb_error_message(), "number 100000 is damaged");
	sb_fail(STROBE_EIO, "another");
	assert_int_equal(take_all(a, 4, &count), -1);
	assert_string_equal(sb_error_message(), "number 100000 is damaged");
	sb_ahead_free(a);
}

static void it_stops_before_the_end_and_reads_no_more_than_the_ring(void **state)
{
	struct numbers n = { .end = UINT32_MAX, .most = 1u << 20 };
	struct sb_ahead *a = sb_ahead_new(read_numbers, &n);
	uint32_t value;

	(void)state;
	assert_int_equal(sb_ahead_read(a, (char *)&value, 4), 4);
	sb_ahead_free(a);
	assert_true(n.next <= (SB_AHEAD_BLOCKS + 1) * SB_AHEAD_BLOCK_BYTES / 4);
	sb_ahead_free(NULL);
}

static void lent_bytes_come_in_order_with_what_was_unread_before_them(void **state)
{
	struct numbers n = { .end = 700000, .most = 1000 };
	struct sb_ahead *a = sb_ahead_new(read_numbers, &n);
	char none[1], byte;
	struct sb_jsonin_lent lent = { .bytes = none };
	uint32_t value, expected = 0;
	size_t unread = 0;

	(void)state;
	assert_non_null(a);
	while (sb_ahead_lend(a, lent.bytes + lent.size - unread, unread, &lent)) {
		const char *at = lent.bytes - unread;

		unread = expected % 3 * 4; /* these are seen again with the next */
		for (; at + unread < lent.bytes + lent.size; at += 4) {
			memcpy(&value, at, 4);
			assert_int_equal(value, expected);
			expected++;
		}
		memset(lent.bytes + lent.size, 'x', SB_JSONIN_AFTER);
	}
	assert_int_equal(expected + unread / 4, n.end);
	assert_int_equal(sb_ahead_read(a, &byte, 1), 0);
	assert_false(sb_ahead_lend(a, NULL, 0, &lent));
	sb_ahead_free(a);
}

static void an_error_is_not_lent_but_read(void **state)
{
	struct numbers n = { .end = 10, .most = 77, .fails = 1 };
	struct sb_ahead *a = sb_ahead_new(read_numbers, &n);
	struct sb_jsonin_lent lent;
	char byte;

	(void)state;
	assert_non_null(a);
	assert_int_equal(sb_ahead_read(a, &byte, 1), 1);
	assert_false(sb_ahead_lend(a, NULL, 0, &lent)); /* the rest of it is read first */
	for (int i = 0; i < 39; i++)
		assert_int_equal(sb_ahead_read(a, &byte, 1), 1);
	assert_false(sb_ahead_lend(a, NULL, 0, &lent));
	assert_int_equal(sb_ahead_read(a, &byte, 1), -1);
	assert_string_equal(sb_error_message(), "number 10 is damaged");
	sb_ahead_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_in_order_then_the_end),
		cmocka_unit_test(an_error_comes_after_what_was_read_with_its_message),
		cmocka_unit_test(it_stops_before_the_end_and_reads_no_more_than_the_ring),
		cmocka_unit_test(lent_bytes_come_in_order_with_what_was_unread_before_them),
		cmocka_unit_test(an_error_is_not_lent_but_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
