/* Members and values that are written as they were the last time: what is read does not change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/jsonin_habit.h"
#include "../habit_walk.h"

#include <string.h>

static const char *const documents[] = {
	"[{\"ph\": \"X\", \"pid\": 62, \"args\": {\"id\": 1}}, {\"ph\": \"X\", \"pid\": 62, \"args\": "
	"{\"id\": 1}}]",
	"[{\"a\": 62}, {\"a\": 623}, {\"a\": 62.5}, {\"a\": 62e1}, {\"a\": 62 }, {\"a\": 62}]", /* goes on */
	"[{\"a\": \"x\"}, {\"a\": \"xy\"}, {\"a\": \"x\\n\"}, {\"a\": \"\\u0078\"}, {\"a\": \"x\"}]",
	"[{\"a\":1,\"b\":2},{\"a\":1 ,\"b\":2},{ \"a\":1,\"b\": 2},{\"a\" :1,\"b\":\n2}, {}, {\"a\":1}]",
	"[{\n    \"name\": \"n\",\n    \"dur\": 2.443\n    ,\n    \"args\": {\n    }\n  },\n  {\n    "
	"\"name\": \"n\",\n"
	"    \"dur\": 2.443\n    ,\n    \"args\": {\n    }\n  }\n]",
	"[{\"a\": {\"a\": {\"a\": {}}}}, {\"a\": {\"a\": {\"a\": {}}}}, {\"a\": [], \"a\": null}, {\"a\": "
	"true}]",
	"[{\"a\\u0062\": 1}, {\"a\\u0062\": 1}, {\"ab\": 1}, {\"\xc3\xa9\": 1}, {\"\xc3\xa9\": 1}]",
	"[{\"a key that is longer than what is kept of the way a member begins\": 1}, {\"a\": 1}, {\"a\": "
	"1}]",
	/* and what is not JSON */
	"[{\"a\": 1}, {\"a\": 1,}]",
	"[{\"a\": 1}, {\"a\": 1 \"b\": 2}]",
	"[{\"a\": 1}, {, \"a\": 1}]",
	"[{\"a\": 1},\n {\"a\": 1}, {\"a\": 1}\n, {\"a\": 01}]",
	"[{\"a\": 1}, {\"a\": 1]",
	"[{\"a\": 1}, {\"a\"",
	"{\"a\": \"\x01\"}",
	"",
};

static void the_same_is_read_by_habit_from_lent_bytes_of_any_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
		for (size_t step = 1; step <= 200; step += step < 60 ? 1 : 35)
			for (size_t limit = 3; limit <= 1000; limit += 997)
				assert_true(reads_the_same_by_habit(
					documents[i], strlen(documents[i]), step, limit));
}

static void start(struct sb_jsonin *p, struct text_source *source, const char *text)
{
	*source = (struct text_source){ text, strlen(text), 4096 };
	assert_int_equal(sb_jsonin_init(p, "in", 1000, text_source_read, source), 0);
}

static void a_member_keeps_its_meaning_until_it_begins_otherwise(void **state)
{
	struct sb_jsonin_habit habit = { 0 };
	struct text_source source;
	struct sb_jsonin p;

	(void)state;
	start(&p, &source, "[{\"a\": 1}, {\"a\": 2}, {\"b\": 3}]");
	assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_ARRAY);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_OBJECT);
		assert_int_equal(sb_jsonin_next_usual(&p, &habit), SB_JSONIN_KEY);
		assert_int_equal(habit.meaning, i == 1 ? 7 : 0);
		assert_int_equal(p.text[0], i < 2 ? 'a' : 'b');
		habit.meaning = 7;
		assert_int_equal(sb_jsonin_next_value(&p), SB_JSONIN_NUMBER);
		assert_int_equal(p.number.mantissa, i + 1);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_OBJECT_END);
	}
	sb_jsonin_done(&p);
}

static void a_value_that_is_not_wanted_is_checked_like_any_other(void **state)
{
	const char *const values[] = { "7", "0", "123456789012345", "1234567890123456", "-1", "1.5", "\"x\"",
		"true", "null" };
	const char *const wrong[] = { "07", "1x", "-", "1.", "}", "tru" };
	struct text_source source;
	struct sb_jsonin p;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		snprintf(text, sizeof text, "{\"a\": %s}", values[i]);
		start(&p, &source, text);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_OBJECT);
		assert_int_equal(sb_jsonin_next_member(&p), SB_JSONIN_KEY);
		assert_true(sb_jsonin_pass_value(&p) >= SB_JSONIN_STRING);
		assert_int_equal(sb_jsonin_next_member(&p), SB_JSONIN_OBJECT_END);
		sb_jsonin_done(&p);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		snprintf(text, sizeof text, "{\"a\": %s}", wrong[i]);
		start(&p, &source, text);
		assert_int_equal(sb_jsonin_next(&p), SB_JSONIN_OBJECT);
		assert_int_equal(sb_jsonin_next_member(&p), SB_JSONIN_KEY);
		assert_true(sb_jsonin_pass_value(&p) == SB_JSONIN_ERROR ||
			    sb_jsonin_next_member(&p) == SB_JSONIN_ERROR);
		sb_jsonin_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_is_read_by_habit_from_lent_bytes_of_any_size),
		cmocka_unit_test(a_member_keeps_its_meaning_until_it_begins_otherwise),
		cmocka_unit_test(a_value_that_is_not_wanted_is_checked_like_any_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
