/* A table of fields: what is written and left out, and that it reads back. */
#include "stats/fields.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum mood { MOOD_NONE, MOOD_GOOD, MOOD_BAD };
struct part {
	const char *name;
	double t_s;
};
struct thing {
	double mean_s, peak_bytes, whole_bytes, ratio;
	int64_t frames;
	uint32_t line;
	bool open, used;
	const char *code;
	enum mood mood;
	uint64_t start_real_ns, lasted_ns;
	struct sb_pair *tags;
	size_t tag_count;
	struct part *parts, first;
	size_t part_count;
	const char **words;
	size_t word_count;
	struct sb_stats time;
};

static const char *const moods[] = { NULL, "good", "bad", SB_NAMES_END };

SB_FIELD_WHEN(has_code, thing, it->code)

static const struct sb_field part_rows[] = {
	SB_FIELD(part, name, "name", SB_ALWAYS, "of the part"),
	SB_FIELD(part, t_s, "t_s", SB_KNOWN, "when", .decimals = 3),
};
static SB_FIELDS(part, part, "Part", "A part.");
static const struct sb_field thing_rows[] = {
	SB_FIELD_SCHEMA("test/1"),
	SB_FIELD(thing, mean_s, "mean_s", SB_KNOWN, "mean"),
	SB_FIELD(thing, ratio, "a_ratio", SB_OR_ZERO, "ratio"),
	SB_FIELD_AS(MB, thing, peak_bytes, "peak_mb", SB_KNOWN, "peak"),
	SB_FIELD_AS(WHOLE, thing, whole_bytes, "bytes", SB_ALWAYS, "bytes", .when = has_code),
	SB_FIELD(thing, frames, "frames", SB_KNOWN, "frames"),
	SB_FIELD(thing, line, "line", SB_SET, "line"),
	SB_FIELD(thing, open, "open", SB_SET, "open"),
	SB_FIELD(thing, used, "used", SB_ALWAYS, "used"),
	SB_FIELD(thing, code, "code", SB_KNOWN, "code"),
	SB_FIELD_NAMED(thing, mood, "mood", SB_KNOWN, moods, "mood"),
	SB_FIELD_AS(TIME, thing, start_real_ns, "start_time", SB_ALWAYS, "start"),
	SB_FIELD_AS(SECONDS, thing, lasted_ns, "lasted_s", SB_SET, "lasted"),
	SB_FIELD_ARRAY(thing, tags, tag_count, "tags", SB_ALWAYS, "tags"),
	SB_FIELD_LIST(thing, parts, part_count, "parts", SB_KNOWN, part, "parts"),
	SB_FIELD_STRUCT(thing, first, "first", SB_ALWAYS, part, "first"),
	SB_FIELD_ARRAY(thing, words, word_count, "words", SB_KNOWN, "words"),
	SB_FIELD_STRUCT(thing, time, "time", SB_KNOWN, sb_stats_s_fields, "time"),
};
static SB_FIELDS(thing, thing, "Thing", "A thing.");

static void expect(const struct thing *it, const char *json)
{
	struct sb_buf out = { 0 };
	struct sb_json j;

	sb_json_init(&j, &out, false);
	sb_fields_write(&thing, it, NULL, &j);
	assert_string_equal(sb_buf_text(&out), json);
	sb_buf_done(&out);
}

static struct thing everything(void)
{
	static struct sb_pair tags[] = { { .key = "seed", .type = STROBE_TYPE_INT, .i = 42 },
		{ .key = "rate", .type = STROBE_TYPE_FLOAT, .f = NAN } };
	static struct part parts[] = { { "one", 1.0004 }, { "two", NAN } };
	static const char *words[] = { "a", "b" };

	return (struct thing){ .mean_s = 0.1,
		.ratio = 0.5,
		.peak_bytes = 1536 * 1024,
		.whole_bytes = 7.9,
		.frames = 0,
		.line = 3,
		.open = true,
		.code = "4c",
		.mood = MOOD_BAD,
		.start_real_ns = 86400000000000u + 250000000u,
		.lasted_ns = 1500000000u,
		.tags = tags,
		.tag_count = 2,
		.parts = parts,
		.part_count = 2,
		.first = { "head", 2 },
		.words = words,
		.word_count = 2,
		.time = { .count = 1,
			.total = 2,
			.mean = 2,
			.min = 2,
			.max = 2,
			.p50 = 2,
			.p95 = 2,
			.p99 = 2,
			.std = NAN } };
}

