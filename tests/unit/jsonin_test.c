/* The streaming JSON reader: grammar, offsets, limits, numbers, small windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/jsonin.h"
#include "close_within.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	const char *text;
	size_t left;
	size_t step; /* at most this much per read */
};

static ssize_t read_source(void *opaque, char *to, size_t size)
{
	struct source *s = opaque;
	size_t n = size < s->left ? size : s->left;

	if (s->step && n > s->step)
		n = s->step;
	memcpy(to, s->text, n);
	s->text += n;
	s->left -= n;
	return (ssize_t)n;
}

/* Reads everything; returns "" or the error. */
static const char *read_all(const char *text, size_t size, size_t step)
{
	struct source s = { text, size, step };
	struct sb_jsonin p;
	enum sb_jsonin_token token;

	assert_int_equal(sb_jsonin_init(&p, "in", 1000, read_source, &s), 0);
	do
		token = sb_jsonin_next(&p);
	while (token > 0);
	sb_jsonin_done(&p);
	return token == SB_JSONIN_ERROR ? sb_error_message() : "";
}

static void expect_error(const char *text, const char *message)
{
	assert_string_equal(read_all(text, strlen(text), 0), message);
	assert_string_equal(read_all(text, strlen(text), 1), message);
}

static void expect_good(const char *text)
{
	assert_string_equal(read_all(text, strlen(text), 0), "");
	assert_string_equal(read_all(text, strlen(text), 1), "");
}

static void what_json_allows_is_read(void **state)
{
	expect_good("{}");
	expect_good(" [ ] ");
	expect_good("[1,-0,0.5,1e5,1E-5,-1.25e+3]");
	expect_good("{\"a\" : {\"b\":[true,false,null]}, \"\":\"\"}");
	expect_good("\"\\u00e9\\ud83d\\ude00\\ud800 \\\"\\\\\\/\\b\\f\\n\\r\\t\"");
	expect_good("\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
	expect_good("0");
}

static void errors_name_line_and_byte(void **state)
{
	expect_error("", "'in' line 1, byte 0: the file ends where a value should be");
	expect_error("{\n\"a\": 1,\n}", "'in' line 3, byte 10: expected a name in quotes, found '}'");
	expect_error("[1 2]", "'in' line 1, byte 3: expected ',' or ']', found '2'");
	expect_error("[1,]", "'in' line 1, byte 3: expected a value, found ']'");
	expect_error("[1}", "'in' line 1, byte 2: expected ',' or ']', found '}'");
	expect_error("{\"a\" 1}", "'in' line 1, byte 5: expected ':', found '1'");
	expect_error("[NaN]", "'in' line 1, byte 1: expected a value (NaN and Infinity are not JSON)");
	expect_error("[nan]", "'in' line 1, byte 1: expected a value (NaN and Infinity are not JSON)");
	expect_error("[1", "'in' line 1, byte 2: the file ends where ',' or ']' should be");
	expect_error("[\"ab", "'in' line 1, byte 4: the file ends inside a string");
	expect_error("[\"ab\\", "'in' line 1, byte 5: the file ends inside a string");
	expect_error("[\"ab\\u12", "'in' line 1, byte 8: the file ends inside a string");
	expect_error("[\"a\\x\"]", "'in' line 1, byte 3: no such escape in a string");
	expect_error("[\"a\nb\"]", "'in' line 1, byte 3: control character 0x0a in a string");
	expect_error("\"a\xff\"", "'in' line 1, byte 2: byte 0xff is not UTF-8");
	expect_error("\"\xed\xa0\x80\"", "'in' line 1, byte 1: byte 0xed is not UTF-8");
	expect_error("\"\xc0\xaf\"", "'in' line 1, byte 1: byte 0xc0 is not UTF-8");
	expect_error("01", "'in' line 1, byte 0: not a number that JSON allows");
	expect_error("-", "'in' line 1, byte 0: not a number that JSON allows");
	expect_error("1.", "'in' line 1, byte 0: not a number that JSON allows");
	expect_error("1e", "'in' line 1, byte 0: not a number that JSON allows");
	expect_error("{} {}", "'in' line 1, byte 3: expected the end of the file, found '{'");
	expect_error("tru", "'in' line 1, byte 0: expected a value, found 't'");
}

static void nul_bytes_are_refused_everywhere(void **state)
{
	assert_string_equal(
		read_all("[1,\0 2]", 7, 0), "'in' line 1, byte 3: expected a value, found byte 0x00");
	assert_string_equal(
		read_all("[\"a\0b\"]", 7, 0), "'in' line 1, byte 3: control character 0x00 in a string");
	assert_string_equal(
		read_all("1\0", 2, 0), "'in' line 1, byte 1: expected the end of the file, found byte 0x00");
}

static void a_million_levels_are_refused_at_the_limit(void **state)
{
	size_t size = 1000000;
	char *text = malloc(size);

	memset(text, '[', size);
	assert_string_equal(read_all(text, size, 0), "'in' line 1, byte 512: nested deeper than 512 levels");
	free(text);
}

static void long_strings_are_cut_and_still_checked(void **state)
{
	size_t size = 3000000;
	char *text = malloc(size + 3);
	struct source s = { text, size + 2, 0 };
	struct sb_jsonin p;

	memset(text, 'x', size + 2);
	text[0] = text[size + 1] = '"';
	assert_int_equal(sb_jsonin_init(&p, "in", 1000, read_source, &s), 0);
	assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_STRING);
	assert_true(p.cut);
	assert_int_equal(p.size, 1000);
	assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_END);
	sb_jsonin_done(&p);
	text[size] = 1;
	assert_string_equal(
		read_all(text, size + 2, 0), "'in' line 1, byte 3000000: control character 0x01 in a string");
	free(text);
}

