/* The one-screen summary: its lines, its sums, its width. */
#include "summary_text.h"

static void wan(struct synthetic *s)
{
	uint64_t t = 31 * SECOND;

	synthetic_stage(s, 0, 9 * SECOND, "imports", STROBE_ROLE_IMPORT);
	synthetic_begin(s, 9 * SECOND, "load", STROBE_ROLE_LOAD);
	synthetic_attr(s, "bytes", 16000000000ll);
	synthetic_end(s, 29 * SECOND);
	synthetic_begin(s, t, "WanPipeline", STROBE_ROLE_GENERATION);
	synthetic_attr(s, "frames", 81);
	synthetic_attr(s, "width", 832);
	synthetic_attr(s, "height", 480);
	synthetic_begin(s, t, "denoise", 0);
	for (int i = 0; i < 50; i++) {
		uint64_t took = i ? 1600 * MS : 2400 * MS;

		synthetic_step(s, t, t + took, i, 0);
		t += took;
	}
	synthetic_end(s, t);
	synthetic_begin(s, t, "vae_decode", 0);
	synthetic_attr(s, "frames", 81);
	synthetic_attr(s, "tiles", 12);
	synthetic_end(s, t += 7 * SECOND);
	synthetic_begin(s, t, "offload:text_encoder", STROBE_ROLE_OFFLOAD);
	synthetic_attr(s, "bytes", 11200000000ll);
	synthetic_end(s, t += 5 * SECOND);
	synthetic_stage(s, t, t + SECOND, "text_encode", 0);
	synthetic_end(s, t += 3 * SECOND); /* 2 s of it belong to nobody */
	synthetic_stage(s, t, t + 3 * SECOND, "export", 0);
	for (uint64_t at = 0; at <= 130 * SECOND;
		at += 500 * MS) /* every sample declares its columns again */
		synthetic_gpu_sample(s, synthetic_gpu(s, 0), at, 14000, at >= 31 * SECOND ? 97 : 0, 600);
	sb_builder_snapshot(s->b, 110 * SECOND, "after", 0, 5000 * MIB, 18000 * MIB, 14900 * MIB);
	sb_builder_meta_string(
		s->b, SB_META_MISSING, "kernels", "no GPU trace was asked for|--gpu-trace=steps:3");
	sb_builder_meta_string(
		s->b, SB_META_MISSING, "attention kind", "no GPU trace was asked for|--gpu-trace=steps:3");
}

static void stages_of_worker_threads_are_listed_when_there_are_no_others(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	char *text;

	synthetic_open(&s);
	for (uint32_t tid = 2001; tid < 2003; tid++) {
		struct sb_stream_writer *w = sb_builder_thread(s.b, tid, "worker");

		sb_builder_begin(w, SECOND, sb_builder_name(s.b, "decode", NULL));
		sb_builder_end(w, 9 * SECOND, 0);
	}
	m = synthetic_model(&s, 10 * SECOND);
	assert_null(finding(m, "unattributed"));
	text = summary_of(&s, m, NULL);
	assert_null(strstr(text, "No stage was recorded"));
	assert_has(text, "  decode ");
	assert_near(m->stages.unattributed_s, 2, 1e-9);
	assert_null(strstr(text, "(main thread)"));
	assert_null(strstr(text, "overlap"));
	free(text);
	synthetic_done(&s);
}

/* Four requests at once, each 2 s with 1.8 s of denoise, in a run of 2.1 s. */
static void generations_at_once_are_no_larger_than_the_run(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	char *text;

	synthetic_open(&s);
	for (uint32_t tid = 2001; tid < 2005; tid++) {
		struct sb_stream_writer *w = sb_builder_thread(s.b, tid, "worker");

		sb_builder_begin(w, 0, sb_builder_name(s.b, "generation", NULL));
		sb_builder_role(w, STROBE_ROLE_GENERATION);
		sb_builder_begin(w, 0, sb_builder_name(s.b, "denoise", NULL));
		sb_builder_end(w, 1800 * MS, 0);
		sb_builder_end(w, 2000 * MS, 0);
	}
	for (uint64_t at = 0; at <= 2100 * MS; at += 100 * MS)
		synthetic_gpu_sample(&s, synthetic_gpu(&s, 0), at, 14000, 90, 300);
	m = synthetic_model(&s, 2100 * MS);
	assert_near(m->stages.unattributed_s, 0.1, 1e-6);
	assert_near(m->summary.generation_s, 2, 1e-6);
	assert_near(m->summary.unattributed_s, 0.2, 0.01);
	assert_near(m->diffusion.denoise_s, 1.8, 0.01);
	assert_near(sb_rate_find(m, "denoise")->wall_s, 1.8, 1e-6);
	assert_near(m->summary.energy_wh, 600.0 / 3600, 1e-6);
	for (int i = 0; i < 4; i++)
		assert_near(m->generations.all[i].energy_wh, 150.0 / 3600, 1e-6);
	for (size_t i = 0; i < m->advice.count; i++)
		assert_false(m->advice.all[i].saves_s > 2.1);
	text = summary_of(&s, m, NULL);
	assert_has(text, "90.0 %");
	free(text);
	synthetic_done(&s);
}

