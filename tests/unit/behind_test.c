/* The CPU runs ahead of the GPU: whose time is it? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/summary.h"
#include "report/text.h"
#include "synthetic.h"

#include <string.h>

static const struct sb_stage *stage(const struct sb_model *m, const char *name)
{
	for (size_t i = 0; i < m->stages.stage_count; i++)
		if (!strcmp(m->stages.stages[i].name, name))
			return &m->stages.stages[i];
	fail_msg("no stage '%s'", name);
	return NULL;
}

static void on_gpu(
	struct synthetic *s, const char *name, uint64_t launch_ns, uint64_t begin_ns, uint64_t end_ns)
{
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE,
		.launch_tid = 1000,
		.name = sb_builder_name(s->b, name, NULL),
		.launch_ns = launch_ns,
		.start_ns = begin_ns,
		.duration_ns = end_ns - begin_ns };

	sb_builder_gpu(s->b, &g);
}

/* Two steps of 10 ms on the CPU and of 40 ms on the GPU, a VAE of 5 and 60 ms, and an export that waits for it and then
 * takes 30 ms: 170 ms. */
static void video_ahead(struct synthetic *s, uint64_t t)
{
	synthetic_begin(s, t, "pipeline", STROBE_ROLE_GENERATION);
	synthetic_attr(s, "frames", 17);
	synthetic_stage(s, t, t + 10 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(s, t + 10 * MS, t + 20 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(s, t + 20 * MS, t + 25 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_stage(s, t + 25 * MS, t + 170 * MS, "export", STROBE_ROLE_EXPORT);
	synthetic_end(s, t + 170 * MS);
	on_gpu(s, "denoise", t + 1000, t, t + 40 * MS);
	on_gpu(s, "denoise", t + 10 * MS + 1000, t + 40 * MS, t + 80 * MS);
	on_gpu(s, "vae_decode", t + 20 * MS + 1000, t + 80 * MS, t + 140 * MS);
}

static void every_moment_is_that_of_the_stage_the_gpu_is_at(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 4; i++)
		video_ahead(&s, i * 200 * MS);
	m = synthetic_model(&s, SECOND);
	assert_near(stage(m, "export")->self_s, 4 * 0.145, 1e-6); /* as the CPU was in it */
	assert_near(stage(m, "export")->gpu_behind_s, 4 * 0.115, 1e-6);
	assert_near(stage(m, "denoise")->gpu_late_s, 4 * 0.070, 1e-6);
	assert_near(stage(m, "denoise")->gpu_behind_s, 4 * 0.010, 1e-6); /* the second during the first */
	assert_near(stage(m, "vae_decode")->gpu_late_s, 4 * 0.060, 1e-6);
	assert_true(stage(m, "denoise")->bottleneck);
	assert_int_equal(stage(m, "export")->bottleneck_level, SB_BOTTLENECK_NONE);
	assert_near(m->diffusion.denoise_s, 4 * 0.080, 1e-6);
	assert_near(m->diffusion.vae_s, 4 * 0.060, 1e-6);
	assert_near(m->diffusion.other_s, 4 * 0.030, 1e-6);
	assert_near(m->diffusion.overlap_s, 0, 1e-9);
	assert_near(sb_stage_in_turn_s(m, stage(m, "export")), 4 * 0.030, 1e-6); /* all that it can save */
	for (size_t i = 0; i < m->stages.part_count; i++)
		if (m->stages.parts[i].kind == SB_TIME_STAGE && !strcmp(m->stages.parts[i].name, "export"))
			assert_near(m->stages.parts[i].part_s, 4 * 0.030, 1e-6); /* the picture of the page */
	assert_near(m->summary.unattributed_s, 0, 1e-9);
	synthetic_done(&s);
}

/* -1: it has none. */
static double taken_s(const struct sb_model *m, size_t generation, const char *name)
{
	const struct sb_generation *g = &m->generations.all[generation];

	for (size_t i = 0; i < g->stage_count; i++)
		if (!strcmp(m->stages.stages[g->stages[i]].name, name))
			return g->stage_s[i];
	return -1;
}

static void a_single_generation_counts_as_all_of_them_do(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 4; i++)
		video_ahead(&s, i * 200 * MS);
	m = synthetic_model(&s, SECOND);
	assert_near(stage(m, "denoise")->real_s, 4 * 0.080, 1e-6);
	assert_near(stage(m, "denoise")->real_ratio, 0.320, 1e-6);
	for (size_t g = 0; g < 4; g++) {
		assert_near(taken_s(m, g, "pipeline"), 0.170, 1e-6);
		assert_near(taken_s(m, g, "denoise"), 0.080, 1e-6);
		assert_near(taken_s(m, g, "vae_decode"), 0.060, 1e-6);
		assert_near(taken_s(m, g, "export"), 0.030, 1e-6);
	}
	synthetic_done(&s);
}

/* The model runs twice a step; half of what the GPU takes for it is guidance, whatever the CPU takes. */
static void guidance_is_half_of_what_the_gpu_takes(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "pipeline", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < 4; i++) {
		synthetic_begin(&s, i * 10 * MS, "denoise", STROBE_ROLE_STEP);
		synthetic_attr(&s, "guidance_scale", 5);
		synthetic_attr(&s, "forwards", 2);
		synthetic_end(&s, (i + 1) * 10 * MS);
		on_gpu(&s, "denoise", i * 10 * MS + 1000, i * 40 * MS, (i + 1) * 40 * MS);
	}
	synthetic_end(&s, 160 * MS);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->padding.count, 1);
	assert_near(m->padding.all[0].total_s, 0.160, 1e-6);
	assert_near(m->padding.all[0].unseen_s, 0.080, 1e-6);
	synthetic_done(&s);
}