static void tokens_may_straddle_any_read(void **state)
{
	const char *text = "{\"k\\u0041y\":[-12.5e2,\"v\\ud83d\\ude00\xc3\xa9\",true],\"n\"  \n : null}";

	for (size_t step = 1; step < 20; step++) {
		struct source s = { text, strlen(text), step };
		struct sb_jsonin p;

		assert_int_equal(sb_jsonin_init(&p, "in", 1000, read_source, &s), 0);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_OBJECT);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_KEY);
		assert_memory_equal(p.text, "kAy", 3);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_ARRAY);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_NUMBER);
		assert_true(sb_jsonin_double(&p) == -1250);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_STRING);
		assert_int_equal(p.size, 7);
		assert_memory_equal(p.text, "v\xf0\x9f\x98\x80\xc3\xa9", 7);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_TRUE);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_ARRAY_END);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_KEY);
		assert_int_equal(p.size, 1);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_NULL);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_OBJECT_END);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_END);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_END);
		sb_jsonin_done(&p);
	}
}

static void offsets_are_right_after_many_windows(void **state)
{
	size_t count = 200000;
	char *text = malloc(count * 8 + 64);
	size_t size = 1;
	char expected[128];

	text[0] = '[';
	for (size_t i = 0; i < count; i++)
		size += (size_t)sprintf(text + size, "%zu,\n", i % 1000);
	snprintf(expected, sizeof expected, "'in' line %zu, byte %zu: expected a value, found 'x'", count + 1,
		size);
	size += (size_t)sprintf(text + size, "x]");
	assert_string_equal(read_all(text, size, 0), expected);
	assert_string_equal(read_all(text, size, 777), expected);
	free(text);
}

static void skip_passes_over_one_value(void **state)
{
	const char *text = "[{\"a\":[1,{}]},7]";
	struct source s = { text, strlen(text), 0 };
	struct sb_jsonin p;

	assert_int_equal(sb_jsonin_init(&p, "in", 1000, read_source, &s), 0);
	assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_ARRAY);
	assert_int_equal(sb_jsonin_skip(&p, sb_jsonin_next(&p)), 0);
	assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_NUMBER);
	assert_int_equal(sb_jsonin_skip(&p, SB_JSONIN_NUMBER), 0);
	assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_ARRAY_END);
	sb_jsonin_done(&p);
}

static void an_array_may_stop_between_elements(void **state)
{
	static const struct {
		const char *text;
		bool between;
	} cases[] = { { "[{}", true }, { "[{},", true }, { "[{},\n", true }, { "[{", false },
		{ "[{}, {\"a\":1", false }, { "{\"a\":[1", false }, { "[", false }, { "[1 x", false } };

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct source s = { cases[i].text, strlen(cases[i].text), 0 };
		struct sb_jsonin p;

		assert_int_equal(sb_jsonin_init(&p, "in", 1000, read_source, &s), 0);
		while (sb_jsonin_next(&p) != SB_JSONIN_ERROR)
			;
		assert_int_equal(sb_jsonin_ended_between_elements(&p), cases[i].between);
		sb_jsonin_done(&p);
	}
}

