/* What a video has of its own: its steps, its place among the others, its share of the energy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/text.h"
#include "synthetic.h"

/* Three videos of 4, 2 and 3 steps, and one that never ends. */
static void videos(struct synthetic *s)
{
	static const int steps[] = { 4, 2, 3, 1 };
	uint64_t t = 0;

	for (int v = 0; v < 4; v++, t += 500 * MS) {
		synthetic_begin(s, t, "video", STROBE_ROLE_GENERATION);
		for (int i = 0; i < steps[v]; i++) {
			uint64_t took = (uint64_t)(i + 1) * 100 * MS;

			synthetic_step(s, t, t + took, i, 0);
			t += took;
		}
		if (v < 3)
			synthetic_end(s, t);
	}
}

static void a_video_knows_its_steps_and_how_many_were_faster(void **state)
{
	static const double median_s[] = { .25, .15, .2, .1 }, max_s[] = { .4, .2, .3, .1 };
	static const int64_t faster[] = { 2, 0, 1 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	videos(&s);
	m = synthetic_model(&s, 6 * SECOND);
	assert_int_equal(m->generations.listed, 4);
	assert_int_equal(m->generations.time.count, 3);
	for (int i = 0; i < 4; i++) {
		assert_near(m->generations.all[i].step_median_s, median_s[i], 1e-9);
		assert_near(m->generations.all[i].step_max_s, max_s[i], 1e-9);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(m->generations.all[i].faster_count, faster[i]);
	assert_int_equal(m->generations.median,
		2); /* of the two warm ones that ended the longer: the median of all three */
	synthetic_done(&s);
}

static void without_steps_there_is_no_time_of_a_step(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "video", STROBE_ROLE_GENERATION);
	m = synthetic_model(&s, SECOND);
	assert_true(isnan(m->generations.all[0].step_median_s));
	assert_true(isnan(m->generations.all[0].step_max_s));
	assert_int_equal(m->generations.all[0].faster_count, 0);
	assert_near(m->stages.unattributed_ratio, 0, 1e-9);
	synthetic_done(&s);
}

static const struct sb_rate *rate_of(const struct sb_model *m, const char *scope)
{
	for (size_t i = 0; i < m->diffusion.rate_count; i++)
		if (!strcmp(m->diffusion.rates[i].scope, scope))
			return &m->diffusion.rates[i];
	return NULL;
}

static void thread_video(struct synthetic *s, struct sb_stream_writer *w, uint64_t begin_s)
{
	sb_builder_begin(w, begin_s * SECOND, sb_builder_name(s->b, "generation", NULL));
	sb_builder_role(w, STROBE_ROLE_GENERATION);
	sb_builder_attr(w, sb_builder_name(s->b, "frames", NULL), 16);
	sb_builder_begin(w, begin_s * SECOND, sb_builder_name(s->b, "denoise", NULL));
	sb_builder_end(w, (begin_s + 4) * SECOND, 0);
	sb_builder_begin(w, (begin_s + 4) * SECOND, sb_builder_name(s->b, "vae_decode", NULL));
	sb_builder_end(w, (begin_s + 6) * SECOND, 0);
	sb_builder_end(w, (begin_s + 6) * SECOND, 0);
}

/* One decodes while the other denoises: together they take no longer than all of it. */
static void denoising_beside_decoding_counts_once(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	thread_video(&s, s.main, 0);
	thread_video(&s, sb_builder_thread(s.b, 2001, "worker"), 2);
	m = synthetic_model(&s, 8 * SECOND);
	assert_near(rate_of(m, "denoise")->wall_s, 6, 1e-6);
	assert_near(rate_of(m, "denoise_vae")->wall_s, 8, 1e-6);
	assert_near(rate_of(m, "end_to_end")->wall_s, 8, 1e-6);
	assert_true(rate_of(m, "denoise_vae")->compute_s <= 8 + 1e-6);
	synthetic_done(&s);
}

/* Killed in its second video: that one has time, but no frames. */
static void an_unfinished_generation_slows_no_rate(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	thread_video(&s, s.main, 0);
	synthetic_begin(&s, 6 * SECOND, "generation", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 6 * SECOND, 9 * SECOND, "denoise", 0);
	m = synthetic_model(&s, 9 * SECOND);
	assert_int_equal(m->diffusion.unrated_count, 1);
	assert_near(rate_of(m, "end_to_end")->wall_s, 6, 1e-6);
	assert_near(rate_of(m, "end_to_end")->fps_wall, 16 / 6.0, 1e-6);
	assert_near(rate_of(m, "denoise")->fps_wall, 4, 1e-6);
	synthetic_done(&s);
}

/* The second video fails, and decodes its blocks inside its denoising: that time is in no rate, and counts once. */
static void the_computing_of_a_failed_video_is_left_out_once(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	thread_video(&s, s.main, 0);
	synthetic_begin(&s, 6 * SECOND, "generation", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 6 * SECOND, "denoise", 0);
	synthetic_stage(&s, 7 * SECOND, 14 * SECOND, "vae_decode", 0);
	synthetic_end(&s, 14 * SECOND);
	synthetic_text(&s, "error", "RuntimeError");
	synthetic_end(&s, 14 * SECOND);
	m = synthetic_model(&s, 14 * SECOND);
	assert_int_equal(m->diffusion.unrated_count, 1);
	assert_near(rate_of(m, "end_to_end")->compute_s, 6, 1e-6);
	assert_near(rate_of(m, "end_to_end")->fps_compute, 16 / 6.0, 1e-6);
	synthetic_done(&s);
}

static void the_encoding_of_a_failed_video_is_left_out_too(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 16);
	synthetic_stage(&s, 0, 1 * SECOND, "encode_prompt", 0);
	synthetic_stage(&s, 2 * SECOND, 5 * SECOND, "denoise", 0);
	synthetic_end(&s, 8 * SECOND);
	synthetic_begin(&s, 8 * SECOND, "generation", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 8 * SECOND, 9 * SECOND, "a text", STROBE_ROLE_TEXT_ENCODE);
	synthetic_stage(&s, 9 * SECOND, 10 * SECOND, "vae_encode", 0);
	synthetic_text(&s, "error", "RuntimeError");
	synthetic_end(&s, 10 * SECOND);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(rate_of(m, "end_to_end")->compute_s, 4, 1e-6);
	synthetic_done(&s);
}

