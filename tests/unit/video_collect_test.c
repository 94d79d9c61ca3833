/* Steps, blocks, frames and rates of synthetic recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/summary.h"
#include "report/text.h"
#include "synthetic.h"

/* 10 blocks of 3 frames, 4 steps each, 62.5 ms a step: 2.5 s in all. */
static void self_forcing(struct synthetic *s)
{
	uint64_t t = 0;

	for (int block = 0; block < 10; block++) {
		synthetic_begin(s, t, "block", STROBE_ROLE_BLOCK);
		synthetic_attr(s, "index", block);
		synthetic_attr(s, "frames", 3);
		for (int step = 0; step < 4; step++, t += 62500000)
			synthetic_step(s, t, t + 62500000, step, 3);
		synthetic_end(s, t);
	}
}

static void frames_count_once_and_steps_per_block(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	self_forcing(&s);
	m = synthetic_model(&s, 2500 * MS);
	assert_int_equal(m->diffusion.frames, 30);
	assert_int_equal(m->diffusion.frames_source, SB_FRAMES_BLOCKS);
	assert_int_equal(m->diffusion.blocks, 10);
	assert_int_equal(m->diffusion.steps, 40);
	assert_int_equal(m->diffusion.steps_per_chain, 4);
	assert_near(m->diffusion.fps, 12, 1e-9);
	assert_near(m->diffusion.bps, 4, 1e-9);
	assert_near(m->blocks.fps, 12, 1e-9);
	assert_near(sb_rate_find(m, "denoise")->fps_wall, 12, 1e-9);
	assert_near(sb_rate_find(m, "end_to_end")->fps_wall, 12, 1e-9);
	assert_near(m->blocks.first_block_s, 0.25, 1e-9);
	assert_null(finding(m, "steps_many"));
	synthetic_done(&s);
}

/* Two generations; the first lies in a warm-up, takes longer, and is in no rate. */
static void warm_up_is_in_no_rate(void **state)
{
	for (int marked = 0; marked < 2; marked++) {
		struct synthetic s;
		struct sb_model *m;

		synthetic_open(&s);
		for (uint64_t i = 0, t = 0; i < 2; i++) {
			uint64_t step = i ? 100 * MS : SECOND;

			synthetic_begin(&s, t, i ? "iteration" : "warm-up",
				i ? STROBE_ROLE_ITERATION : STROBE_ROLE_WARMUP);
			if (marked)
				synthetic_begin(&s, t, "video", STROBE_ROLE_GENERATION);
			for (int k = 0; k < 4; k++, t += step)
				synthetic_step(&s, t, t + step, k, 3);
			sb_builder_count(s.main, SB_NAME_FRAMES, 12);
			if (marked)
				synthetic_end(&s, t);
			synthetic_end(&s, t);
		}
		m = synthetic_model(&s, 4400 * MS);
		assert_int_equal(m->diffusion.steps, 4);
		assert_int_equal(m->diffusion.frames, 12);
		assert_int_equal(m->generations.total, marked);
		assert_near(m->diffusion.denoise_s, 0.4, 1e-9);
		assert_near(sb_rate_find(m, "denoise")->fps_wall, 30, 1e-9);
		assert_near(sb_rate_find(m, "end_to_end")->fps_wall, 30, 1e-9);
		synthetic_done(&s);
	}
}

static void chains_of_steps_are_blocks_when_steps_have_a_size(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 40; i++)
		synthetic_step(&s, i * 62500000ull, (i + 1) * 62500000ull, i % 4, 3);
	m = synthetic_model(&s, 2500 * MS);
	assert_int_equal(m->diffusion.frames, 30);
	assert_int_equal(m->diffusion.frames_source, SB_FRAMES_STEPS);
	assert_int_equal(m->blocks.blocks, 10);
	assert_int_equal(m->diffusion.steps_per_chain, 4);
	assert_near(m->diffusion.fps, 12, 1e-9);
	assert_near(m->blocks.time.mean, 0.25, 1e-9);
	synthetic_done(&s);
}

/* strobe_step_record(): stopwatch times handed in at once, in no time at all. */
static void measured_steps_give_compute_rates_and_no_wall_rate(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 40; i++) {
		struct strobe_attr attrs[] = {
			{ "strobe.role", STROBE_TYPE_INT, { .i = STROBE_ROLE_STEP } },
			{ "step", STROBE_TYPE_INT, { .i = i % 4 } },
			{ "block_size", STROBE_TYPE_INT, { .i = 3 } },
		};

		sb_builder_span(s.main, sb_builder_name(s.b, "diffusion_step", NULL), i + 1,
			100 * MS + i * 1000ull, 62500000, 0, attrs, 3);
	}
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->diffusion.steps, 40);
	assert_int_equal(m->diffusion.frames, 30);
	assert_near(m->diffusion.fps, 12, 1e-9);
	assert_near(m->blocks.fps, 12, 1e-9);
	assert_true(isnan(sb_rate_find(m, "denoise")->fps_wall));
	assert_near(sb_rate_find(m, "denoise")->fps_compute, 12, 1e-9);
	assert_int_equal(m->diffusion.slow_step_total, 0);
	assert_null(
		sb_rate_find(m, "end_to_end")); /* 2.5 s of steps in a run of one second: not made in it */
	assert_true(isnan(m->summary.fps_wall));
	synthetic_done(&s);
}