static void sampled(struct synthetic *s, uint64_t at_ns, const char *function)
{
	uint32_t name = sb_builder_name(s->b, function, NULL), line = 7;
	struct sb_builder_sample sample = { .tid = 1000, .weight_us = 10000 };

	sb_builder_code_file(s->b, name, "/srv/pipe.py");
	sb_builder_stack_sample(s->b, at_ns, &sample, &name, &line, 1);
}

/* A pause in which the CPU waits for the steps' work on the GPU is no time around the steps, and the tree says so. */
static void a_wait_between_the_steps_is_time_of_the_steps(void **state)
{
	struct sb_text_options options = { 0 };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "pipeline", STROBE_ROLE_GENERATION);
	for (uint64_t t = 0; t < 160 * MS; t += 40 * MS) {
		synthetic_stage(&s, t, t + 10 * MS, "denoise", STROBE_ROLE_STEP);
		synthetic_stage(&s, t + 10 * MS, t + 40 * MS, "between_steps", 0);
		on_gpu(&s, "denoise", t + 1000, t, t + 39 * MS);
		sampled(&s, t + 30 * MS, "pipe.wait");
	}
	synthetic_end(&s, 160 * MS);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->unattributed.around[1].count, 0);
	assert_near(m->unattributed.around[1].unattributed_s, 0.004, 1e-6);
	assert_int_equal(sb_report_text(m, &options, &out), 0);
	assert_null(strstr(sb_buf_text(&out), "Around the steps"));
	assert_non_null(strstr(sb_buf_text(&out), "  (denoise: the GPU took 116 ms more: 156 ms in all)\n"));
	assert_non_null(strstr(sb_buf_text(&out),
		"  (between_steps: for 116 ms of its own 120 ms the GPU was still at earlier work)\n"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void a_step_lasts_as_long_as_the_gpu_takes_for_it(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 4; i++)
		video_ahead(&s, i * 200 * MS);
	m = synthetic_model(&s, SECOND);
	assert_near(m->diffusion.step.median, 0.040, 1e-6);
	assert_near(m->iterations.all[0].all.median, 0.040, 1e-6);
	assert_near(m->iterations.all[0].per_second, 25, 1e-3);
	assert_near(m->diffusion.fps, 17 / 0.080, 1e-3);
	assert_near(m->generations.all[0].denoise_s, 0.080, 1e-6);
	assert_near(m->generations.all[0].vae_s, 0.060, 1e-6);
	for (size_t i = 0; i < m->diffusion.rate_count; i++) /* no more is computed than there is time */
		assert_true(m->diffusion.rates[i].compute_s <= m->diffusion.rates[i].wall_s * 1.001);
	synthetic_done(&s);
}

/* A generation that returns while the GPU still works: what comes after it is not its time. */
static void what_lies_after_the_generation_is_not_its_time(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "pipeline", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, 10 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, 10 * MS, 20 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_end(&s, 30 * MS);
	synthetic_stage(&s, 30 * MS, 100 * MS, "export", STROBE_ROLE_EXPORT);
	on_gpu(&s, "denoise", 1000, 0, 25 * MS);
	on_gpu(&s, "vae_decode", 10 * MS + 1000, 25 * MS, 90 * MS);
	m = synthetic_model(&s, SECOND);
	assert_near(m->diffusion.denoise_s, 0.025, 1e-6);
	assert_near(m->diffusion.vae_s, 0.005, 1e-6);
	assert_near(stage(m, "export")->gpu_behind_s, 0.060, 1e-6);
	assert_near(taken_s(m, 0, "denoise"), 0.025, 1e-6);
	assert_near(taken_s(m, 0, "vae_decode"), 0.005, 1e-6);
	assert_near(taken_s(m, 0, "export"), -1, 1e-9); /* outside of it */
	synthetic_done(&s);
}

/* Marked twice: what lies after the inner one is still in the outer one. */
static void a_generation_inside_another_takes_nothing_from_it(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 1000, "pipeline", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 2000, 20 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_end(&s, 30 * MS);
	synthetic_stage(&s, 30 * MS, 100 * MS, "export", STROBE_ROLE_EXPORT);
	synthetic_end(&s, 100 * MS);
	on_gpu(&s, "denoise", 3000, 2000, 90 * MS);
	m = synthetic_model(&s, SECOND);
	assert_near(stage(m, "denoise")->gpu_late_s, 0.070, 1e-6);
	assert_near(stage(m, "export")->gpu_behind_s, 0.060, 1e-6);
	assert_near(taken_s(m, 0, "denoise"), 0.090 - 2e-6, 1e-6);
	assert_near(taken_s(m, 0, "export"), 0.010, 1e-6);
	synthetic_done(&s);
}

/* Nothing waits between two generations: the second begins while the GPU is at the first. All time is that of a stage. */
static void generations_without_a_wait_between_them_share_out_all_their_time(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t t = 0; t < 100 * MS; t += 50 * MS) {
		synthetic_begin(&s, t, "pipeline", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, t, t + 50 * MS, "denoise", STROBE_ROLE_STEP);
		synthetic_end(&s, t + 50 * MS);
	}
	on_gpu(&s, "denoise", 1000, 0, 80 * MS);
	on_gpu(&s, "denoise", 50 * MS + 1000, 80 * MS, 100 * MS);
	m = synthetic_model(&s, SECOND);
	assert_near(stage(m, "denoise")->gpu_late_s, 0.030, 1e-6);
	assert_near(stage(m, "denoise")->gpu_behind_s, 0.030, 1e-6);
	assert_near(m->diffusion.denoise_s, 0.100, 1e-6);
	assert_int_equal(
		m->generations.all[0].stage_count, 0); /* the zones say it: nothing changed hands in it */
	assert_near(taken_s(m, 1, "denoise"), 0.050, 1e-6);
	synthetic_done(&s);
}

