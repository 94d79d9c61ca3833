/* Stage rows: what is counted, what is not, what is told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stats/durations.h"
#include "analyze/stages/stages.h"
#include "report/panels/stages.h"
#include "report/text.h"
#include "synthetic.h"
#include "report/build.h"

#define CS 10000000ull /* a hundredth of a second: stage logs have two decimals */

static void near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 + fabs(expected) * 1e-12))
		fail_msg("%.12g is not %.12g", value, expected);
}

static void zone(struct synthetic *s, uint64_t from, uint64_t to, const char *name, const char *code)
{
	sb_builder_begin(s->main, from, sb_builder_name(s->b, name, code));
	sb_builder_end(s->main, to, 0);
}

static const struct sb_stage *stage(const struct sb_model *m, const char *name)
{
	const struct sb_stage *s = sb_model_stage(m, name);

	if (!s)
		fail_msg("no stage '%s'", name);
	return s;
}

/* Section 3, error 3: outer and inner both shown as 50 %, twice the wall time. */
static void nesting_never_counts_twice(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	double self = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "outer", 0);
	zone(&s, 0, 9 * SECOND, "inner", NULL);
	synthetic_end(&s, 10 * SECOND);
	m = synthetic_model(&s, 10 * SECOND);
	near(stage(m, "outer")->wall_ratio, 1);
	near(stage(m, "outer")->self_s, 1);
	near(stage(m, "inner")->wall_ratio, 0.9);
	for (size_t i = 0; i < m->stages.stage_count; i++)
		self += m->stages.stages[i].self_s;
	near(self + m->stages.unattributed_s, m->stages.wall_s);
	synthetic_done(&s);
}

static void part(const struct sb_model *m, size_t at, enum sb_time_kind kind, const char *name, double part_s)
{
	const struct sb_time_part *p = &m->stages.parts[at];

	assert_true(at < m->stages.part_count);
	assert_int_equal(p->kind, kind);
	if (name) {
		assert_string_equal(p->name, name);
		assert_string_equal(m->stages.stages[p->stage].name, name);
	} else {
		assert_null(p->name);
		assert_int_equal(p->stage, -1);
	}
	near(p->part_s, part_s);
	near(p->ratio, part_s / m->stages.wall_s);
}

/* Two stages of one name: the parts follow the index. What is between a video's stages is its own. */
static void parts_add_up_and_a_video_keeps_its_own_time(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	zone(&s, 0, 1 * SECOND, "copy", NULL);
	synthetic_begin(&s, 1 * SECOND, "video", STROBE_ROLE_GENERATION);
	zone(&s, 1 * SECOND, 5 * SECOND, "denoise", NULL);
	zone(&s, 5 * SECOND, 7 * SECOND, "copy", NULL);
	synthetic_end(&s, 8 * SECOND + SECOND / 2);
	m = synthetic_model(&s, 10 * SECOND);
	part(m, 0, SB_TIME_STAGE, "denoise", 4);
	part(m, 1, SB_TIME_STAGE, "copy", 2);
	part(m, 2, SB_TIME_ITSELF, "video", 1.5);
	part(m, 3, SB_TIME_STAGE, "copy", 1);
	part(m, 4, SB_TIME_UNATTRIBUTED, NULL, 1.5);
	assert_int_equal(m->stages.part_count, 5);
	near(m->stages.parts[4].part_s, m->stages.unattributed_s);
	assert_string_equal(m->stages.stages[m->stages.parts[1].stage].parent_name, "video");
	assert_null(m->stages.stages[m->stages.parts[3].stage].parent_name);
	synthetic_done(&s);
}

static void the_smallest_parts_are_one(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 9; i++) {
		char name[] = { (char)('a' + i), 0 };

		zone(&s, i * SECOND, i * SECOND + (9 - i) * CS, name, NULL);
	}
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->stages.part_count, 9);
	part(m, 0, SB_TIME_STAGE, "a", 0.09);
	part(m, 6, SB_TIME_STAGE, "g", 0.03);
	part(m, 7, SB_TIME_SMALLER, NULL, 0.03);
	assert_int_equal(m->stages.parts[7].stage_count, 2);
	part(m, 8, SB_TIME_UNATTRIBUTED, NULL, 10 - 0.45);
	synthetic_done(&s);
}

