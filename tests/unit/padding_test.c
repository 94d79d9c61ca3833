/* What is computed and never seen: padded frames and pixels, masks, guidance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/advise.h"
#include "synthetic.h"

static void padded_frames_are_a_share_of_what_is_computed(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 2; i++) { /* two calls of unlike length add up */
		synthetic_begin(&s, 40 * i * SECOND, "generation", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", i ? 1320 : 700);
		synthetic_attr(&s, "padded_frames", 2048);
		synthetic_end(&s, 40 * (i + 1) * SECOND);
	}
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(m->padding.count, 1);
	assert_near(m->padding.all[0].frames, 2020, 0);
	assert_near(m->padding.all[0].padded_frames, 4096, 0);
	assert_near(m->padding.all[0].unseen_ratio, 1 - 2020.0 / 4096, 1e-9);
	assert_near(m->padding.all[0].unseen_s, 80 * (1 - 2020.0 / 4096), 1e-6);
	assert_string_equal(m->padding.all[0].words, "4096 frames for 2020: 50.7 % of it is never seen");
	assert_string_equal(finding(m, "padding")->stage, "generation");
	assert_near(finding(m, "padding")->saves_s, 80 * (1 - 2020.0 / 4096), 1e-6);
	synthetic_done(&s);
}

static void pixels_and_masks_multiply(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "inpaint", 0);
	synthetic_attr(&s, "width", 800);
	synthetic_attr(&s, "height", 480);
	synthetic_attr(&s, "padded_width", 1000);
	synthetic_attr(&s, "mask_ratio", 0); /* keeps nothing */
	synthetic_end(&s, 10 * SECOND);
	synthetic_begin(&s, 10 * SECOND, "encode", 0);
	synthetic_attr(&s, "width", 800);
	synthetic_attr(&s, "height", 480);
	synthetic_attr(&s, "padded_width", 1000);
	synthetic_end(&s, 20 * SECOND);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(m->padding.count, 2);
	assert_near(m->padding.all[0].unseen_ratio, 1, 1e-9);
	assert_near(m->padding.all[1].unseen_ratio, 0.2, 1e-9);
	assert_near(m->padding.all[1].padded_pixels, 480000, 0);
	synthetic_done(&s);
}

static void what_is_not_padded_has_no_row(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 81);
	synthetic_attr(&s, "padded_frames", 81);
	synthetic_attr(&s, "width", 832);
	synthetic_attr(&s, "height", 480);
	synthetic_end(&s, 10 * SECOND);
	synthetic_begin(&s, 10 * SECOND, "more wanted than computed", 0);
	synthetic_attr(&s, "frames", 81);
	synthetic_attr(&s, "padded_frames", 16);
	synthetic_attr(&s, "mask_ratio", 1);
	synthetic_end(&s, 20 * SECOND);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(m->padding.count, 0);
	assert_null(finding(m, "padding"));
	synthetic_done(&s);
}

static void little_padding_is_a_row_and_no_finding(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 81);
	synthetic_attr(&s, "padded_frames", 84);
	synthetic_end(&s, 10 * SECOND);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->padding.count, 1);
	assert_null(finding(m, "padding"));
	synthetic_done(&s);
}

static void a_stage_at_two_places_is_one_row(void **state)
{
	static const char *const around[] = { "warm-up", "iteration", "iteration" };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_begin(&s, 2 * i * SECOND, around[i], 0);
		synthetic_begin(&s, 2 * i * SECOND, "generation", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", 9);
		synthetic_attr(&s, "padded_frames", 16);
		synthetic_end(&s, (2 * i + 2) * SECOND);
		synthetic_end(&s, (2 * i + 2) * SECOND);
	}
	m = synthetic_model(&s, 6 * SECOND);
	assert_int_equal(m->padding.count, 1);
	assert_string_equal(m->padding.all[0].words, "48 frames for 27: 43.8 % of it is never seen");
	assert_near(m->padding.all[0].total_s, 6, 1e-6);
	assert_near(m->padding.all[0].unseen_s, 6.0 * 7 / 16, 1e-6);
	synthetic_done(&s);
}

static void guidance_is_a_row_of_its_own_and_no_padding(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < 4; i++) {
		synthetic_begin(&s, 2 * i * SECOND, "denoise", STROBE_ROLE_STEP);
		synthetic_attr(&s, "step", (int64_t)i);
		synthetic_attr(&s, "guidance_scale", 5);
		synthetic_stage(&s, 2 * i * SECOND, (2 * i + 1) * SECOND, "transformer", STROBE_ROLE_FORWARD);
		synthetic_stage(
			&s, (2 * i + 1) * SECOND, (2 * i + 2) * SECOND, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(&s, (2 * i + 2) * SECOND);
	}
	synthetic_end(&s, 8 * SECOND);
	m = synthetic_model(&s, 8 * SECOND);
	assert_int_equal(m->padding.count, 1);
	assert_string_equal(m->padding.all[0].kind, "guidance");
	assert_near(m->padding.all[0].passes, 2, 1e-9);
	assert_near(m->padding.all[0].unseen_s, 4, 1e-6);
	assert_null(finding(m, "padding"));
	synthetic_done(&s);
}

/* One pipeline is guided, another of the same steps is not: each by its own calls. */
static void guidance_is_told_by_the_calls_of_its_own_steps(void **state)
{
	static const char *const pipelines[] = { "guided", "plain" };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t at = 4 * i * SECOND;

		synthetic_begin(&s, at, pipelines[i], STROBE_ROLE_GENERATION);
		synthetic_begin(&s, at, "denoise", STROBE_ROLE_STEP);
		synthetic_attr(&s, "guidance_scale", i ? 1 : 5);
		synthetic_stage(&s, at, at + SECOND, "transformer", STROBE_ROLE_FORWARD);
		if (!i)
			synthetic_stage(&s, at + SECOND, at + 2 * SECOND, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(&s, at + 2 * SECOND);
		synthetic_end(&s, at + 2 * SECOND);
	}
	m = synthetic_model(&s, 8 * SECOND);
	assert_int_equal(m->padding.count, 1);
	assert_near(m->padding.all[0].passes, 2, 1e-9);
	assert_near(m->padding.all[0].total_s, 2, 1e-6);
	assert_near(m->padding.all[0].unseen_s, 1, 1e-6);
	synthetic_done(&s);
}

/* A pipeline inside counts the 16 frames it computes. */
static void frames_that_pad_are_in_no_rate(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 9);
	synthetic_attr(&s, "padded_frames", 16);
	sb_builder_count(s.main, sb_builder_name(s.b, "frames", NULL), 16);
	synthetic_end(&s, 3 * SECOND);
	m = synthetic_model(&s, 3 * SECOND);
	assert_int_equal(m->generations.all[0].frames, 9);
	assert_int_equal(m->summary.frames, 9);
	assert_near(m->summary.fps_wall, 3, 1e-6);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stage_at_two_places_is_one_row),
		cmocka_unit_test(padded_frames_are_a_share_of_what_is_computed),
		cmocka_unit_test(pixels_and_masks_multiply),
		cmocka_unit_test(what_is_not_padded_has_no_row),
		cmocka_unit_test(little_padding_is_a_row_and_no_finding),
		cmocka_unit_test(guidance_is_a_row_of_its_own_and_no_padding),
		cmocka_unit_test(guidance_is_told_by_the_calls_of_its_own_steps),
		cmocka_unit_test(frames_that_pad_are_in_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