/* The CPU waits for the GPU in each stage itself: nothing is late, nothing changes hands. */
static void a_stage_that_waits_for_its_own_gpu_work_keeps_its_time(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "pipeline", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, 40 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, 40 * MS, 100 * MS, "export", STROBE_ROLE_EXPORT);
	synthetic_end(&s, 100 * MS);
	on_gpu(&s, "denoise", 1000, 1000, 39 * MS);
	m = synthetic_model(&s, SECOND);
	assert_near(stage(m, "denoise")->gpu_late_s, 0, 1e-12);
	assert_near(stage(m, "export")->gpu_behind_s, 0, 1e-12);
	assert_true(stage(m, "export")->bottleneck);
	assert_true(isnan(stage(m, "export")->real_s));
	assert_int_equal(m->generations.all[0].stage_count, 0); /* the zones say it */
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_moment_is_that_of_the_stage_the_gpu_is_at),
		cmocka_unit_test(a_single_generation_counts_as_all_of_them_do),
		cmocka_unit_test(guidance_is_half_of_what_the_gpu_takes),
		cmocka_unit_test(a_wait_between_the_steps_is_time_of_the_steps),
		cmocka_unit_test(a_step_lasts_as_long_as_the_gpu_takes_for_it),
		cmocka_unit_test(what_lies_after_the_generation_is_not_its_time),
		cmocka_unit_test(a_generation_inside_another_takes_nothing_from_it),
		cmocka_unit_test(generations_without_a_wait_between_them_share_out_all_their_time),
		cmocka_unit_test(a_stage_that_waits_for_its_own_gpu_work_keeps_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
