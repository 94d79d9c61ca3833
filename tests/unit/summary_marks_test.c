/* What the one-screen summary marks as the bottleneck, and in which of its rows. */
#include "summary_text.h"

static void an_import_is_not_the_bottleneck_of_a_run_without_generations(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 20 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 20 * SECOND, 30 * SECOND, "encode", 0);
	text = summary_of(
		&s, synthetic_model(&s, 30 * SECOND), &(struct sb_summary_options){ .columns = 100 });
	assert_has(text, "<- BOTTLENECK");
	assert_has(strstr(text, "  encode "), "<- BOTTLENECK");
	free(text);
	synthetic_done(&s);
}

static void a_verdict_without_room_has_a_line_of_its_own(void **state)
{
	struct sb_summary_options narrow = { .columns = 80 };
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	short_videos(&s);
	text = summary_of(&s, synthetic_model(&s, 6 * SECOND), &narrow);
	assert_has(text, "128x128, 40 steps in 120 ms\nCPU launch-bound (GPU utilisation 13 %");
	assert_null(strstr(text, "…"));
	assert_width(text, 80);
	free(text);
	synthetic_done(&s);
}

static void work_outside_that_takes_longer_than_all_videos_is_the_bottleneck(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 40 * SECOND, "import torch", STROBE_ROLE_IMPORT); /* never */
	synthetic_begin(&s, 40 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 40 * SECOND, 45 * SECOND, "denoise", 0);
	synthetic_end(&s, 45 * SECOND);
	synthetic_begin(&s, 45 * SECOND, "finish", 0);
	synthetic_stage(&s, 45 * SECOND, 52 * SECOND, "upscale", 0);
	synthetic_end(&s, 52 * SECOND);
	text = summary_of(&s, synthetic_model(&s, 52 * SECOND), NULL);
	assert_int_equal(sb_model_stage(s.model, "upscale")->bottleneck_level, SB_BOTTLENECK_MAJOR);
	assert_int_equal(sb_model_stage(s.model, "denoise")->bottleneck_level, SB_BOTTLENECK_OTHER);
	assert_has(text, "imports 40.00 s, finish 7.00 s (BOTTLENECK), ");
	assert_null(strstr(text, "MAJOR"));
	free(text);
	synthetic_done(&s);
}