static void numbers_scale_exactly(void **state)
{
	static const struct {
		const char *text;
		int shift;
		bool fits;
		int64_t value;
	} cases[] = {
		{ "1234567890123.456", 3, true, 1234567890123456 },
		{ "0.0004", 3, true, 0 },
		{ "0.0005", 3, true, 1 },
		{ "-2.5", 0, true, -3 },
		{ "2.4999", 0, true, 2 },
		{ "9223372036854775807", 0, true, INT64_MAX },
		{ "9223372036854775808", 0, false, 0 },
		{ "1e18", 3, false, 0 },
		{ "1e300", 0, false, 0 },
		{ "1e-300", 3, true, 0 },
		{ "0e999999", 3, true, 0 },
		{ "1.7000000000000001e3", 3, true, 1700000 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sb_jsonin_number n;
		int64_t value = 0;

		assert_true(sb_jsonin_parse_number(cases[i].text, strlen(cases[i].text), &n));
		assert_int_equal(sb_jsonin_scaled(&n, cases[i].shift, &value), cases[i].fits);
		assert_int_equal(value, cases[i].value);
	}
}

/* One digit at a time, as the header of the number says. */
static struct sb_jsonin_number slow_number(const char *text)
{
	struct sb_jsonin_number n = { 0 };
	int step = 0;

	for (; *text; text++) {
		if (*text == '.') {
			step = -1;
		} else if (n.mantissa < 1000000000000000000ull) {
			n.mantissa = n.mantissa * 10 + (uint64_t)(*text - '0');
			n.exponent += step;
		} else {
			n.inexact |= *text != '0';
			n.exponent += 1 + step;
		}
	}
	return n;
}

static void digits_are_read_alike_at_every_length(void **state)
{
	static const char digits[] = "9182736455463728190120000000000000000000417";

	(void)state;
	for (int size = 1; size <= 42; size++) {
		for (int point = 0; point < size; point++) {
			struct sb_jsonin_number n, expected;
			char text[64];

			snprintf(text, sizeof text, "%.*s%s%.*s", point ? point : size, digits,
				point ? "." : "", point ? size - point : 0, digits + point);
			expected = slow_number(text);
			assert_true(sb_jsonin_parse_number(text, strlen(text), &n));
			assert_true(n.mantissa == expected.mantissa && n.exponent == expected.exponent &&
				    n.inexact == expected.inexact && !n.negative);
		}
	}
}

static void space_of_every_length_is_passed_and_nothing_else(void **state)
{
	static const char kinds[] = " \n\t\r";

	(void)state;
	for (int size = 0; size < 70; size++) {
		for (int kind = 0; kind < 5; kind++) {
			char space[80] = { 0 }, text[200], message[100];
			int lines = 1;

			for (int i = 0; i < size; i++) {
				space[i] = kind < 4 ? kinds[kind] : kinds[(i * 7 + size) % 4];
				lines += space[i] == '\n';
			}
			snprintf(text, sizeof text, "[1,%s2%s]", space, space);
			expect_good(text);
			snprintf(text, sizeof text, "[%s\x01]", space);
			snprintf(message, sizeof message,
				"'in' line %d, byte %d: expected a value, found byte 0x01", lines, size + 1);
			expect_error(text, message);
		}
	}
}

static void whole_numbers_are_told_from_others(void **state)
{
	struct sb_jsonin_number n;
	int64_t value = 0;

	assert_true(sb_jsonin_parse_number("120e-1", 6, &n) && sb_jsonin_int(&n, &value));
	assert_int_equal(value, 12);
	assert_true(sb_jsonin_parse_number("1.5", 3, &n) && !sb_jsonin_int(&n, &value));
	assert_true(sb_jsonin_parse_number("123456789012345678901", 21, &n) && !sb_jsonin_int(&n, &value));
	assert_false(sb_jsonin_parse_number("1.5x", 4, &n));
	assert_false(sb_jsonin_parse_number("", 0, &n));
}

/* ---- the calls of a caller that knows where it is ---- */

struct knowing {
	struct sb_jsonin p;
	bool object[64]; /* the open containers */
	bool key; /* the token before was one */
};

/* The call that fits the place. */
static enum sb_jsonin_token next_known(struct knowing *k)
{
	unsigned depth = k->p.depth;
	enum sb_jsonin_token token;

	if (k->key)
		token = sb_jsonin_next_value(&k->p);
	else if (!depth)
		token = sb_jsonin_next(&k->p);
	else if (k->object[depth - 1])
		token = sb_jsonin_next_member(&k->p);
	else
		token = sb_jsonin_next_element(&k->p);
	k->key = token == SB_JSONIN_KEY;
	if (token == SB_JSONIN_OBJECT || token == SB_JSONIN_ARRAY)
		k->object[k->p.depth - 1] = token == SB_JSONIN_OBJECT;
	return token;
}

/* Token by token the same, to the same end or the same error. */
static void expect_alike(const char *text, size_t size, size_t step)
{
	struct source one = { text, size, step }, other = { text, size, step };
	struct knowing k = { .key = false };
	enum sb_jsonin_token token, known;
	char message[1000];
	struct sb_jsonin p;

	assert_int_equal(sb_jsonin_init(&p, "in", 12, read_source, &one), 0);
	assert_int_equal(sb_jsonin_init(&k.p, "in", 12, read_source, &other), 0);
	do {
		token = sb_jsonin_next(&p);
		snprintf(message, sizeof message, "%s", token == SB_JSONIN_ERROR ? sb_error_message() : "");
		known = next_known(&k);
		assert_int_equal(token, known);
		assert_int_equal(p.depth, k.p.depth);
		if (token == SB_JSONIN_ERROR)
			assert_string_equal(message, sb_error_message());
		else
			assert_int_equal(p.token_offset, k.p.token_offset);
		if (token == SB_JSONIN_KEY || token == SB_JSONIN_STRING || token == SB_JSONIN_NUMBER) {
			assert_int_equal(p.size, k.p.size);
			assert_memory_equal(p.text, k.p.text, p.size);
		}
		if (token == SB_JSONIN_KEY || token == SB_JSONIN_STRING)
			assert_int_equal(p.cut, k.p.cut);
		if (token == SB_JSONIN_NUMBER) {
			assert_int_equal(p.number.negative, k.p.number.negative);
			assert_int_equal(p.number.inexact, k.p.number.inexact);
			close_within(sb_jsonin_double(&p), sb_jsonin_double(&k.p), 0);
		}
	} while (token > 0);
	sb_jsonin_done(&p);
	sb_jsonin_done(&k.p);
}

static const char members[] =
	"{\"ph\": \"X\",\"a\" :\"b\",\n  \"ts\": 17123456789012.345, \"n\":-0,\"f\": 0.25,"
	"\"long\": 123456789012345678901234,\"p\": 1234567.1234567,\"q\":1.12345678,\n\n"
	"\"e\":1e5,\"args\": {\"grid\": [64, 1,1 ], \"s\":\"\\u00e9\",\"u\":\"\xc3\xa9\","
	"\"longer than the limit\": \"longer than the limit, too\"},\"t\":true,\"z\":[],\"o\":{}, "
	"\"m\": [\"a\", [1.5], null, {\"k\": 12345678}, 123456789012345 ]}";

static void who_knows_where_it_is_reads_the_same(void **state)
{
	size_t size = sizeof members - 1;

	for (size_t step = 0; step < 40; step++)
		expect_alike(members, size, step);
	for (size_t end = 0; end < size; end++)
		expect_alike(members, end, 0);
}

static void it_refuses_the_same(void **state)
{
	static const char bytes[] = "\0 \n\t\",:{}[]\\.-+09aeE\x80";
	char text[sizeof members];

	for (size_t at = 0; at + 1 < sizeof members; at++) {
		memcpy(text, members, sizeof members);
		for (size_t b = 0; b + 1 < sizeof bytes; b++) {
			text[at] = bytes[b];
			expect_alike(text, sizeof members - 1, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_knows_where_it_is_reads_the_same),
		cmocka_unit_test(it_refuses_the_same),
		cmocka_unit_test(what_json_allows_is_read),
		cmocka_unit_test(errors_name_line_and_byte),
		cmocka_unit_test(nul_bytes_are_refused_everywhere),
		cmocka_unit_test(a_million_levels_are_refused_at_the_limit),
		cmocka_unit_test(long_strings_are_cut_and_still_checked),
		cmocka_unit_test(tokens_may_straddle_any_read),
		cmocka_unit_test(offsets_are_right_after_many_windows),
		cmocka_unit_test(skip_passes_over_one_value),
		cmocka_unit_test(an_array_may_stop_between_elements),
		cmocka_unit_test(numbers_scale_exactly),
		cmocka_unit_test(digits_are_read_alike_at_every_length),
		cmocka_unit_test(space_of_every_length_is_passed_and_nothing_else),
		cmocka_unit_test(whole_numbers_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
