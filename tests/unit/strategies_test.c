/* Strategies by stage: which knob of which stage, what it saves; bottlenecks at two levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/advise.h"
#include "base/knob.h"
#include "synthetic.h"

static void stage_with(
	struct synthetic *s, uint64_t from_s, uint64_t to_s, const char *name, const char *key, int64_t value)
{
	synthetic_begin(s, from_s * SECOND, name, 0);
	if (key)
		synthetic_attr(s, key, value);
	synthetic_end(s, to_s * SECOND);
}

static const struct sb_strategy *strategy(const struct sb_model *m, const char *stage, const char *knob)
{
	for (size_t i = 0; i < m->strategies.count; i++) {
		const struct sb_strategy *s = &m->strategies.all[i];

		if (!strcmp(s->stage_name, stage) && (!knob || (s->knob && !strcmp(s->knob, knob))))
			return s;
	}
	return NULL;
}

static void iterations_of_optical_flow_are_priced(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_strategy *f;

	synthetic_open(&s);
	stage_with(&s, 0, 96, "RAFT optical flow", "iters", 12);
	stage_with(&s, 96, 200, "UNet pipeline", "steps", 2);
	m = synthetic_model(&s, 200 * SECOND);
	f = strategy(m, "RAFT optical flow", "iters");
	assert_non_null(f);
	assert_near(f->now, 12, 0);
	assert_near(f->proposed, 8, 0);
	assert_near(f->each_s, 8, 1e-9);
	assert_near(f->gain_s, 32, 1e-9);
	assert_string_equal(f->gain_basis, "estimated");
	assert_string_equal(f->effort, "< 1 day");
	assert_string_equal(f->trade_off, "flow accuracy");
	assert_string_equal(f->what, "12 iterations of 8.00 s; 8 would save about 32.00 s");
	f = strategy(m, "UNet pipeline", "steps"); /* two steps: one, and that is no quick change */
	assert_near(f->proposed, 1, 0);
	assert_near(f->gain_s, 52, 1e-9);
	assert_string_equal(f->effort, "2-3 days");
	synthetic_done(&s);
}

/* As LTX on an H200: frames become arrays for 10 % of each video, through pageable memory; a hundredth of that is nothing. */
static void frames_that_become_arrays_can_do_so_beside_the_next_video(void **state)
{
	static const uint64_t took_ms[] = { 300, 10 };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct synthetic s;
		const struct sb_strategy *f;

		synthetic_open(&s);
		for (uint64_t g = 0; g < 3; g++) {
			synthetic_begin(&s, g * 3 * SECOND, "video", STROBE_ROLE_GENERATION);
			synthetic_stage(&s, g * 3 * SECOND, (g + 1) * 3 * SECOND - took_ms[k] * MS, "denoise",
				STROBE_ROLE_DENOISE);
			synthetic_stage(&s, (g + 1) * 3 * SECOND - took_ms[k] * MS, (g + 1) * 3 * SECOND,
				"postprocess", 0);
			synthetic_end(&s, (g + 1) * 3 * SECOND);
		}
		f = strategy(synthetic_model(&s, 9 * SECOND), "postprocess", NULL);
		assert_int_equal(f != NULL, k == 0);
		if (f)
			assert_near(f->gain_s, 0.6, 1e-9); /* all but one */
		synthetic_done(&s);
	}
}

static void steps_that_are_zones_are_counted_by_video(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_strategy *f;

	synthetic_open(&s);
	for (uint64_t g = 0; g < 2; g++) {
		synthetic_begin(&s, g * 30 * SECOND, "generation", STROBE_ROLE_GENERATION);
		for (uint64_t i = 0; i < 30; i++)
			synthetic_stage(&s, (g * 30 + i) * SECOND, (g * 30 + i + 1) * SECOND, "denoise",
				STROBE_ROLE_STEP);
		synthetic_end(&s, (g + 1) * 30 * SECOND);
	}
	m = synthetic_model(&s, 60 * SECOND);
	f = strategy(m, "denoise", "steps");
	assert_non_null(f);
	assert_near(f->now, 30, 0);
	assert_near(f->proposed, 20, 0);
	assert_near(f->each_s, 1, 1e-9);
	assert_near(f->gain_s, 20, 1e-9); /* of both videos */
	synthetic_done(&s);
}

static void the_least_effort_comes_first_and_then_the_largest_gain(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	stage_with(&s, 0, 10, "read video", NULL, 0);
	stage_with(&s, 10, 40, "RAFT optical flow", "iters", 12);
	stage_with(&s, 40, 100, "UNet pipeline", "frames", 1320);
	stage_with(&s, 100, 100, "deep copy", NULL, 0); /* too small to pay */
	m = synthetic_model(&s, 100 * SECOND);
	assert_non_null(strategy(m, "read video", NULL));
	assert_string_equal(strategy(m, "read video", NULL)->gain_basis, "bounded");
	assert_null(strategy(m, "deep copy", NULL));
	for (size_t i = 1; i < m->strategies.count; i++)
		if (!strcmp(m->strategies.all[i].effort, m->strategies.all[i - 1].effort) &&
			!isnan(m->strategies.all[i].gain_s))
			assert_true(m->strategies.all[i - 1].gain_s >= m->strategies.all[i].gain_s);
	assert_string_equal(m->strategies.all[0].effort, "< 1 day");
	assert_string_equal(m->strategies.all[m->strategies.count - 1].effort, "1-2 weeks");
	synthetic_done(&s);
}

