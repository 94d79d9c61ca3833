/* Stages that were skipped, not timed, never ended or cut, and how the stage log tells them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/build.h"
#include "report/panels/stages.h"
#include "report/text.h"
#include "stage_rows.h"

static void skipped_and_untimed_stages_are_rows_with_a_state(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	struct sb_buf text = { 0 };

	synthetic_open(&s);
	synthetic_begin(&s, 0, "DiffuEraser", 0);
	zone(&s, 0, 1647 * CS, "VAE encode", "4c");
	sb_builder_begin(s.main, 1700 * CS, sb_builder_name(s.b, "Deep copy", "4d"));
	synthetic_attr(&s, "untimed", 1);
	synthetic_end(&s, 1700 * CS);
	sb_builder_skip(s.b, 1710 * CS, "Pre-inference", "4e", "keyframe pass disabled");
	synthetic_end(&s, 2000 * CS);
	m = synthetic_model(&s, 2000 * CS);
	assert_int_equal(stage(m, "Deep copy")->state, SB_STAGE_UNTIMED);
	assert_int_equal(stage(m, "Pre-inference")->state, SB_STAGE_SKIPPED);
	assert_string_equal(stage(m, "Pre-inference")->skip_reason, "keyframe pass disabled");
	assert_true(stage(m, "Pre-inference")->parent >= 0);
	assert_int_equal(sb_report_text(m, NULL, &text), 0);
	assert_non_null(strstr(sb_buf_text(&text), "[4c] VAE encode: 16.47s"));
	assert_non_null(strstr(sb_buf_text(&text), "[4d] Deep copy: untimed"));
	assert_non_null(strstr(sb_buf_text(&text), "[4e] Pre-inference: SKIPPED (keyframe pass disabled)"));
	assert_non_null(strstr(sb_buf_text(&text), "DiffuEraser total: 20.00s"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* Skipped at the top, timed inside a stage without a code: the codes decide. */
static void the_log_is_in_the_order_of_codes_whatever_is_around_them(void **state)
{
	struct synthetic s;
	struct sb_buf text = { 0 };
	const char *at;

	synthetic_open(&s);
	sb_builder_skip(s.b, 1, "upscale", "5", "not asked for");
	zone(&s, 10, 20, "text encode", "1");
	synthetic_begin(&s, 100, "block", 0);
	zone(&s, 100, 200, "denoise", "2");
	zone(&s, 200, 300, "VAE decode", "10");
	synthetic_end(&s, 300);
	zone(&s, 300, 310, "safety", "3");
	sb_stages_log(synthetic_model(&s, 1000), &(struct sb_text_options){ .columns = 80 }, &text);
	at = sb_buf_text(&text);
	for (size_t i = 0; i < 5; i++) {
		static const char *const lines[] = { "[1] ", "[2] ", "[10] ", "[3] ",
			"[5] upscale: SKIPPED" };

		at = strstr(at, lines[i]);
		assert_non_null(at);
	}
	sb_buf_done(&text);
	synthetic_done(&s);
}