/* main() contains the videos, or waits for them on another thread: marked only for its own time outside of them. */
static void a_wrapper_is_marked_only_for_its_own_time(void **state)
{
	static const struct {
		uint64_t own_s, inner_s; /* beside a video of 6 s */
		bool other_thread;
		int main_level, inner_level;
	} cases[] = { { 1, 2, false, 0, 0 }, { 1, 9, false, 0, SB_BOTTLENECK_MAJOR },
		{ 9, 2, false, SB_BOTTLENECK_MAJOR, 0 }, { 1, 2, true, 0, 0 },
		{ 1, 9, true, 0, SB_BOTTLENECK_MAJOR }, { 9, 2, true, SB_BOTTLENECK_MAJOR, 0 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t video_ns = cases[i].own_s * SECOND, inner_ns = video_ns + 6 * SECOND,
			 end_ns = inner_ns + cases[i].inner_s * SECOND;
		struct synthetic s;
		struct sb_stream_writer *thread;

		synthetic_open(&s);
		synthetic_begin(&s, 0, "main", 0);
		thread = cases[i].other_thread ? sb_builder_thread(s.b, 2001, "worker") : s.main;
		sb_builder_begin(thread, video_ns, sb_builder_name(s.b, "video", NULL));
		sb_builder_role(thread, STROBE_ROLE_GENERATION);
		sb_builder_end(thread, inner_ns, 0);
		synthetic_stage(&s, inner_ns, end_ns, "inner", 0);
		synthetic_end(&s, end_ns);
		synthetic_model(&s, end_ns);
		assert_int_equal(sb_model_stage(s.model, "main")->bottleneck_level, cases[i].main_level);
		assert_int_equal(sb_model_stage(s.model, "inner")->bottleneck_level, cases[i].inner_level);
		synthetic_done(&s);
	}
}

static void a_failure_during_the_imports_has_no_bottleneck(void **state)
{
	const struct strobe_attr failed = { .key = SB_RUN_EXIT_CODE, .type = STROBE_TYPE_INT, .value.i = 1 };
	struct synthetic s;
	struct sb_model *m;
	char *text;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 20 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	sb_builder_meta(s.b, SB_META_RUN, &failed);
	m = synthetic_model(&s, 21 * SECOND);
	assert_int_equal(m->stages.bottleneck_count, 0);
	text = summary_of(&s, m, NULL);
	assert_null(strstr(text, "BOTTLENECK"));
	assert_has(text, "  import torch  ");
	assert_has(text, "The program failed before any stage: only imports ran.");
	free(text);
	synthetic_done(&s);
}

static void iterations(struct synthetic *s)
{
	for (uint64_t t = 0; t < 3 * SECOND; t += SECOND) {
		synthetic_begin(s, t, "iteration", 0);
		synthetic_stage(s, t, t + 550 * MS, "vae_decode", 0);
		synthetic_stage(s, t + 550 * MS, t + 950 * MS, "transformer_forward", 0);
		synthetic_end(s, t + SECOND);
	}
}

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

static void the_stage_inside_is_marked_as_in_the_stage_tree(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	char *text, *row;

	synthetic_open(&s);
	iterations(&s);
	m = synthetic_model(&s, 3 * SECOND);
	assert_true(sb_model_stage(m, "vae_decode")->bottleneck);
	text = summary_of(&s, m, &(struct sb_summary_options){ .columns = 100 });
	row = strstr(text, "\n  iteration  ");
	assert_non_null(row);
	assert_true(strstr(row, "<-") > line_end(row + 1)); /* the wrapper has no mark */
	assert_has(text, "\n    vae_decode                           1.650 s   55.0 %        n/a      3"
			 "  <- MAJOR BOTTLENECK\n");
	assert_has(text, "\n    transformer_forward                  1.200 s   40.0 %        n/a      3"
			 "  <- BOTTLENECK\n");
	free(text);
	synthetic_done(&s);
}

static void a_model_and_the_stage_inside_it_are_marked_at_both_levels(void **state)
{
	struct synthetic s;
	char *text, *model;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "inpainting", 0);
	synthetic_stage(&s, 0, 2 * SECOND, "ProPainter", 0);
	synthetic_begin(&s, 2 * SECOND, "DiffuEraser", 0);
	synthetic_stage(&s, 2 * SECOND, 3 * SECOND, "encode", 0);
	synthetic_stage(&s, 3 * SECOND, 10 * SECOND, "unet", 0);
	synthetic_end(&s, 10 * SECOND);
	synthetic_end(&s, 10 * SECOND);
	text = summary_of(
		&s, synthetic_model(&s, 10 * SECOND), &(struct sb_summary_options){ .columns = 100 });
	model = strstr(text, "\n    DiffuEraser  ");
	assert_non_null(model);
	assert_has(model, "<- MAIN PART\n      unet  "); /* without codes nothing says that it is a model */
	assert_has(model, "<- MAJOR BOTTLENECK\n");
	free(text);
	synthetic_done(&s);
}

static void a_marked_stage_beyond_the_shown_rows_is_shown(void **state)
{
	char name[16], part[16];
	uint64_t t = 0;
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	for (int i = 0; i < 9; i++) { /* larger, but made of parts */
		snprintf(name, sizeof name, "loop %c", 'a' + i);
		synthetic_begin(&s, t, name, 0);
		for (int k = 0; k < 2; k++, t += SECOND) {
			snprintf(part, sizeof part, "part %c", 'a' + 2 * i + k);
			synthetic_stage(&s, t, t + SECOND, part, 0);
		}
		synthetic_end(&s, t);
	}
	synthetic_stage(&s, t, t + 1500 * MS, "encode", 0);
	text = summary_of(&s, synthetic_model(&s, t + 1500 * MS), NULL);
	assert_has(text, "  2 more stages ");
	assert_has(text, "\n    encode  ");
	assert_has(strstr(text, "\n    encode  "), "<- BOTTLENECK");
	free(text);
	synthetic_done(&s);
}

static void marks_fit_eighty_columns(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	iterations(&s);
	text = summary_of(&s, synthetic_model(&s, 3 * SECOND), &(struct sb_summary_options){ .columns = 80 });
	assert_has(text, " 3  <- BOTTLENECK\n");
	assert_null(strstr(text, "\n    BOTTLENECK"));
	assert_width(text, 80);
	free(text);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stage_inside_is_marked_as_in_the_stage_tree),
		cmocka_unit_test(a_model_and_the_stage_inside_it_are_marked_at_both_levels),
		cmocka_unit_test(a_marked_stage_beyond_the_shown_rows_is_shown),
		cmocka_unit_test(marks_fit_eighty_columns),
		cmocka_unit_test(an_import_is_not_the_bottleneck_of_a_run_without_generations),
		cmocka_unit_test(a_verdict_without_room_has_a_line_of_its_own),
		cmocka_unit_test(work_outside_that_takes_longer_than_all_videos_is_the_bottleneck),
		cmocka_unit_test(a_wrapper_is_marked_only_for_its_own_time),
		cmocka_unit_test(a_failure_during_the_imports_has_no_bottleneck),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