static void a_compiled_model_is_not_told_to_compile(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 10 * SECOND, "compile", STROBE_ROLE_COMPILE);
	stage_with(&s, 10, 100, "UNet pipeline", "frames", 81);
	m = synthetic_model(&s, 100 * SECOND);
	for (size_t i = 0; i < m->strategies.count; i++)
		assert_null(strstr(m->strategies.all[i].what, "compile"));
	synthetic_done(&s);
}

/* What it costs is said instead. */
static void a_run_that_pads_its_frames_is_not_told_to_pad(void **state)
{
	for (int pads = 0; pads < 2; pads++) {
		struct synthetic s;
		struct sb_model *m;
		int told = 0;

		synthetic_open(&s);
		synthetic_begin(&s, 0, "UNet pipeline", 0);
		synthetic_attr(&s, "frames", 1320);
		if (pads)
			synthetic_attr(&s, "padded_frames", 2048);
		synthetic_end(&s, 100 * SECOND);
		m = synthetic_model(&s, 100 * SECOND);
		for (size_t i = 0; i < m->strategies.count; i++)
			told += strstr(m->strategies.all[i].what, "pad every video") != NULL;
		assert_int_equal(told, !pads);
		synthetic_done(&s);
	}
}

static void the_finding_names_what_to_turn(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "ProPainter", 0);
	stage_with(&s, 0, 24, "RAFT optical flow", "iters", 12);
	stage_with(&s, 24, 44, "Flow completion", NULL, 0);
	synthetic_end(&s, 44 * SECOND);
	m = synthetic_model(&s, 100 * SECOND);
	assert_string_equal(finding(m, "stage_dominates")->stage, "ProPainter");
	assert_non_null(strstr(finding(m, "stage_dominates")->evidence, "mostly 'RAFT optical flow' in it"));
	assert_non_null(strstr(finding(m, "stage_dominates")->suggestion, "8 would save about 8.00 s"));
	assert_string_equal(finding(m, "stage_dominates")->effort, "< 1 day");
	synthetic_done(&s);
}

static void bottlenecks_are_marked_at_both_levels(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "ProPainter", 0);
	synthetic_stage(&s, 0, 30 * SECOND, "flow", 0);
	synthetic_end(&s, 35 * SECOND);
	synthetic_begin(&s, 35 * SECOND, "DiffuEraser", 0);
	synthetic_stage(&s, 35 * SECOND, 36 * SECOND, "copy", 0);
	synthetic_stage(&s, 35 * SECOND, 36 * SECOND, "copy", 0);
	synthetic_stage(&s, 36 * SECOND, 96 * SECOND, "unet", 0);
	synthetic_end(&s, 100 * SECOND);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(sb_model_stage(m, "unet")->bottleneck_level, SB_BOTTLENECK_MAJOR);
	assert_int_equal(sb_model_stage(m, "flow")->bottleneck_level, SB_BOTTLENECK_OTHER);
	assert_int_equal(
		sb_model_stage(m, "DiffuEraser")->bottleneck_level, SB_BOTTLENECK_PART); /* no codes */
	assert_int_equal(sb_model_stage(m, "ProPainter")->bottleneck_level, SB_BOTTLENECK_NONE);
	assert_true(m->stages.two_bottlenecks);
	synthetic_done(&s);
}

static void knobs_have_the_names_pipelines_give_them(void **state)
{
	assert_string_equal(sb_knob_find("num_inference_steps")->key, "steps");
	assert_string_equal(sb_knob_find("Iterations")->key, "iters");
	assert_string_equal(sb_knob_find("batch_size")->key, "batch");
	assert_null(sb_knob_find("colour"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_of_optical_flow_are_priced),
		cmocka_unit_test(frames_that_become_arrays_can_do_so_beside_the_next_video),
		cmocka_unit_test(steps_that_are_zones_are_counted_by_video),
		cmocka_unit_test(the_least_effort_comes_first_and_then_the_largest_gain),
		cmocka_unit_test(a_compiled_model_is_not_told_to_compile),
		cmocka_unit_test(a_run_that_pads_its_frames_is_not_told_to_pad),
		cmocka_unit_test(the_finding_names_what_to_turn),
		cmocka_unit_test(bottlenecks_are_marked_at_both_levels),
		cmocka_unit_test(knobs_have_the_names_pipelines_give_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
