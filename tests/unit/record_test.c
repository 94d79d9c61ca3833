/* Attributes of single records, read back as the reader sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/cursor.h"
#include "format/reader.h"
#include "strobe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct read_back {
	uint32_t attr_count;
	struct sb_wire_attr attrs[8];
};

static void read_attrs(const struct sb_record *event, struct read_back *out)
{
	uint32_t at = 2;

	while (out->attr_count < 8 && sb_record_attr(event, &at, &out->attrs[out->attr_count]))
		out->attr_count++;
}

/* The attributes of the recording's events, all in one list. */
static void read_events(const char *path, struct read_back *out)
{
	struct sb_reader *r;
	struct sb_cursor cursor;
	struct sb_record record;
	struct sb_chunk_range range;
	uint64_t *buf;

	assert_int_equal(sb_reader_open(path, &r), 0);
	buf = malloc(r->head.chunk_bytes);
	range = sb_reader_range(r, SB_STREAM_KEEP, 0);
	for (uint32_t i = range.first; i < range.end; i++) {
		size_t words;
		const uint64_t *at = sb_reader_chunk(r, &r->chunks[i], buf, &words);

		assert_non_null(at);
		sb_cursor_init(&cursor, at, words, r->chunks[i].base_ticks);
		while (sb_cursor_next(&cursor, &record))
			if (record.kind == SB_LONG && record.type == SB_EVENT)
				read_attrs(&record, out);
	}
	free(buf);
	sb_reader_close(r);
}

static void an_empty_string_keeps_its_key_and_what_follows(void **state)
{
	const struct strobe_attr attrs[] = {
		{ .key = "prompt", .type = STROBE_TYPE_STRING, .value.s = "" },
		{ .key = "seed", .type = STROBE_TYPE_INT, .value.i = 42 },
		{ .key = "model", .type = STROBE_TYPE_STRING, .value.s = "12345678" },
	};
	char folder[] = "/tmp/strobe-test-XXXXXX", path[600], command[700];
	struct strobe_options options = { .size = sizeof options, .output_dir = mkdtemp(folder) };
	struct read_back got = { 0 };

	assert_int_equal(strobe_start(&options), 0);
	strobe_event("request", attrs, 3);
	assert_int_equal(strobe_stop(), 0);
	snprintf(path, sizeof path, "%s/run.strobe", strobe_run_dir());
	read_events(path, &got);
	assert_int_equal(got.attr_count, 3);
	assert_int_equal(got.attrs[0].type, STROBE_TYPE_STRING);
	assert_int_equal(got.attrs[0].key, strobe_name("prompt", NULL));
	assert_int_equal(got.attrs[0].size, 0);
	assert_int_equal(got.attrs[1].bits, 42);
	assert_int_equal(got.attrs[2].size, 8);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_string_keeps_its_key_and_what_follows),
	};

	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	setenv("STROBE_MONITOR", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
