/* The tree reader for small JSON documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/jsondom.h"

#include <string.h>

static struct sb_jsondom_doc *parse(const char *text)
{
	struct sb_jsondom_doc *doc = NULL;

	assert_int_equal(sb_jsondom_parse("in", text, strlen(text), &doc), 0);
	return doc;
}

static void values_are_found_by_path(void **state)
{
	struct sb_jsondom_doc *doc = parse(
		"{\"a\":{\"b\":[1,2.5,\"x\"],\"t\":true,\"n\":null},\"big\":9007199254740993}");
	const struct sb_jsondom *root = sb_jsondom_root(doc);
	const struct sb_jsondom *b = sb_jsondom_path(root, "a.b");
	int sum = 0;

	assert_int_equal(b->type, SB_JSONDOM_ARRAY);
	assert_int_equal(b->size, 3);
	assert_true(b->first->is_int);
	assert_false(b->first->next->is_int);
	assert_true(b->first->next->number == 2.5);
	for (sb_jsondom_each(child, b))
		sum += (int)sb_jsondom_int(child, 100);
	assert_int_equal(sum, 103);
	assert_true(sb_jsondom_bool(sb_jsondom_path(root, "a.t"), false));
	assert_int_equal(sb_jsondom_path(root, "a.n")->type, SB_JSONDOM_NULL);
	assert_int_equal(sb_jsondom_int(sb_jsondom_get(root, "big"), 0), 9007199254740993);
	sb_jsondom_free(doc);
}

static void absent_things_answer_with_the_default(void **state)
{
	struct sb_jsondom_doc *doc = parse("{\"a\":\"text\"}");
	const struct sb_jsondom *root = sb_jsondom_root(doc);

	assert_null(sb_jsondom_path(root, "a.b.c"));
	assert_true(sb_jsondom_number(sb_jsondom_get(NULL, "x"), -1) == -1);
	assert_int_equal(sb_jsondom_int(sb_jsondom_get(root, "a"), 7), 7);
	assert_string_equal(sb_jsondom_string(sb_jsondom_get(root, "a"), ""), "text");
	assert_string_equal(sb_jsondom_string(sb_jsondom_get(root, "b"), "none"), "none");
	for (sb_jsondom_each(child, sb_jsondom_get(root, "b")))
		fail();
	sb_jsondom_free(doc);
}

static void an_error_frees_and_names_the_place(void **state)
{
	struct sb_jsondom_doc *doc = NULL;

	assert_int_equal(sb_jsondom_parse("r.json", "{\"a\":[1,2", 9, &doc), STROBE_EFORMAT);
	assert_null(doc);
	assert_string_equal(
		sb_error_message(), "'r.json' line 1, byte 9: the file ends where ',' or ']' should be");
	assert_int_equal(sb_jsondom_read("/no/such/file", 100, &doc), STROBE_ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_found_by_path),
		cmocka_unit_test(absent_things_answer_with_the_default),
		cmocka_unit_test(an_error_frees_and_names_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