/* One step that took no time, then four blocks handed in with their durations: the step did not make them. */
static void fewer_steps_than_blocks_are_not_the_blocks_time(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_step(&s, 10 * MS, 10 * MS + 17000, 2, 3);
	for (int i = 0; i < 4; i++) {
		struct strobe_attr attrs[] = {
			{ "strobe.role", STROBE_TYPE_INT, { .i = STROBE_ROLE_BLOCK } },
			{ "block", STROBE_TYPE_INT, { .i = i } },
			{ "block_size", STROBE_TYPE_INT, { .i = 3 } },
		};

		sb_builder_span(s.main, sb_builder_name(s.b, "block", NULL), i + 1,
			12 * MS + (uint64_t)i * 1000, 250 * MS, 0, attrs, 3);
	}
	m = synthetic_model(&s, 15 * MS);
	assert_int_equal(m->diffusion.blocks, 4);
	assert_int_equal(m->diffusion.frames, 12);
	assert_near(m->diffusion.fps, 12, 1e-6);
	assert_near(m->diffusion.bps, 4, 1e-6);
	assert_near(sb_rate_find(m, "denoise")->fps_compute, 12, 1e-6);
	assert_true(isnan(sb_rate_find(m, "denoise")->fps_wall));
	synthetic_done(&s);
}

static void forwards_and_nested_steps_do_not_multiply_steps(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 50; i++) {
		uint64_t t = (uint64_t)i * 100 * MS;

		synthetic_begin(&s, t, "step", STROBE_ROLE_STEP);
		synthetic_attr(&s, "step", i);
		synthetic_stage(&s, t, t + 40 * MS, "transformer", STROBE_ROLE_FORWARD);
		synthetic_stage(&s, t + 40 * MS, t + 90 * MS, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(&s, t + 100 * MS);
	}
	m = synthetic_model(&s, 5 * SECOND);
	assert_int_equal(m->diffusion.steps, 50);
	assert_int_equal(m->diffusion.steps_per_chain, 50);
	assert_near(m->diffusion.forwards_per_step, 2, 1e-9);
	assert_int_equal(m->diffusion.blocks, -1);
	assert_non_null(finding(m, "steps_many"));
	assert_string_equal(finding(m, "steps_many")->priority, "low");
	assert_near(finding(m, "steps_many")->saves_s, 2, 1e-9);
	synthetic_done(&s);
}

static void cached_steps_are_a_class_not_outliers(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	synthetic_open(&s);
	for (int i = 0; i < 20; i++) {
		uint64_t took = i % 4 == 3 ? 5 * MS : i == 0 ? 300 * MS : i == 10 ? 400 * MS : 100 * MS;

		synthetic_begin(&s, t, "step", STROBE_ROLE_STEP);
		synthetic_attr(&s, "step", i);
		if (i % 4 == 3)
			synthetic_attr(&s, "cached", 1);
		synthetic_end(&s, t += took);
	}
	m = synthetic_model(&s, t);
	assert_int_equal(m->diffusion.cached_steps, 5);
	assert_near(m->diffusion.cached_ratio, 0.25, 1e-9);
	assert_near(m->diffusion.cached_step.mean, 0.005, 1e-9);
	assert_int_equal(m->diffusion.warm_step.count, 14); /* without the first and the cached */
	assert_near(m->diffusion.first_step_s, 0.3, 1e-9);
	assert_int_equal(m->diffusion.slow_step_total, 1); /* neither the first nor a cached one */
	assert_int_equal(m->diffusion.slow_steps[0].step, 10);
	assert_near(m->diffusion.slow_steps[0].peer_s, 0.1, 1e-9);
	assert_near(m->diffusion.slow_step_excess_s, 0.3, 1e-9);
	synthetic_done(&s);
}

static void a_role_says_what_a_name_does_not(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generate", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, SECOND, "3a", STROBE_ROLE_TEXT_ENCODE);
	synthetic_stage(&s, SECOND, 6 * SECOND, "4b", STROBE_ROLE_DENOISE);
	synthetic_stage(&s, 6 * SECOND, 9 * SECOND, "4c", STROBE_ROLE_VAE_DECODE);
	synthetic_end(&s, 10 * SECOND);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(m->diffusion.text_encode_s, 1, 1e-9);
	assert_near(m->diffusion.denoise_s, 5, 1e-9);
	assert_near(m->diffusion.vae_s, 3, 1e-9);
	assert_near(m->generations.all[0].denoise_s, 5, 1e-9);
	assert_near(m->generations.all[0].vae_s, 3, 1e-9);
	synthetic_done(&s);
}