static void the_log_tells_short_stages_in_digits_that_say_something(void **state)
{
	struct synthetic s;
	struct sb_buf text = { 0 };
	static const char *const lines[] = { "[1] load: 1.23s", "[2] prompt: 0.012s\n", "[3] noise: 0.01s\n",
		"[4.1] seek: 0.000035s\n", "unattributed: 0.000065s\n", "[4] write TOTAL: 0.0001s\n",
		"TOTAL TIME: 2.00s\n" };

	synthetic_open(&s);
	zone(&s, 0, 1230000000, "load", "1");
	zone(&s, 1230000000, 1242400000, "prompt", "2");
	zone(&s, 1300000000, 1310000000, "noise", "3");
	sb_builder_begin(s.main, 1400000000, sb_builder_name(s.b, "write", "4"));
	zone(&s, 1400000000, 1400035000, "seek", "4.1");
	synthetic_end(&s, 1400100000);
	sb_stages_log(synthetic_model(&s, 2000000000), &(struct sb_text_options){ .columns = 80 }, &text);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		assert_non_null(strstr(sb_buf_text(&text), lines[i]));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* Total = count x mean + unfinished, whatever happened to the calls. */
static void adds_up(const struct sb_stage *row)
{
	near((row->count ? (double)row->count * row->time.mean : 0) + row->unfinished_s, row->total_s);
}

static void calls_that_never_ended_are_told_apart(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *row;
	struct sb_buf text = { 0 };

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generate", 0);
	zone(&s, 0, 2 * SECOND, "step", NULL);
	zone(&s, 2 * SECOND, 4 * SECOND, "step", NULL);
	synthetic_begin(&s, 4 * SECOND, "step", 0);
	m = synthetic_model(&s, 10 * SECOND);
	row = stage(m, "step");
	assert_int_equal(row->count, 2);
	assert_int_equal(row->open_count, 1);
	assert_int_equal(row->state, SB_STAGE_OPEN);
	near(row->total_s, 10);
	near(row->unfinished_s, 6);
	near(row->time.mean, 2);
	near(row->time.max, 2);
	near(row->time.p99, 2);
	near(row->time.last, 2);
	near(row->end_s, 10);
	adds_up(row);
	row = stage(m, "generate"); /* no call of it has ended: there is no mean to tell */
	assert_int_equal(row->count, 0);
	assert_int_equal(row->open_count, 1);
	near(row->total_s, 10);
	assert_true(isnan(row->time.mean) && isnan(row->time.min) && isnan(row->time.p50));
	adds_up(row);
	sb_report_text(m, &(struct sb_text_options){ .columns = 80 }, &text);
	assert_non_null(strstr(sb_buf_text(&text), "step (1 open)"));
	assert_non_null(strstr(sb_buf_text(&text), "open: had not ended when the recording did"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

static void calls_cut_by_a_border_are_told_apart(void **state)
{
	struct sb_cut cut = {
		.has_from = true, .from_ns = 3 * (int64_t)SECOND, .has_to = true, .to_ns = 9 * (int64_t)SECOND
	};
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *row;
	struct sb_buf text = { 0 };

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generate", 0);
	for (uint64_t i = 0; i < 5; i++)
		zone(&s, 2 * i * SECOND, 2 * (i + 1) * SECOND, "step", NULL);
	synthetic_end(&s, 10 * SECOND);
	m = synthetic_part(&s, 10 * SECOND, &cut);
	near(m->stages.wall_s, 6);
	row = stage(m, "step"); /* 3-4 is left of 2-4, 8-9 of 8-10 */
	assert_int_equal(row->count, 2);
	assert_int_equal(row->cut_count, 2);
	assert_int_equal(row->open_count, 0);
	assert_int_equal(row->state, SB_STAGE_NORMAL);
	near(row->total_s, 6);
	near(row->unfinished_s, 2);
	near(row->time.mean, 2);
	near(row->time.min, 2);
	near(row->time.last, 2);
	adds_up(row);
	row = stage(m, "generate");
	assert_int_equal(row->count, 0);
	assert_int_equal(row->cut_count, 1);
	near(row->total_s, 6);
	near(row->wall_ratio, 1);
	assert_true(isnan(row->time.mean));
	sb_report_text(m, &(struct sb_text_options){ .columns = 80 }, &text);
	assert_non_null(strstr(sb_buf_text(&text), "step (2 cut)"));
	assert_non_null(strstr(sb_buf_text(&text), "cut: began before this part or ended after it"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* Many skips, some in no zone, some on another thread: each finds the innermost zone around it. */
static void each_skip_finds_its_zone_among_thousands(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *inner;

	synthetic_open(&s);
	sb_builder_skip(s.b, 5, "before everything", NULL, "no zone is around it");
	for (uint64_t i = 0; i < 3000; i++) {
		synthetic_begin(&s, 100 + i * 100, "outer", 0);
		synthetic_begin(&s, 110 + i * 100, "inner", 0);
		sb_builder_skip(s.b, 120 + i * 100, "upscale", NULL, "not asked for");
		synthetic_end(&s, 150 + i * 100);
		synthetic_end(&s, 190 + i * 100);
	}
	sb_builder_skip(s.b, 100 + 10 * 100 + 70, "audio", NULL, "in outer, after inner");
	m = synthetic_model(&s, SECOND);
	inner = stage(m, "inner");
	assert_true(stage(m, "upscale")->parent == inner - m->stages.stages);
	assert_true(stage(m, "audio")->parent == stage(m, "outer") - m->stages.stages);
	assert_int_equal(stage(m, "before everything")->parent, -1);
	synthetic_done(&s);
}

static const struct sb_missing *missing(const struct sb_model *m, const char *what)
{
	for (size_t i = 0; i < m->missing.count; i++)
		if (!strcmp(m->missing.all[i].what, what))
			return &m->missing.all[i];
	return NULL;
}

/* 20 000 times the same stage leaves room for one that is skipped at the end. */
static void a_stage_skipped_again_and_again_hides_no_other(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 20000; i++) {
		synthetic_begin(&s, 100 + i * 100, "outer", 0);
		sb_builder_skip(s.b, 120 + i * 100, "upscale", NULL, "not asked for");
		if (i == 19999)
			sb_builder_skip(s.b, 130 + i * 100, "audio", NULL, "no sound");
		synthetic_end(&s, 150 + i * 100);
	}
	m = synthetic_model(&s, SECOND);
	assert_int_equal(stage(m, "upscale")->state, SB_STAGE_SKIPPED);
	assert_int_equal(stage(m, "audio")->state, SB_STAGE_SKIPPED);
	assert_null(missing(m, "skipped stages"));
	synthetic_done(&s);
}

static void skips_past_the_most_that_are_kept_are_counted(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	char name[32];

	synthetic_open(&s);
	for (uint64_t i = 0; i < (1 << 18) + 904; i++) {
		snprintf(name, sizeof name, "stage %d", (int)i % 100);
		sb_builder_skip(s.b, 100 + i, name, NULL, "not asked for");
	}
	m = synthetic_model(&s, SECOND);
	assert_non_null(missing(m, "skipped stages"));
	assert_non_null(
		strstr(missing(m, "skipped stages")->why, "904 skips past 262144 were not looked at"));
	synthetic_done(&s);
}

/* Past twenty rows the smallest are left out, and counted: one is one. */
static void small_stages_that_are_not_shown_are_counted(void **state)
{
	for (int small = 1; small <= 2; small++) {
		struct sb_buf text = { 0 };
		struct synthetic s;

		synthetic_open(&s);
		for (uint64_t i = 0; i < 20; i++)
			synthetic_stage(
				&s, i * SECOND, (i + 1) * SECOND, (char[]){ (char)('a' + i), 'x', 0 }, 0);
		for (uint64_t i = 0; i < (uint64_t)small; i++)
			synthetic_stage(&s, 20 * SECOND + i * MS, 20 * SECOND + (i + 1) * MS,
				i ? "later" : "last", 0);
		sb_report_text(
			synthetic_model(&s, 21 * SECOND), &(struct sb_text_options){ .columns = 80 }, &text);
		assert_non_null(strstr(
			sb_buf_text(&text), small == 1 ? "  (1 small stage not shown; JSON has it)\n"
						       : "  (2 small stages not shown; JSON has them)\n"));
		sb_buf_done(&text);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skipped_and_untimed_stages_are_rows_with_a_state),
		cmocka_unit_test(the_log_is_in_the_order_of_codes_whatever_is_around_them),
		cmocka_unit_test(the_log_tells_short_stages_in_digits_that_say_something),
		cmocka_unit_test(calls_that_never_ended_are_told_apart),
		cmocka_unit_test(calls_cut_by_a_border_are_told_apart),
		cmocka_unit_test(each_skip_finds_its_zone_among_thousands),
		cmocka_unit_test(a_stage_skipped_again_and_again_hides_no_other),
		cmocka_unit_test(skips_past_the_most_that_are_kept_are_counted),
		cmocka_unit_test(small_stages_that_are_not_shown_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