/* 100 frames were made, 2 of them dropped; one video never ended; the system knew a higher peak. */
static void numbers_of_a_run_are_of_what_was_made(void **state)
{
	static const char *const process[] = { "rss_mb" };
	struct strobe_attr peak = { SB_RUN_PEAK_RSS_BYTES, STROBE_TYPE_INT, { .i = 612 * MIB } };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 100);
	for (int i = 0; i < 4; i++) { /* two pairs of steps, far apart */
		uint64_t t = (uint64_t)(i < 2 ? 0 : 6) * SECOND + (uint64_t)(i % 2) * SECOND;

		synthetic_begin(&s, t, "step", STROBE_ROLE_STEP);
		synthetic_end(&s, t + SECOND);
	}
	sb_builder_count(s.main, sb_builder_name(s.b, "frames_dropped", NULL), 2);
	synthetic_end(&s, 9 * SECOND);
	synthetic_begin(&s, 9 * SECOND, "video", STROBE_ROLE_GENERATION);
	schema = sb_builder_schema(s.b, "process", -1, process, 1);
	for (uint64_t t = 0; t <= 10; t++)
		sb_builder_sample(s.b, schema, t * SECOND, (double[]){ 3.2 }, 1);
	sb_builder_meta(s.b, SB_META_RUN, &peak);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(m->streaming.dropped_ratio, 0.02, 1e-9);
	assert_int_equal(m->summary.generation_count, 1);
	assert_int_equal(m->summary.unfinished_count, 1);
	assert_near(m->memory.rss_peak_bytes, 612.0 * MIB, 1);
	assert_near(m->session.peak_rss_bytes, 612.0 * MIB, 1);
	assert_near(sb_rate_find(m, "denoise")->wall_s, 4, 1e-6);
	synthetic_done(&s);
}

/* One encodes while the other denoises: both count, the sum closes with the overlap. */
static void stages_of_generations_at_once_close_with_their_overlap(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	char *text;

	synthetic_open(&s);
	for (uint32_t i = 0; i < 2; i++) {
		struct sb_stream_writer *w = sb_builder_thread(s.b, 2001 + i, "worker");

		sb_builder_begin(w, 0, sb_builder_name(s.b, "generation", NULL));
		sb_builder_role(w, STROBE_ROLE_GENERATION);
		sb_builder_begin(w, 0, sb_builder_name(s.b, i ? "denoise" : "encode", NULL));
		sb_builder_end(w, 3 * SECOND, 0);
		sb_builder_end(w, 4 * SECOND, 0);
	}
	m = synthetic_model(&s, 4 * SECOND);
	assert_near(m->summary.unattributed_s, 1, 0.01);
	assert_near(m->summary.overlap_s, 3, 0.01);
	assert_near(m->stages.overlap_s, 0, 1e-9);
	text = summary_of(&s, m, NULL);
	assert_has(text, "overlap (at the same time)");
	free(text);
	synthetic_done(&s);
}