/* A video of 20 s; its models come onto the GPU in the stages that use them, and the last one leaves it at the end. */
static void offloaded_video(struct synthetic *s)
{
	synthetic_begin(s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_attr(s, "frames", 32);
	synthetic_begin(s, 0, "encode_prompt", 0);
	synthetic_stage(s, 0, SECOND, "offload:text_encoder", STROBE_ROLE_OFFLOAD);
	synthetic_end(s, 2 * SECOND);
	synthetic_begin(s, 2 * SECOND, "step", STROBE_ROLE_STEP);
	synthetic_stage(s, 2 * SECOND, 5 * SECOND, "offload:transformer", STROBE_ROLE_OFFLOAD);
	synthetic_end(s, 9 * SECOND);
	synthetic_step(s, 9 * SECOND, 13 * SECOND, 1, 0);
	synthetic_begin(s, 13 * SECOND, "vae_decode", 0);
	synthetic_stage(s, 13 * SECOND, 14 * SECOND, "offload:vae", STROBE_ROLE_OFFLOAD);
	synthetic_stage(s, 14 * SECOND, 15 * SECOND, "all_reduce", STROBE_ROLE_COLLECTIVE);
	synthetic_end(s, 16 * SECOND);
	synthetic_stage(s, 16 * SECOND, 18 * SECOND, "offload:vae", STROBE_ROLE_OFFLOAD);
	synthetic_end(s, 20 * SECOND);
}

/* Compute time is one thing in all lines: a line that holds another is never the shorter one. */
static void compute_holds_the_weights_that_move_in_it_in_every_line(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	offloaded_video(&s);
	m = synthetic_model(&s, 20 * SECOND);
	assert_near(rate_of(m, "denoise")->compute_s, 11, 1e-6);
	assert_near(rate_of(m, "denoise_vae")->compute_s, 14, 1e-6);
	assert_near(rate_of(m, "end_to_end")->compute_s, 16, 1e-6);
	assert_near(m->summary.fps_compute, 2, 1e-6);
	assert_near(m->diffusion.moving_s, 5, 1e-6);
	assert_near(m->diffusion.offload_s, 7, 1e-6);
	assert_int_equal(sb_report_text(m, NULL, &text), 0);
	assert_non_null(
		strstr(sb_buf_text(&text), "  weights moved during 5.00 s of the end to end compute time\n"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* 300 W, sampled every half second: a video that is reported alone used what it used beside the others. */
static void a_video_alone_has_the_energy_it_has_beside_others(void **state)
{
	static const char *const columns[] = { "power_w", "energy_j" };

	for (int32_t alone = 0; alone <= 3; alone++) {
		struct sb_cut cut = { .generation = alone };
		struct synthetic s;
		struct sb_model *m;
		uint32_t schema;

		synthetic_open(&s);
		schema = sb_builder_schema(s.b, "gpu", 0, columns, 2);
		for (uint64_t i = 0; i <= 20; i++)
			sb_builder_sample(s.b, schema, i * 500 * MS, (double[]){ 300, (double)i * 150 }, 2);
		for (uint64_t i = 0; i < 3; i++)
			synthetic_stage(&s, 300 * MS + i * 3 * SECOND, 2900 * MS + i * 3 * SECOND, "video",
				STROBE_ROLE_GENERATION);
		m = synthetic_part(&s, 10 * SECOND, alone ? &cut : NULL);
		assert_int_equal(m->generations.listed, alone ? 1 : 3);
		for (size_t i = 0; i < m->generations.listed; i++)
			assert_near(m->generations.all[i].energy_wh * 3600, 300 * 2.6, 1e-6);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_video_knows_its_steps_and_how_many_were_faster),
		cmocka_unit_test(without_steps_there_is_no_time_of_a_step),
		cmocka_unit_test(denoising_beside_decoding_counts_once),
		cmocka_unit_test(an_unfinished_generation_slows_no_rate),
		cmocka_unit_test(the_computing_of_a_failed_video_is_left_out_once),
		cmocka_unit_test(the_encoding_of_a_failed_video_is_left_out_too),
		cmocka_unit_test(compute_holds_the_weights_that_move_in_it_in_every_line),
		cmocka_unit_test(a_video_alone_has_the_energy_it_has_beside_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
