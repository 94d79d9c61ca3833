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
#include "stage_rows.h"
#include "report/build.h"

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
	part(m, 0, SB_TIME_STARTUP, NULL, 1); /* the other copy: before the first video */
	part(m, 1, SB_TIME_STAGE, "denoise", 4);
	part(m, 2, SB_TIME_STAGE, "copy", 2);
	part(m, 3, SB_TIME_ITSELF, "video", 1.5);
	part(m, 4, SB_TIME_UNATTRIBUTED, NULL, 1.5);
	assert_int_equal(m->stages.part_count, 5);
	near(m->stages.parts[4].part_s, m->stages.unattributed_s);
	assert_string_equal(m->stages.stages[m->stages.parts[2].stage].parent_name, "video");
	synthetic_done(&s);
}

/* A live run in its first video: the name of the video says nothing about where its time goes. */
static void a_video_is_opened_though_one_stage_takes_nearly_all_of_it(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	zone(&s, 0, 5 * CS, "text_encode", NULL);
	zone(&s, 5 * CS, 10 * SECOND, "denoise", NULL);
	m = synthetic_model(&s, 10 * SECOND);
	part(m, 0, SB_TIME_STAGE, "denoise", 9.95);
	part(m, 1, SB_TIME_STAGE, "text_encode", 0.05);
	assert_int_equal(m->stages.part_count, 2);
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

static void every_run_of_digits_is_an_index(void **state)
{
	char pattern[64];

	assert_true(sb_stage_pattern("block_3.attn12", pattern, sizeof pattern));
	assert_string_equal(pattern, "block_*.attn*");
	assert_false(sb_stage_pattern("denoise", pattern, sizeof pattern));
}

/* Three precisions are three stages, not a loop. */
static void a_type_of_numbers_is_no_index(void **state)
{
	static const char *const types[] = { "fp8", "linear_bf16", "TF32", "int8", "nvfp4",
		"cast to Float32" };
	char pattern[64];

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		assert_false(sb_stage_pattern(types[i], pattern, sizeof pattern));
	assert_true(sb_stage_pattern("fp8_block_12", pattern, sizeof pattern));
	assert_string_equal(pattern, "fp8_block_*");
	assert_true(sb_stage_pattern("print8", pattern, sizeof pattern));
	assert_true(sb_stage_pattern("fp_8", pattern, sizeof pattern));
}

/* Every number of the timing table stands between blanks, however long it is. */
static void columns_of_the_timing_table_never_touch(void **state)
{
	static const int widths[] = { 60, 80, 100, 140 };

	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct sb_buf text = { 0 };
		struct synthetic s;
		struct sb_model *m;

		synthetic_open(&s);
		zone(&s, 0, 21600 * SECOND, "inference", NULL);
		zone(&s, 21600 * SECOND, 21600 * SECOND + 2000, "tiny", NULL);
		m = synthetic_model(&s, 21600 * SECOND + 2000);
		for (size_t k = 0; k < m->stages.stage_count; k++)
			m->stages.stages[k].digit_s = 1e-6; /* printed as 0.000002 s */
		sb_stages_table(m, &(struct sb_text_options){ .columns = widths[i] }, &text);
		assert_non_null(strstr(sb_buf_text(&text), " 1  21600.00 s "));
		assert_non_null(strstr(sb_buf_text(&text), " 1  0.000002 s  "));
		assert_null(strstr(sb_buf_text(&text), "s0.000002s"));
		for (const char *line = sb_buf_text(&text), *end; (end = strchr(line, '\n')); line = end + 1)
			assert_true(end - line <= widths[i]);
		sb_buf_done(&text);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting_never_counts_twice),
		cmocka_unit_test(parts_add_up_and_a_video_keeps_its_own_time),
		cmocka_unit_test(a_video_is_opened_though_one_stage_takes_nearly_all_of_it),
		cmocka_unit_test(the_smallest_parts_are_one),
		cmocka_unit_test(what_has_no_name_is_not_a_blank_row),
		cmocka_unit_test(what_no_label_covers_is_unattributed),
		cmocka_unit_test(indexed_names_are_one_row_with_members),
		cmocka_unit_test(one_name_under_two_parents_is_two_rows_or_one),
		cmocka_unit_test(one_name_on_two_threads_at_once_is_no_more_than_the_run),
		cmocka_unit_test(no_row_of_the_tree_is_wider_than_the_terminal),
		cmocka_unit_test(the_largest_self_time_is_the_bottleneck),
		cmocka_unit_test(gpu_spans_belong_to_the_zone_that_launched_them),
		cmocka_unit_test(gpu_spans_inside_the_same_stage_count_once),
		cmocka_unit_test(other_threads_are_roots_and_what_overlaps_is_said),
		cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
		cmocka_unit_test(recursion_through_another_stage_counts_once),
		cmocka_unit_test(every_run_of_digits_is_an_index),
		cmocka_unit_test(a_type_of_numbers_is_no_index),
		cmocka_unit_test(columns_of_the_timing_table_never_touch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