static void a_zone_still_open_is_in_the_total_but_not_in_the_statistics(void **state)
{
	const struct sb_stage *stage;
	struct synthetic s;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 2 * SECOND, "encode", 0);
	synthetic_stage(&s, 2 * SECOND, 6 * SECOND, "encode", 0);
	synthetic_begin(&s, 6 * SECOND, "encode", 0);
	stage = sb_model_stage(synthetic_model(&s, 7 * SECOND), "encode");
	assert_int_equal(stage->open_count, 1);
	assert_near(stage->total_s, 7, 1e-9);
	assert_int_equal(stage->time.count, 2);
	assert_near(stage->time.mean, 3, 1e-9);
	assert_near(stage->time.min, 2, 1e-9);
	assert_near(stage->time.max, 4, 1e-9);
	synthetic_done(&s);
}

static void generations_at_the_same_time_take_their_union(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	for (uint32_t tid = 2001; tid < 2003; tid++) {
		struct sb_stream_writer *w = sb_builder_thread(s.b, tid, "worker");

		sb_builder_begin(w, SECOND, sb_builder_name(s.b, "video", NULL));
		sb_builder_role(w, STROBE_ROLE_GENERATION);
		sb_builder_end(w, 9 * SECOND, 0);
	}
	synthetic_model(&s, 10 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "2 generations in 8.00 s, partly at the same time");
	free(text);
	synthetic_done(&s);
}

static void a_generation_fits_one_screen_and_adds_up(void **state)
{
	struct sb_summary_options options = { .report = "strobe-runs/last/profiling_report.html" };
	struct synthetic s;
	struct sb_model *m;
	char *text;
	int lines = 0;

	synthetic_open(&s);
	wan(&s);
	m = synthetic_model(&s, 131 * SECOND);
	text = summary_of(&s, m, &options);
	assert_width(text, 100);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_true(lines <= 24);
	assert_has(text, "== strobe: synthetic, 131.00 s ====");
	assert_has(text, "1 video, 81 frames 832x480, 50 steps in 95.80 s");
	assert_has(text, "GPU-bound (97 % util)");
	assert_has(text, "0.85 frames/s end to end");
	assert_has(text, "denoise (50 steps)                     80.80 s   84.3 %");
	assert_has(text, "<- BOTTLENECK");
	assert_has(text, "warm step 1.60 s  p95 1.60 s; first 2.40 s (warm-up)");
	assert_has(text, "vae_decode (81 frames, 12 tiles)        7.00 s    7.3 %");
	assert_has(text, "offload:text_encoder  11.2 GB           5.00 s    5.2 %");
	assert_has(text, "2.2 GB/s");
	assert_has(text,
		"unattributed                            2.00 s    2.1 %"); /* 80.8 + 7 + 5 + 1 + 2 = 95.8 */
	assert_has(text, "Outside: model load 20.00 s (0.80 GB/s), imports 9.00 s, export 3.00 s, "
			 "unattributed 3.20 s");
	assert_has(text, "VRAM peak 14.6 GB (reserved 17.6 GB) of 24.0 GB in denoise");
	assert_has(text, "Not recorded: kernels, attention kind (--gpu-trace=steps:3)");
	assert_has(text, "strobe: 0 events dropped");
	assert_has(text, "report: strobe-runs/last/profiling_report.html");
	assert_has(text, "Not worth tuning: text_encode (0.8 % of the run)");
	free(text);
	synthetic_done(&s);
}

/* The GPU was still at a stage when the CPU had left it: the tree has other times, and that is said. */
static void whose_times_the_rows_are_is_said_where_the_cpu_ran_ahead(void **state)
{
	static const char *const words =
		"  (wall: as the GPU went through the stages; the stage tree has the CPU's times)\n";
	struct synthetic s;
	struct sb_model *m;
	char *text;

	synthetic_open(&s);
	wan(&s);
	m = synthetic_model(&s, 132 * SECOND);
	text = summary_of(&s, m, NULL);
	assert_null(strstr(text, "as the GPU went"));
	free(text);
	for (size_t i = 0; i < m->stages.stage_count; i++)
		m->stages.stages[i].moved_s = m->stages.stages[i].side_by_side ? 2 : 0;
	text = summary_of(&s, m, &(struct sb_summary_options){ .columns = 80 });
	assert_has(text, words);
	assert_width(text, 80);
	free(text);
	synthetic_done(&s);
}