static void counted_frames_beat_every_other_source(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generate", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 81);
	synthetic_stage(&s, 0, SECOND, "denoise", 0);
	sb_builder_count(s.main, SB_NAME_FRAMES, 77);
	synthetic_end(&s, 2 * SECOND);
	m = synthetic_model(&s, 2 * SECOND);
	assert_int_equal(m->diffusion.frames, 77);
	assert_int_equal(m->diffusion.frames_source, SB_FRAMES_COUNTED);
	assert_int_equal(m->generations.all[0].frames, 77);
	synthetic_done(&s);
}

static void block_sizes_are_grouped_and_the_first_block_compared(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	synthetic_open(&s);
	for (int i = 0; i < 6; i++) {
		uint64_t took = i == 0 ? 900 * MS : i < 3 ? 300 * MS : 600 * MS;

		synthetic_begin(&s, t, "block", STROBE_ROLE_BLOCK);
		synthetic_attr(&s, "index", i);
		synthetic_attr(&s, "frames", i < 3 ? 3 : 9);
		synthetic_attr(&s, "memory_bytes", 1000);
		synthetic_end(&s, t += took);
	}
	m = synthetic_model(&s, t);
	assert_int_equal(m->blocks.by_size_count, 2);
	assert_int_equal(m->blocks.by_size[0].key, 3);
	assert_int_equal(m->blocks.by_size[0].time.count, 3);
	assert_near(m->blocks.by_size[1].time.mean, 0.6, 1e-9);
	assert_near(m->blocks.mean_frames, 6, 1e-9);
	assert_near(m->blocks.first_block_time_s, 0.9, 1e-9);
	assert_near(m->blocks.later_block_time_s, 0.6, 1e-9);
	assert_near(m->blocks.all[0].memory_bytes, 1000, 0);
	assert_non_null(finding(m, "first_block"));
	assert_near(finding(m, "first_block")->saves_s, 0.3, 1e-9);
	synthetic_done(&s);
}

static void absurd_attributes_are_absent(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generate", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", -5);
	sb_builder_attr_float(s.main, SB_NAME_WIDTH, 1e300);
	sb_builder_attr_float(s.main, SB_NAME_HEIGHT, NAN);
	synthetic_end(&s, SECOND);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->generations.all[0].frames, -1);
	assert_int_equal(m->generations.all[0].width, -1);
	assert_int_equal(m->generations.all[0].height, -1);
	synthetic_done(&s);
}

static void nothing_recorded_gives_no_video(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "prepare", 0);
	m = synthetic_model(&s, SECOND);
	assert_false(m->diffusion.present);
	assert_false(m->blocks.present);
	assert_int_equal(m->diffusion.frames, -1);
	assert_true(isnan(m->summary.fps_wall));
	assert_true(m->generations.whole_run);
	assert_int_equal(m->generations.total, 0);
	synthetic_done(&s);
}

static void short_videos_are_told_in_ms(void **state)
{
	struct synthetic s;
	struct sb_buf text = { 0 };

	synthetic_open(&s);
	for (int i = 0; i < 4; i++)
		synthetic_step(&s, (uint64_t)i * MS, (uint64_t)(i + 1) * MS, i, 3);
	assert_int_equal(sb_report_text(synthetic_model(&s, 4 * MS), NULL, &text), 0);
	assert_non_null(
		strstr(sb_buf_text(&text), "\n  end to end        4.00 ms    750.00    250.00    4.00 ms"));
	assert_non_null(strstr(sb_buf_text(&text), "\n  denoise           4.00 ms   100.0 %"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

static void a_small_share_of_a_video_is_not_nothing(void **state)
{
	struct synthetic s;
	struct sb_buf text = { 0 };

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	for (int i = 0; i < 10; i++)
		synthetic_step(&s, (uint64_t)i * SECOND, (uint64_t)(i + 1) * SECOND, i, 0);
	synthetic_end(&s, 10 * SECOND + 141000);
	assert_int_equal(sb_report_text(synthetic_model(&s, 11 * SECOND), NULL, &text), 0);
	assert_non_null(strstr(sb_buf_text(&text), " 141 us   < 0.1 %\n"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_count_once_and_steps_per_block),
		cmocka_unit_test(warm_up_is_in_no_rate),
		cmocka_unit_test(chains_of_steps_are_blocks_when_steps_have_a_size),
		cmocka_unit_test(measured_steps_give_compute_rates_and_no_wall_rate),
		cmocka_unit_test(fewer_steps_than_blocks_are_not_the_blocks_time),
		cmocka_unit_test(forwards_and_nested_steps_do_not_multiply_steps),
		cmocka_unit_test(cached_steps_are_a_class_not_outliers),
		cmocka_unit_test(counted_frames_beat_every_other_source),
		cmocka_unit_test(block_sizes_are_grouped_and_the_first_block_compared),
		cmocka_unit_test(absurd_attributes_are_absent),
		cmocka_unit_test(nothing_recorded_gives_no_video),
		cmocka_unit_test(short_videos_are_told_in_ms),
		cmocka_unit_test(a_small_share_of_a_video_is_not_nothing),
		cmocka_unit_test(a_role_says_what_a_name_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
