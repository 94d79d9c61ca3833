/* What strobe share does with records it cannot read: their texts are not given away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "exchange/share.h"
#include "format/builder.h"
#include "format/run_keys.h"
#include "format/wire.h"
#include "root_folder.h"

#include <string.h>

#define SECRET "a cat, secretly"

/* The payload of a record: a length, and a text behind it. */
static void put_text(struct sb_builder *b, uint32_t type, uint64_t length)
{
	uint64_t payload[3] = { length };

	memcpy(payload + 1, SECRET, sizeof SECRET);
	sb_builder_record(b, type, 7, payload, 3);
}

static bool holds(const struct sb_buf *bytes, const char *text)
{
	return memmem(bytes->data, bytes->size, text, strlen(text)) != NULL;
}

static void assert_not_given_away(uint32_t type, uint64_t length)
{
	struct sb_share_summary summary;
	struct sb_buf before = { 0 }, after = { 0 };
	struct sb_builder *b;
	struct sb_run *run;

	assert_int_equal(sb_builder_open(in_root("a.strobe"), NULL, &b), 0);
	sb_builder_snapshot(b, 5, "after_decode", 0, 1, 2, 3);
	put_text(b, type, length);
	assert_int_equal(sb_builder_close(b, 10), 0);
	assert_int_equal(sb_run_open(in_root("a.strobe"), NULL, &run), 0);
	assert_int_equal(sb_share_write(run, in_root("shared"), &summary), 0);
	sb_run_close(run);
	assert_int_equal(sb_buf_read_file(&before, in_root("a.strobe"), 1 << 24), 0);
	assert_int_equal(sb_buf_read_file(&after, in_root("shared"), 1 << 24), 0);
	assert_true(holds(&before, SECRET));
	assert_true(holds(&after, "after_decode"));
	assert_false(holds(&after, SECRET));
	sb_buf_done(&before);
	sb_buf_done(&after);
}

static void a_record_of_a_newer_recorder_is_cleared(void **state)
{
	(void)state;
	assert_not_given_away(200, sizeof SECRET);
}

static void a_text_longer_than_its_record_is_cleared(void **state)
{
	(void)state;
	assert_not_given_away(SB_TRACK, 9999);
}

static void a_name_longer_than_its_record_is_cleared(void **state)
{
	(void)state;
	assert_not_given_away(SB_NAME, 9999);
}

/* Else a report of what was shared would not say what held memory. */
static void what_held_memory_is_kept(void **state)
{
	struct strobe_attr ours[] = { { "at", STROBE_TYPE_STRING, { .s = "out_of_memory" } },
		{ "component", STROBE_TYPE_STRING, { .s = "weights of transformer" } },
		{ "prompt", STROBE_TYPE_STRING, { .s = SECRET } } };
	struct strobe_attr theirs[] = { { "component", STROBE_TYPE_STRING, { .s = "a dog, secretly" } } };
	struct sb_share_summary summary;
	struct sb_buf after = { 0 };
	struct sb_builder *b;
	struct sb_run *run;

	(void)state;
	assert_int_equal(sb_builder_open(in_root("a.strobe"), NULL, &b), 0);
	sb_builder_event(b, 5, SB_EVENT_RESIDENT, 0, ours, 3);
	sb_builder_event(b, 6, "checkpoint", 0, theirs, 1);
	assert_int_equal(sb_builder_close(b, 10), 0);
	assert_int_equal(sb_run_open(in_root("a.strobe"), NULL, &run), 0);
	assert_int_equal(sb_share_write(run, in_root("shared"), &summary), 0);
	sb_run_close(run);
	assert_int_equal(sb_buf_read_file(&after, in_root("shared"), 1 << 24), 0);
	assert_true(holds(&after, "out_of_memory") && holds(&after, "weights of transformer"));
	assert_false(holds(&after, SECRET) || holds(&after, "a dog, secretly"));
	sb_buf_done(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_record_of_a_newer_recorder_is_cleared, make_root, remove_root),
		cmocka_unit_test_setup_teardown(
			a_text_longer_than_its_record_is_cleared, make_root, remove_root),
		cmocka_unit_test_setup_teardown(
			a_name_longer_than_its_record_is_cleared, make_root, remove_root),
		cmocka_unit_test_setup_teardown(what_held_memory_is_kept, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
