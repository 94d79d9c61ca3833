/* What bounds a run, and what is advised, where the CPU runs ahead of the GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "synthetic.h"

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

/* Samples every 0.1 s: the GPU as said, one core busy. */
static void machine(struct synthetic *s, uint64_t from_ms, uint64_t to_ms, double utilization)
{
	static const char *const columns[] = { "process_percent" };
	uint32_t gpu = synthetic_gpu(s, 0), cpu = sb_builder_schema(s->b, "cpu", -2, columns, 1);
	double busy = 100;

	for (uint64_t t = from_ms; t < to_ms; t += 100) {
		synthetic_gpu_sample(s, gpu, t * MS, 1000, utilization, 100);
		sb_builder_sample(s->b, cpu, t * MS, &busy, 1);
	}
}

/* A step that the CPU launches in 10 ms and the GPU takes 40 ms for, a VAE of 5 and 60 ms, an export that waits for it
 * and then takes 30 ms. cold_ms: the first step's, on both. */
static void video_ahead(struct synthetic *s, uint64_t t, uint64_t cold_ms)
{
	uint64_t step = cold_ms ? cold_ms : 10, gpu = cold_ms ? cold_ms : 40;

	synthetic_begin(s, t, "pipeline", STROBE_ROLE_GENERATION);
	synthetic_stage(s, t, t + step * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(s, t + step * MS, t + (step + 5) * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_stage(s, t + (step + 5) * MS, t + (gpu + 90) * MS, "export", STROBE_ROLE_EXPORT);
	synthetic_end(s, t + (gpu + 90) * MS);
	on_gpu(s, "denoise", t + 1000, t, t + gpu * MS);
	on_gpu(s, "vae_decode", t + step * MS + 1000, t + gpu * MS, t + (gpu + 60) * MS);
}

static void a_run_whose_gpu_is_behind_is_not_launch_bound(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	video_ahead(&s, 0, 2000); /* cold: longer than all others together */
	for (uint64_t i = 0; i < 6; i++)
		video_ahead(&s, (2200 + i * 140) * MS, 0);
	machine(&s, 0, 3000, 40);
	m = synthetic_model(&s, 3100 * MS);
	assert_string_equal(m->summary.bound_by, "gpu");
	synthetic_done(&s);
}

/* The same times on the CPU; on the GPU everything ends with it. */
static void a_run_that_the_gpu_waits_for_is_launch_bound(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t t = i * 150 * MS;

		synthetic_begin(&s, t, "pipeline", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, t, t + 140 * MS, "denoise", STROBE_ROLE_STEP);
		synthetic_end(&s, t + 140 * MS);
		on_gpu(&s, "denoise", t + 1000, t + 2000, t + 140 * MS + 5000);
	}
	machine(&s, 0, 3000, 40);
	m = synthetic_model(&s, 3100 * MS);
	assert_string_equal(m->summary.bound_by, "cpu_launch");
	synthetic_done(&s);
}

/* Without generations, and the program waits for each call: samples alone tell. */
static void a_cold_first_call_does_not_count_for_the_bound(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	synthetic_stage(&s, 0, 3000 * MS, "VJEPA2Model", STROBE_ROLE_FORWARD);
	on_gpu(&s, "VJEPA2Model", 1000, 2000, 3000 * MS);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t t = (3000 + i * 100) * MS;

		synthetic_stage(&s, t, t + 100 * MS, "VJEPA2Model", STROBE_ROLE_FORWARD);
		on_gpu(&s, "VJEPA2Model", t + 1000, t + 2000, t + 100 * MS);
	}
	machine(&s, 0, 3000, 5);
	machine(&s, 3000, 5000, 98);
	m = synthetic_model(&s, 5000 * MS);
	assert_string_equal(m->summary.bound_by, "gpu");
	synthetic_done(&s);
}

static void waiting_for_the_gpu_is_no_advice_about_the_stage_that_waits(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	for (uint64_t i = 0; i < 6; i++)
		video_ahead(&s, i * 140 * MS, 0);
	m = synthetic_model(&s, SECOND);
	for (size_t i = 0; i < m->advice.count; i++)
		assert_false(m->advice.all[i].stage && !strcmp(m->advice.all[i].stage, "export"));
	for (size_t i = 0; i < m->strategies.count; i++)
		if (!strcmp(m->strategies.all[i].stage_name, "export")) /* its own 30 ms, 6 times */
			assert_near(m->strategies.all[i].gain_s, 0.180, 1e-6);
	synthetic_done(&s);
}