static void what_has_no_name_is_not_a_blank_row(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	zone(&s, 0, 2 * SECOND, "", NULL);
	zone(&s, 2 * SECOND, 3 * SECOND, "", "4c");
	m = synthetic_model(&s, 3 * SECOND);
	assert_int_equal(stage(m, "(unnamed)")->count, 1);
	assert_int_equal(sb_report_text(m, &(struct sb_text_options){ .columns = 100 }, &text), 0);
	assert_non_null(strstr(sb_buf_text(&text), "\n(unnamed) "));
	assert_non_null(strstr(sb_buf_text(&text), "[4c] (unnamed)"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* Error 4: labels sum to 25.90 s of a stage that took 52.34 s. */
static void what_no_label_covers_is_unattributed(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const uint64_t labels[] = { 784, 1402, 360, 44 };
	uint64_t at = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "ProPainter", 0);
	for (int i = 0; i < 4; i++) {
		char code[3] = { '3', (char)('a' + i), 0 };

		zone(&s, at * CS, (at + labels[i]) * CS, code, code);
		at += labels[i];
	}
	synthetic_end(&s, 5234 * CS);
	m = synthetic_model(&s, 6000 * CS);
	near(stage(m, "ProPainter")->total_s, 52.34);
	near(stage(m, "ProPainter")->unattributed_s, 26.44);
	near(m->stages.unattributed_s, 60 - 52.34);
	synthetic_done(&s);
}

/* Error 11: sampling_chunk_17 scatters one stage over a thousand rows. */
static void indexed_names_are_one_row_with_members(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *row;
	char name[32];

	synthetic_open(&s);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "sampling_chunk_%d", i);
		zone(&s, (uint64_t)i * 100, (uint64_t)i * 100 + 10 + (uint64_t)i % 7, name, NULL);
	}
	zone(&s, 200000, 200100, "text_encoder", NULL);
	zone(&s, 200200, 200300, "text_encoder_2", NULL);
	m = synthetic_model(&s, 300000);
	assert_int_equal(m->stages.stage_count, 3);
	row = stage(m, "sampling_chunk_*");
	assert_int_equal(row->count, 1000);
	assert_int_equal(row->member_total, 1000);
	assert_int_equal(row->members[0].count, 1);
	near(row->members[0].total_s * 1e9, 16);
	near(row->time.min * 1e9, 10);
	near(row->time.max * 1e9, 16);
	stage(m, "text_encoder_2");
	synthetic_done(&s);
}

static void one_name_under_two_parents_is_two_rows_or_one(void **state)
{
	struct synthetic s;
	struct sb_model_options combine = { .combine = true, .now_real_ns = 1 };
	struct sb_model *m, *combined;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "encode", 0);
	zone(&s, 10, 20, "attention", NULL);
	synthetic_end(&s, 100);
	synthetic_begin(&s, 200, "decode", 0);
	zone(&s, 210, 240, "attention", NULL);
	synthetic_end(&s, 300);
	m = synthetic_model(&s, 1000);
	assert_int_equal(m->stages.stage_count, 4);
	assert_int_equal(m->stages.same_name_count, 1);
	assert_int_equal(m->stages.same_name[0].stage_count, 2);
	assert_string_equal(m->stages.stages[m->stages.same_name[0].stages[1]].name, "attention");
	near(m->stages.same_name[0].all.total_s * 1e9, 40);
	near(m->stages.same_name[0].all.time.max * 1e9, 30);
	assert_int_equal(sb_report_build(s.run, &combine, &combined), 0);
	assert_int_equal(combined->stages.stage_count, 3);
	assert_int_equal(stage(combined, "attention")->count, 2);
	near(stage(combined, "attention")->total_s * 1e9, 40);
	sb_model_free(combined);
	synthetic_done(&s);
}

static void one_name_on_two_threads_at_once_is_no_more_than_the_run(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	struct sb_stream_writer *other;
	uint32_t name, loop;

	synthetic_open(&s);
	other = sb_builder_thread(s.b, 2001, "worker");
	name = sb_builder_name(s.b, "attention", NULL);
	loop = sb_builder_name(s.b, "loop", NULL);
	synthetic_stage(&s, 0, 800, "attention", 0);
	sb_builder_begin(other, 0, loop);
	sb_builder_begin(other, 100, name);
	sb_builder_end(other, 1000, 0);
	sb_builder_end(other, 1000, 0);
	m = synthetic_model(&s, 1000);
	assert_int_equal(m->stages.same_name_count, 1);
	near(m->stages.same_name[0].all.total_s * 1e9, 1700);
	near(m->stages.same_name[0].all.wall_ratio, 1);
	synthetic_done(&s);
}

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