/* What was asked for, or is always on, and failed says why, also where an option is the way out. */
static void an_option_as_the_way_out_leaves_the_reason_in_place(void **state)
{
	struct sb_summary_options options = { .columns = 200 };
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_MISSING, "kernels",
		"too few steps were seen to trace any|--gpu-trace=seconds:5");
	sb_builder_meta_string(s.b, SB_META_MISSING, "GPU 0: SM activity",
		"this GPU does not count it|--gpu-trace shows what kernels do");
	text = summary_of(&s, synthetic_model(&s, SECOND), &options);
	assert_has(
		text, "Not recorded: kernels: too few steps were seen to trace any (--gpu-trace=seconds:5)");
	assert_has(text, "Not recorded: GPU 0: SM activity: this GPU does not count it (--gpu-trace shows");
	free(text);
	synthetic_done(&s);
}

static void without_generations_the_run_is_the_table(void **state)
{
	struct sb_summary_options options = { .columns = 80 };
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	for (int i = 0; i < 12; i++) {
		char name[80];

		snprintf(name, sizeof name, "a stage with a rather long name, number %c of many", 'a' + i);
		synthetic_stage(&s, (uint64_t)i * SECOND, (uint64_t)i * SECOND + 500 * MS, name, 0);
	}
	text = summary_of(&s, synthetic_model(&s, 12 * SECOND), &options);
	assert_width(text, 80);
	assert_has(text, "Run ");
	assert_has(text, "4 more stages                 2.00 s   16.7 %");
	assert_has(text, "unattributed                  6.00 s   50.0 %");
	assert_null(strstr(text, "Outside"));
	assert_null(strstr(text, "frames/s"));
	assert_null(strstr(text, "VRAM"));
	assert_null(strstr(text, "\033"));
	free(text);
	synthetic_done(&s);
}

static void blocks_are_opened_and_their_stages_added_up(void **state)
{
	struct sb_summary_options options = { 0 };
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	for (uint64_t t = 0; t < 20 * SECOND; t += 10 * SECOND) {
		synthetic_begin(&s, t, "block", STROBE_ROLE_BLOCK);
		synthetic_stage(&s, t, t + 7 * SECOND, "denoise", 0);
		synthetic_stage(&s, t + 7 * SECOND, t + 9 * SECOND, "vae_decode", 0);
		synthetic_end(&s, t + 10 * SECOND);
	}
	synthetic_end(&s, 20 * SECOND);
	text = summary_of(&s, synthetic_model(&s, 20 * SECOND), &options);
	assert_has(text, "denoise                                14.00 s   70.0 %");
	assert_has(text, "vae_decode                              4.00 s   20.0 %");
	assert_has(text, "unattributed                            2.00 s   10.0 %");
	assert_null(strstr(text, "\n  block"));
	free(text);
	synthetic_done(&s);
}

static void an_empty_recording_says_so(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	text = summary_of(&s, synthetic_model(&s, SECOND), NULL);
	assert_has(text, "No stage was recorded.");
	free(text);
	synthetic_done(&s);
}

static void what_the_program_used_goes_on_in_a_second_line(void **state)
{
	static const char *const columns[] = { "read_bytes", "write_bytes" };
	const struct strobe_attr used[] = {
		{ .key = SB_RUN_CPU_S, .type = STROBE_TYPE_FLOAT, .value.f = 12345.5 },
		{ .key = SB_RUN_PEAK_RSS_BYTES, .type = STROBE_TYPE_INT, .value.i = 24100000 },
		{ .key = SB_RUN_PROCESS_COUNT, .type = STROBE_TYPE_INT, .value.i = 1000 },
	};
	double bytes[] = { 196600, 81900 };
	struct sb_summary_options narrow = { .columns = 80 };
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
		sb_builder_meta(s.b, SB_META_RUN, &used[i]);
	sb_builder_sample(s.b, sb_builder_schema(s.b, "disk", -1, columns, 2), SECOND, bytes, 2);
	text = summary_of(&s, synthetic_model(&s, 10 * SECOND), &narrow);
	assert_has(text, ", RSS peak 23.0 MB\ndisk read 196.6 kB, write 81.9 kB; ≥ 1000 processes\n");
	assert_width(text, 80);
	free(text);
	synthetic_done(&s);
}