/* All of the export is waiting. */
static void a_stage_that_only_waits_has_no_strategy(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	for (uint64_t i = 0; i < 6; i++) {
		uint64_t t = i * 100 * MS;

		synthetic_begin(&s, t, "pipeline", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, t, t + 5 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
		synthetic_stage(&s, t + 5 * MS, t + 90 * MS, "export", STROBE_ROLE_EXPORT);
		synthetic_end(&s, t + 90 * MS);
		on_gpu(&s, "vae_decode", t + 1000, t, t + 90 * MS);
	}
	m = synthetic_model(&s, SECOND);
	for (size_t i = 0; i < m->strategies.count; i++)
		assert_string_not_equal(m->strategies.all[i].stage_name, "export");
	synthetic_done(&s);
}

static void steps_of_the_warm_up_are_not_slow(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	(void)state;
	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t took = i < 4 ? 300 * MS : i == 12 ? 250 * MS : 100 * MS;

		synthetic_step(&s, t, t + took, (int64_t)i, 0);
		t += took;
	}
	synthetic_end(&s, t);
	m = synthetic_model(&s, t);
	assert_int_equal(m->iterations.all[0].warmup_count, 4);
	assert_int_equal(m->diffusion.slow_step_total, 1); /* the twelfth alone */
	assert_int_equal(m->diffusion.slow_steps[0].step, 12);
	assert_int_equal(m->iterations.all[0].outlier_count, 1);
	synthetic_done(&s);
}

static bool is_praised(uint64_t slow_ms)
{
	struct synthetic s;
	struct sb_model *m;
	bool praised = false;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 20 * SECOND, "decode", 0);
	for (uint64_t i = 0; i < 60; i++)
		synthetic_stage(&s, 20 * SECOND + i * 1500 * MS,
			20 * SECOND + i * 1500 * MS + (i % 30 == 7 ? slow_ms : 40) * MS, "pause", 0);
	m = synthetic_model(&s, 110 * SECOND);
	for (size_t i = 0; i < m->readings.count; i++)
		praised |= !strcmp(m->readings.all[i].id, "fast_enough");
	synthetic_done(&s);
	return praised;
}

static void calls_of_which_some_are_slow_are_not_fast_enough(void **state)
{
	(void)state;
	assert_true(is_praised(150));
	assert_false(is_praised(1400)); /* 85 ms a call on average */
}

/* A minute of steps at 97 % utilisation, with readings of the SMs. traced: with kernels that follow each other. */
static struct sb_model *with_sms(struct synthetic *s, double sms, bool traced)
{
	static const char *const columns[] = { "sm_active_percent" };
	uint32_t gpu, counters;

	synthetic_open(s);
	synthetic_begin(s, SECOND, "video", STROBE_ROLE_GENERATION);
	for (uint64_t i = 1; i < 60; i++)
		synthetic_stage(s, i * SECOND, (i + 1) * SECOND, "step", STROBE_ROLE_STEP);
	synthetic_end(s, 60 * SECOND);
	for (uint64_t i = 10; traced && i < 590; i++)
		synthetic_kernel(s, "ampere_sgemm_32x32", i * SECOND / 10, 97 * MS);
	gpu = synthetic_gpu(s, 0);
	counters = sb_builder_schema(s->b, "gpu_counters", 0, columns, 1);
	for (uint64_t t = 0; t < 61; t++) {
		synthetic_gpu_sample(s, gpu, t * SECOND, 1000, 97, 300);
		sb_builder_sample(s->b, counters, t * SECOND, &sms, 1);
	}
	return synthetic_model(s, 61 * SECOND);
}

static bool has_reading(const struct sb_model *m, const char *id)
{
	for (size_t i = 0; i < m->readings.count; i++)
		if (!strcmp(m->readings.all[i].id, id))
			return true;
	return false;
}

static void utilisation_says_on_how_many_sms_where_they_are_few(void **state)
{
	struct synthetic s;
	struct sb_model *m = with_sms(&s, 3, false);

	(void)state;
	assert_string_equal(m->summary.bound_by, "gpu");
	assert_string_equal(m->summary.bound_reason, "97 % util, on 3 % of its SMs");
	assert_true(has_reading(m, "gpu_partly_used") && !has_reading(m, "gpu_well_used"));
	synthetic_done(&s);
	m = with_sms(&s, 3, true);
	assert_string_equal(m->summary.bound_reason, "97 % busy, on 3 % of its SMs");
	synthetic_done(&s);
	m = with_sms(&s, 80, true);
	assert_string_equal(m->summary.bound_reason, "97 % busy");
	synthetic_done(&s);
	m = with_sms(&s, 80, false);
	assert_string_equal(m->summary.bound_reason, "97 % util");
	assert_true(has_reading(m, "gpu_well_used") && !has_reading(m, "gpu_partly_used"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_whose_gpu_is_behind_is_not_launch_bound),
		cmocka_unit_test(a_run_that_the_gpu_waits_for_is_launch_bound),
		cmocka_unit_test(a_cold_first_call_does_not_count_for_the_bound),
		cmocka_unit_test(waiting_for_the_gpu_is_no_advice_about_the_stage_that_waits),
		cmocka_unit_test(a_stage_that_only_waits_has_no_strategy),
		cmocka_unit_test(steps_of_the_warm_up_are_not_slow),
		cmocka_unit_test(calls_of_which_some_are_slow_are_not_fast_enough),
		cmocka_unit_test(utilisation_says_on_how_many_sms_where_they_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