static void every_kind_is_written(void **state)
{
	struct thing it = everything();

	expect(&it,
		"{\"schema\":\"test/"
		"1\",\"mean_s\":0.1,\"a_ratio\":0.5,\"peak_mb\":1.5,\"bytes\":7,\"frames\":0,"
		"\"line\":3,\"open\":true,\"used\":false,\"code\":\"4c\",\"mood\":\"bad\","
		"\"start_time\":\"1970-01-02T00:00:00.250+00:00\",\"lasted_s\":1.5,\"tags\":{\"seed\":42,"
		"\"rate\":\"nan\"},"
		"\"parts\":[{\"name\":\"one\",\"t_s\":1},{\"name\":\"two\"}],\"first\":{\"name\":\"head\","
		"\"t_s\":2},"
		"\"words\":[\"a\",\"b\"],\"time\":{\"count\":1,\"total_s\":2,\"mean_s\":2,\"min_s\":2,\"max_"
		"s\":2,"
		"\"p50_s\":2,\"p95_s\":2,\"p99_s\":2}}");
}

static void a_list_stands_alone(void **state)
{
	const struct part parts[] = { { "one", 1 }, { "two", 2 } };
	struct sb_buf out = { 0 };
	struct sb_json j;

	sb_json_init(&j, &out, false);
	sb_fields_write_list(&part, parts, 2, NULL, &j);
	assert_string_equal(sb_buf_text(&out), "[{\"name\":\"one\",\"t_s\":1},{\"name\":\"two\",\"t_s\":2}]");
	sb_buf_done(&out);
}

static void absent_is_left_out_by_its_rule(void **state)
{
	struct thing it = { .mean_s = NAN,
		.ratio = NAN,
		.peak_bytes = NAN,
		.frames = -1,
		.mood = 77,
		.first = { "x", NAN } };

	expect(&it,
		"{\"schema\":\"test/1\",\"a_ratio\":0,\"used\":false,"
		"\"start_time\":\"1970-01-01T00:00:00.000+00:00\",\"tags\":{},\"first\":{\"name\":\"x\"}}");
}

static void *give(void *owner, size_t size)
{
	void **free_slot = owner; /* of two: the arrays below */

	free_slot += *free_slot != NULL;
	assert_null(*free_slot);
	return *free_slot = calloc(1, size);
}

static void what_was_written_reads_back(void **state)
{
	struct thing it = everything(), back = { 0 };
	struct sb_buf out = { 0 };
	struct sb_jsondom_doc *doc;
	struct sb_json j;
	void *memory[2] = { 0 };

	sb_json_init(&j, &out, false);
	sb_fields_write(&thing, &it, NULL, &j);
	assert_int_equal(sb_jsondom_parse("it", sb_buf_text(&out), strlen(sb_buf_text(&out)), &doc), 0);
	sb_fields_read(&thing, sb_jsondom_root(doc), give, memory, &back);
	assert_true(back.mean_s == 0.1 && back.peak_bytes == 1536 * 1024 && back.whole_bytes == 7);
	assert_int_equal(back.frames, 0);
	assert_int_equal(back.line, 3);
	assert_true(back.open && !back.used && back.mood == MOOD_BAD);
	assert_string_equal(back.code, "4c");
	assert_int_equal(back.part_count, 2);
	assert_string_equal(back.parts[1].name, "two");
	assert_true(isnan(back.parts[1].t_s));
	assert_string_equal(back.first.name, "head");
	assert_int_equal(back.tag_count, 2);
	assert_true(back.tags[0].type == STROBE_TYPE_INT && back.tags[0].i == 42);
	assert_string_equal(back.tags[1].s, "nan");
	assert_true(back.start_real_ns == 86400000000000u + 250000000u);
	assert_true(back.lasted_ns == 1500000000u);
	assert_true(back.time.count == 1 && back.time.mean == 2 && isnan(back.time.std));
	free(memory[0]);
	free(memory[1]);
	sb_jsondom_free(doc);
	sb_buf_done(&out);
}

static void what_is_not_there_is_absent(void **state)
{
	static const char text[] = "{\"parts\":[3],\"frames\":\"many\",\"mood\":\"odd\",\"lasted_s\":1e300}";
	struct thing back = { 0 };
	struct sb_jsondom_doc *doc;
	void *memory[2] = { 0 };

	assert_int_equal(sb_jsondom_parse("it", text, sizeof text - 1, &doc), 0);
	sb_fields_read(&thing, sb_jsondom_root(doc), give, memory, &back);
	assert_true(isnan(back.mean_s) && isnan(back.peak_bytes) && isnan(back.first.t_s));
	assert_int_equal(back.frames, -1);
	assert_int_equal(back.mood, MOOD_NONE);
	assert_int_equal(back.part_count, 0);
	assert_true(back.lasted_ns == 0);
	assert_null(back.code);
	free(memory[0]);
	free(memory[1]);
	sb_jsondom_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_written),
		cmocka_unit_test(a_list_stands_alone),
		cmocka_unit_test(absent_is_left_out_by_its_rule),
		cmocka_unit_test(what_was_written_reads_back),
		cmocka_unit_test(what_is_not_there_is_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