static void small_numbers_choose_their_unit(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	short_videos(&s);
	synthetic_stage(&s, 5500 * MS, 5500 * MS + 40000, "export", 0);
	text = summary_of(&s, synthetic_model(&s, 6 * SECOND), NULL);
	assert_has(text, "p50 30.0 ms, p95 30.0 ms per video");
	assert_has(text, "\n8.6 J per video"); /* 288 W for 30 ms: 0.0024 Wh */
	assert_has(text, "export 40.0 us, unattributed 5.88 s");
	assert_has(text, "Not worth tuning: export (< 0.1 % of the run)");
	assert_null(strstr(text, " 0.00 "));
	free(text);
	synthetic_done(&s);
}

static void a_row_too_small_for_the_table_is_not_nothing(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 20 * SECOND, "encode", 0);
	synthetic_stage(&s, 20 * SECOND, 20 * SECOND + 40000, "seed", 0);
	text = summary_of(&s, synthetic_model(&s, 21 * SECOND), NULL);
	assert_has(text, "seed                                   40.0 us  < 0.1 %");
	free(text);
	synthetic_done(&s);
}

static void coded_stage(struct synthetic *s, uint64_t begin_ns, const char *code, const char *name)
{
	sb_builder_begin(s->main, begin_ns, sb_builder_name(s->b, name, code));
	synthetic_attr(s, "frames", 81);
	synthetic_end(s, begin_ns + SECOND);
}

static void rows_carry_the_codes_of_their_stages(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	coded_stage(&s, 0, "4c", "VAE encode");
	coded_stage(&s, SECOND, "4e", "VAE encode");
	coded_stage(&s, 2 * SECOND, "4f", "VAE encode of the whole video");
	text = summary_of(&s, synthetic_model(&s, 3 * SECOND), NULL);
	assert_has(text, "\n  [4c] VAE encode (81 frames)  ");
	assert_has(text, "\n  [4e] VAE encode (81 frames)  ");
	assert_has(text, "\n  [4f] VAE encode of the whole video  "); /* the detail goes, the name stays */
	free(text);
	synthetic_done(&s);
}

static void the_last_line_has_the_size_after_the_own_stages(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	char *text;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 8 * SECOND, "denoise", 0);
	synthetic_stage(&s, 8 * SECOND, 10 * SECOND, "strobe: counting FLOPs", STROBE_ROLE_PROFILER);
	m = synthetic_model(&s, 10 * SECOND);
	m->recording.bytes = 352300;
	text = summary_of(&s, m, &(struct sb_summary_options){ .columns = 100 });
	assert_has(text, " and 2.00 s of strobe's own stages, 352.3 kB\n");
	free(text);
	synthetic_done(&s);
}

static void nothing_is_a_plain_zero(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 8 * SECOND, "denoise", 0);
	text = summary_of(
		&s, synthetic_model(&s, 8 * SECOND), &(struct sb_summary_options){ .columns = 100 });
	assert_has(text, " 0 s      0 %\n");
	assert_null(strstr(text, "0.000 s"));
	assert_null(strstr(text, " 0.0 %"));
	free(text);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zone_still_open_is_in_the_total_but_not_in_the_statistics),
		cmocka_unit_test(generations_at_the_same_time_take_their_union),
		cmocka_unit_test(stages_of_worker_threads_are_listed_when_there_are_no_others),
		cmocka_unit_test(generations_at_once_are_no_larger_than_the_run),
		cmocka_unit_test(numbers_of_a_run_are_of_what_was_made),
		cmocka_unit_test(stages_of_generations_at_once_close_with_their_overlap),
		cmocka_unit_test(a_generation_fits_one_screen_and_adds_up),
		cmocka_unit_test(without_generations_the_run_is_the_table),
		cmocka_unit_test(whose_times_the_rows_are_is_said_where_the_cpu_ran_ahead),
		cmocka_unit_test(an_option_as_the_way_out_leaves_the_reason_in_place),
		cmocka_unit_test(blocks_are_opened_and_their_stages_added_up),
		cmocka_unit_test(an_empty_recording_says_so),
		cmocka_unit_test(what_the_program_used_goes_on_in_a_second_line),
		cmocka_unit_test(small_numbers_choose_their_unit),
		cmocka_unit_test(a_row_too_small_for_the_table_is_not_nothing),
		cmocka_unit_test(rows_carry_the_codes_of_their_stages),
		cmocka_unit_test(the_last_line_has_the_size_after_the_own_stages),
		cmocka_unit_test(nothing_is_a_plain_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