static void no_row_of_the_tree_is_wider_than_the_terminal(void **state)
{
	struct synthetic s;
	struct sb_buf text = { 0 };

	synthetic_open(&s);
	for (uint32_t i = 0; i < 3; i++) {
		struct sb_stream_writer *w = sb_builder_thread(s.b, 70 + i, NULL);

		sb_builder_begin(
			w, i, sb_builder_name(s.b, "a stage of workers with quite a long name", NULL));
		sb_builder_attr(w, sb_builder_name(s.b, "frames", NULL), 16);
		sb_builder_end(w, 900, 0);
	}
	sb_stages_tree(synthetic_model(&s, 1000), &(struct sb_text_options){ .columns = 80 }, &text);
	assert_non_null(strstr(sb_buf_text(&text), "BOTTLENECK"));
	for (const char *line = sb_buf_text(&text); *line; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 82); /* an ellipsis is one column of three bytes */
	sb_buf_done(&text);
	synthetic_done(&s);
}

static void the_largest_self_time_is_the_bottleneck(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "Main inference", 0);
	zone(&s, 0, 100, "Add noise", "4f.1");
	zone(&s, 100, 9000, "UNet", "4f.2");
	synthetic_end(&s, 9100);
	m = synthetic_model(&s, 10000);
	assert_string_equal(m->stages.bottlenecks[0], "UNet");
	assert_true(stage(m, "UNet")->bottleneck);
	assert_false(stage(m, "Main inference")->bottleneck);
	synthetic_done(&s);
}

/* Error 1: CPU time and GPU time of a zone are two numbers, of the right zone. */
static void gpu_spans_belong_to_the_zone_that_launched_them(void **state)
{
	struct synthetic s;
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = 1000 };
	struct sb_model *m;

	synthetic_open(&s);
	g.name = sb_builder_name(s.b, "attention", NULL);
	synthetic_begin(&s, 0, "encode", 0);
	zone(&s, 100000, 200000, "attention", NULL);
	synthetic_end(&s, 300000);
	synthetic_begin(&s, 400000, "decode", 0);
	zone(&s, 500000, 600000, "attention", NULL);
	synthetic_end(&s, 700000);
	g.launch_ns = 100010;
	g.start_ns = 800000; /* runs long after the launch */
	g.duration_ns = 5000;
	sb_builder_gpu(s.b, &g);
	g.launch_ns = 500010;
	g.duration_ns = 70000;
	sb_builder_gpu(s.b, &g);
	m = synthetic_model(&s, SECOND);
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *row = &m->stages.stages[i];

		if (strcmp(row->name, "attention"))
			assert_true(isnan(row->gpu_span_s)); /* absent is not zero */
		else if (!strcmp(m->stages.stages[row->parent].name, "encode"))
			near(row->gpu_span_s * 1e9, 5000);
		else
			near(row->gpu_span_s * 1e9, 70000);
	}
	synthetic_done(&s);
}

/* The inner call begins at once: its span is not the outer one's. */
static void gpu_spans_inside_the_same_stage_count_once(void **state)
{
	struct synthetic s;
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = 1000, .start_ns = 10000 };
	struct sb_model *m;

	synthetic_open(&s);
	g.name = sb_builder_name(s.b, "denoise", NULL);
	synthetic_begin(&s, 1000, "denoise", 0);
	zone(&s, 3000, 200000, "denoise", NULL);
	zone(&s, 210000, 400000, "denoise", NULL);
	synthetic_end(&s, 500000);
	for (int i = 0; i < 3; i++) {
		g.launch_ns = (uint64_t[]){ 1010, 3010, 210010 }[i];
		g.duration_ns = (uint64_t[]){ 90000, 40000, 30000 }[i];
		sb_builder_gpu(s.b, &g);
	}
	m = synthetic_model(&s, SECOND);
	near(stage(m, "denoise")->gpu_span_s * 1e9, 90000);
	synthetic_done(&s);
}

static void other_threads_are_roots_and_what_overlaps_is_said(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *other;
	struct sb_model *m;

	synthetic_open(&s);
	other = sb_builder_thread(s.b, 77, "loader");
	zone(&s, 0, 400, "work", NULL);
	sb_builder_begin(other, 0, sb_builder_name(s.b, "load", NULL));
	sb_builder_end(other, 1000, 0);
	m = synthetic_model(&s, 1000);
	near(m->stages.unattributed_s * 1e9, 0);
	near(m->stages.overlap_s * 1e9, 400);
	near(stage(m, "load")->wall_ratio, 1);
	synthetic_done(&s);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Against plain sorting, for few and for many, with values past 32 bits. */
static void percentiles_are_those_of_the_sorted_values(void **state)
{
	static double values[60000];
	const size_t sizes[] = { 1, 2, 3, 10, 4096, 4097, 60000 };
	uint64_t x = 88172645463325252ull;

	for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
		struct sb_durations d = { 0 };
		struct sb_stats stats;

		for (size_t i = 0; i < sizes[k]; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			uint64_t ns = i % 20 == 7 ? x % 20000000000ull : x % 100000;
			values[i] = (double)ns;
			assert_true(sb_durations_add(&d, (int64_t)ns));
		}
		qsort(values, sizes[k], sizeof *values, compare_doubles);
		assert_int_equal(sb_durations_stats(&d, &stats), 0);
		near(stats.p50 * 1e9, sb_stats_percentile(values, sizes[k], 0.50));
		near(stats.p95 * 1e9, sb_stats_percentile(values, sizes[k], 0.95));
		near(stats.p99 * 1e9, sb_stats_percentile(values, sizes[k], 0.99));
		near(stats.min * 1e9, values[0]);
		near(stats.max * 1e9, values[sizes[k] - 1]);
		sb_durations_done(&d);
	}
}

/* f, g, f, g: the inner g is inside a g as well. */
static void recursion_through_another_stage_counts_once(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 4; i++)
		synthetic_begin(&s, (uint64_t)i * SECOND, i % 2 ? "g" : "f", 0);
	for (int i = 4; i < 8; i++)
		synthetic_end(&s, (uint64_t)i * SECOND);
	m = synthetic_model(&s, 8 * SECOND);
	near(stage(m, "f")->total_s, 7);
	near(stage(m, "g")->total_s, 5);
	near(stage(m, "f")->self_s, 4);
	near(stage(m, "g")->self_s, 3);
	for (int i = 0; i < 2; i++) {
		const struct sb_stage *row = &m->stages.stages[i];

		assert_int_equal(row->count, 1);
		assert_int_equal(row->recursive_count, 1);
		near(row->time.mean, row->total_s);
		near(row->time.p50, row->total_s);
		near(row->time.last, row->total_s);
	}
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

static void every_run_of_digits_is_an_index(void **state)
{
	char pattern[64];

	assert_true(sb_stage_pattern("block_3.attn12", pattern, sizeof pattern));
	assert_string_equal(pattern, "block_*.attn*");
	assert_false(sb_stage_pattern("denoise", pattern, sizeof pattern));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting_never_counts_twice),
		cmocka_unit_test(parts_add_up_and_a_video_keeps_its_own_time),
		cmocka_unit_test(the_smallest_parts_are_one),
		cmocka_unit_test(what_has_no_name_is_not_a_blank_row),
		cmocka_unit_test(what_no_label_covers_is_unattributed),
		cmocka_unit_test(indexed_names_are_one_row_with_members),
		cmocka_unit_test(one_name_under_two_parents_is_two_rows_or_one),
		cmocka_unit_test(one_name_on_two_threads_at_once_is_no_more_than_the_run),
		cmocka_unit_test(skipped_and_untimed_stages_are_rows_with_a_state),
		cmocka_unit_test(the_log_is_in_the_order_of_codes_whatever_is_around_them),
		cmocka_unit_test(the_log_tells_short_stages_in_digits_that_say_something),
		cmocka_unit_test(no_row_of_the_tree_is_wider_than_the_terminal),
		cmocka_unit_test(the_largest_self_time_is_the_bottleneck),
		cmocka_unit_test(gpu_spans_belong_to_the_zone_that_launched_them),
		cmocka_unit_test(gpu_spans_inside_the_same_stage_count_once),
		cmocka_unit_test(other_threads_are_roots_and_what_overlaps_is_said),
		cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
		cmocka_unit_test(recursion_through_another_stage_counts_once),
		cmocka_unit_test(calls_that_never_ended_are_told_apart),
		cmocka_unit_test(calls_cut_by_a_border_are_told_apart),
		cmocka_unit_test(every_run_of_digits_is_an_index),
		cmocka_unit_test(each_skip_finds_its_zone_among_thousands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
