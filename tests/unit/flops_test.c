/* Operations of model calls, given to stages: what was not counted, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_calls.h"
#include "report/text.h"

/* One model on the CPU, one on a GPU, whose peak is in the table. */
static struct sb_model *model_of(struct synthetic *s, const char *device, bool counted)
{
	const struct strobe_attr first[] = { INT("shape", 1), TEXT("precision", "fp32"),
		{ "flops", STROBE_TYPE_FLOAT, { .f = 3e12 } }, TEXT("device", "cpu") },
				 second[] = { INT("shape", 2), TEXT("precision", "bf16"),
					 { "flops", STROBE_TYPE_FLOAT, { .f = 200e12 } },
					 TEXT("device", device) },
				 uncounted[] = { INT("shape", 2), TEXT("why", "no meta kernel") };
	const struct strobe_attr asked[] = { TEXT("component", "text_encoder"), TEXT("device", "cpu") },
				 other[] = { TEXT("component", "transformer"), TEXT("device", device) };
	uint32_t gpu;

	synthetic_open(s);
	gpu = synthetic_gpu(s, 0);
	sb_builder_meta_string(s->b, SB_META_SYSTEM, "gpu0.name", "NVIDIA H200");
	for (uint64_t t = 0; t <= 20 * SECOND; t += SECOND)
		synthetic_gpu_sample(s, gpu, t, 1000, 85, 300);
	sb_builder_event(s->b, 0, SB_EVENT_FLOPS, 0, first, 4);
	sb_builder_event(s->b, 0, SB_EVENT_FLOPS, 0, counted ? second : uncounted, counted ? 4 : 2);
	sb_builder_event(s->b, 0, "torch.asked", 0, asked, 2);
	sb_builder_event(s->b, 0, "torch.asked", 0, other, 2);
	synthetic_begin(s, 0, "pipeline", 0);
	for (int i = 1; i <= 2; i++) {
		synthetic_begin(s, (uint64_t)i * 8 * SECOND - 8 * SECOND,
			i == 1 ? "text_encoder" : "transformer", STROBE_ROLE_FORWARD);
		synthetic_attr(s, "flops_shape", i);
		synthetic_end(s, (uint64_t)i * 8 * SECOND);
	}
	synthetic_end(s, 20 * SECOND);
	return synthetic_model(s, 20 * SECOND);
}

static struct sb_model *model_of_two(struct synthetic *s, const char *device)
{
	return model_of(s, device, true);
}

static bool has_reading(const struct sb_model *m, const char *id)
{
	for (size_t i = 0; i < m->readings.count; i++)
		if (!strcmp(m->readings.all[i].id, id))
			return true;
	return false;
}

static void a_model_on_the_cpu_has_no_peak_of_a_gpu(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;
	struct sb_model *m = model_of_two(&s, "cuda");

	(void)state;
	w = &sb_model_stage(m, "text_encoder")->work;
	assert_near(w->flops, 3e12, 1e9);
	assert_true(w->tflops > 0 && isnan(w->mfu_ratio) && isnan(w->floor_s));
	assert_string_equal(w->mfu_why, "its models ran on the CPU");
	assert_string_equal(w->precision, "fp32");
	w = &sb_model_stage(m, "transformer")->work;
	assert_true(w->mfu_ratio > 0 && w->floor_s > 0);
	w = &sb_model_stage(m, "pipeline")->work;
	assert_near(w->flops, 203e12, 1e9);
	assert_near(w->rate_flops, 200e12, 1e9); /* of the GPU alone */
	assert_string_equal(w->precision, "bf16");
	assert_null(m->roofline.mfu_why);
	synthetic_done(&s);
}

/* The transformer has no count: the pipeline's are all of the text encoder, and it ran on the GPU all the same. */
static void calls_without_a_count_may_be_of_the_gpu(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;
	struct sb_model *m = model_of(&s, "cuda", false);

	(void)state;
	w = &sb_model_stage(m, "pipeline")->work;
	assert_int_equal(w->uncounted_count, 1);
	assert_near(w->cpu_flops, w->flops, 1);
	assert_null(w->mfu_why);
	assert_true(!w->bound_why || !strstr(w->bound_why, "CPU"));
	assert_true(isnan(w->mfu_ratio) && isnan(w->floor_s));
	assert_string_equal(sb_model_stage(m, "text_encoder")->work.mfu_why, "its models ran on the CPU");
	synthetic_done(&s);
}

static void a_run_on_the_cpu_is_not_held_up_by_the_gpu_of_others(void **state)
{
	struct synthetic s;
	struct sb_model *m = model_of_two(&s, "cpu");

	(void)state;
	assert_true(m->roofline.on_cpu);
	assert_null(m->roofline.source);
	assert_string_equal(m->roofline.mfu_why, "the models ran on the CPU");
	assert_false(has_reading(m, "gpu_well_used"));
	assert_null(m->summary.next_command);
	assert_true(!m->summary.bound || strcmp(m->summary.bound, "GPU") != 0);
	synthetic_done(&s);
	m = model_of_two(&s, "cuda");
	assert_true(has_reading(m, "gpu_well_used"));
	assert_string_equal(m->summary.bound, "GPU");
	synthetic_done(&s);
}

/* A VAE of another framework has methods whose shapes are not known. One that calls its decoder as a model has one. */
static void a_vae_that_is_not_counted_says_why(void **state)
{
	const struct sb_stage_work *decode, *encode, *pipeline;
	struct sb_model *m;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count_shape(&s);
	synthetic_begin(&s, 0, "WanPipeline", 0);
	call(&s, 0, SECOND);
	synthetic_stage(&s, SECOND, SECOND + SECOND / 2, "vae_decode", 0);
	synthetic_begin(&s, SECOND + SECOND / 2, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_attr(&s, "latent_frames", 3);
	synthetic_end(&s, 2 * SECOND);
	synthetic_end(&s, 3 * SECOND);
	synthetic_begin(&s, 3 * SECOND, "vae_encode", 0);
	call(&s, 3 * SECOND, 4 * SECOND);
	synthetic_end(&s, 4 * SECOND);
	m = synthetic_model(&s, 4 * SECOND);
	decode = &sb_model_stage(m, "vae_decode")->work;
	encode = &sb_model_stage(m, "vae_encode")->work;
	pipeline = &sb_model_stage(m, "WanPipeline")->work;
	assert_int_equal(decode->uncounted_count, 2);
	assert_true(isnan(decode->flops));
	assert_non_null(strstr(decode->why, "only calls of models and of diffusers' VAEs"));
	assert_int_equal(encode->uncounted_count, 0);
	assert_true(encode->flops > 0);
	assert_int_equal(pipeline->uncounted_count, 2);
	assert_true(isnan(pipeline->tflops)); /* its time holds operations that were not counted */
	synthetic_done(&s);
}

/* "Plain" three times says nothing, nor does a list that is cut without a word. */
static void stages_are_told_apart_and_those_left_out_are_counted(void **state)
{
	static const char *const around[] = { "bf16", "int8", "first", "second", "third", "fourth" };
	struct sb_buf text = { 0 };
	struct sb_model *m;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count_shape(&s);
	for (uint64_t i = 0; i < 6; i++) {
		synthetic_begin(&s, i * SECOND, around[i], 0);
		call(&s, i * SECOND, (i + 1) * SECOND);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	m = synthetic_model(&s, 6 * SECOND);
	assert_int_equal(sb_report_text(m, &(struct sb_text_options){ .columns = 100 }, &text), 0);
	assert_non_null(strstr(sb_buf_text(&text), "\n    bf16/Net: 200 TFLOP"));
	assert_non_null(strstr(sb_buf_text(&text), "\n    int8/Net: 200 TFLOP"));
	assert_null(strstr(sb_buf_text(&text), "\n    Net: "));
	assert_non_null(strstr(sb_buf_text(&text), "\n    … and 2 more\n"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* ---- what nobody computed, or no GPU can have ---- */

/* Steps of a second that reach 200 TFLOP/s; of those that a cache serves the model computes a part, in a tenth of it. */
static struct sb_model *model_with_cache(struct synthetic *s, const char *mark)
{
	uint64_t t = 0;

	open_gpu(s, "NVIDIA H200");
	synthetic_begin(s, 0, "denoise", STROBE_ROLE_DENOISE);
	for (int i = 0; i < 20; i++) {
		bool served = mark && i % 2;
		uint64_t end = t + (served ? SECOND / 10 : SECOND);

		synthetic_begin(s, t, "step", STROBE_ROLE_STEP);
		if (served)
			synthetic_attr(s, mark, 1);
		call(s, t, end);
		synthetic_end(s, end);
		t = end;
	}
	synthetic_end(s, t);
	return synthetic_model(s, t);
}

static void steps_that_a_cache_serves_add_no_operations(void **state)
{
	static const char *const marks[] = { "cached", "partly_cached" };
	const struct sb_stage_work *w;
	struct sb_buf text = { 0 };
	struct sb_model *m;
	struct synthetic s;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		m = model_with_cache(&s, marks[i]);
		for (int k = 0; k < 2; k++) {
			w = &sb_model_stage(m, k ? "Net" : "step")->work;
			assert_near(w->flops, 10 * 200e12, 1e9);
			assert_int_equal(w->uncounted_count, 10);
			assert_int_equal(w->call_count, 9); /* whole, and not the first */
			assert_near(w->tflops, 200, 1e-6);
			assert_near(w->floor_s, 9 * 200 / 989.5, 1e-6);
		}
		assert_non_null(strstr(w->why, "a cache served their steps"));
		w = &sb_model_stage(m, "denoise")->work;
		assert_int_equal(w->uncounted_count, 10);
		assert_true(isnan(w->tflops)); /* its time holds what was not counted */
		assert_int_equal(m->iterations.all[0].warm.count, 19); /* they are iterations as others */
		assert_int_equal(sb_report_text(m, &(struct sb_text_options){ .columns = 200 }, &text), 0);
		assert_non_null(strstr(sb_buf_text(&text), "9 warm calls that no cache served: 200 TFLOP/s"));
		sb_buf_done(&text);
		synthetic_done(&s);
	}
	m = model_with_cache(&s, NULL);
	w = &sb_model_stage(m, "denoise")->work;
	assert_int_equal(w->uncounted_count, 0);
	assert_near(w->tflops, 200, 1e-6);
	synthetic_done(&s);
}

/* Beside calls that have a shape, one without is not counted: its time is in the stage. */
static void calls_without_a_shape_are_told(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage_work *w;

	(void)state;
	open_gpu(&s, "NVIDIA H200");
	for (uint64_t i = 0; i < 4; i++)
		call(&s, i * SECOND, (i + 1) * SECOND);
	synthetic_stage(&s, 4 * SECOND, 5 * SECOND, "Net", 0);
	synthetic_stage(&s, 5 * SECOND, 6 * SECOND, "scheduler", 0);
	m = synthetic_model(&s, 6 * SECOND);
	w = &sb_model_stage(m, "Net")->work;
	assert_int_equal(w->uncounted_count, 1);
	assert_true(isnan(w->tflops));
	assert_string_equal(w->why, "the shapes they were called with were not recorded");
	assert_int_equal(sb_model_stage(m, "scheduler")->work.uncounted_count, 0);
	synthetic_done(&s);
}

/* A damaged file: neither is the number one, nor does it say why. */
static void what_is_no_number_of_operations_is_not_counted(void **state)
{
	static const double wrong[] = { INFINITY, 1e300, NAN };
	struct sb_buf text = { 0 };
	struct sb_model *m;
	struct synthetic s;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const struct strobe_attr attrs[] = { INT("shape", 2),
			{ "flops", STROBE_TYPE_FLOAT, { .f = wrong[i] } } };

		open_gpu(&s, "NVIDIA H200");
		sb_builder_event(s.b, 0, SB_EVENT_FLOPS, 0, attrs, 2);
		call(&s, 0, SECOND);
		synthetic_begin(&s, SECOND, "Net", 0);
		synthetic_attr(&s, "flops_shape", 2);
		synthetic_end(&s, 2 * SECOND);
		m = synthetic_model(&s, 2 * SECOND);
		assert_near(sb_model_stage(m, "Net")->work.flops, 200e12, 1e9);
		assert_int_equal(sb_model_stage(m, "Net")->work.uncounted_count, 1);
		assert_int_equal(sb_report_text(m, NULL, &text), 0);
		assert_non_null(
			strstr(sb_buf_text(&text), "without 1 model call: what they take is not known"));
		sb_buf_done(&text);
		synthetic_done(&s);
	}
}

/* What a shape takes is said when the session ends, after the part that is looked at. */
static void a_part_of_the_run_has_its_operations(void **state)
{
	const struct sb_cut part = { .generation = 2 };
	const struct strobe_attr attrs[] = { INT("shape", 1), TEXT("precision", "bf16"),
		{ "flops", STROBE_TYPE_FLOAT, { .f = 200e12 } } };
	const struct sb_stage_work *w;
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_SYSTEM, "gpu0.name", "NVIDIA H200");
	synthetic_gpu_sample(&s, synthetic_gpu(&s, 0), 5 * SECOND, 1000, 85, 300);
	for (uint64_t i = 0; i < 2; i++) {
		synthetic_begin(&s, i * 4 * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < 4; k++)
			call(&s, (i * 4 + k) * SECOND, (i * 4 + k + 1) * SECOND);
		synthetic_end(&s, (i + 1) * 4 * SECOND);
	}
	sb_builder_event(s.b, 9 * SECOND, SB_EVENT_FLOPS, 0, attrs, 3);
	m = synthetic_part(&s, 10 * SECOND, &part);
	w = &sb_model_stage(m, "Net")->work;
	assert_near(w->flops, 4 * 200e12, 1e9);
	assert_int_equal(w->uncounted_count, 0);
	assert_near(w->mfu_ratio, 200 / 989.5, 1e-6);
	assert_near(m->stages.wall_s, 4, 1e-9);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_that_a_cache_serves_add_no_operations),
		cmocka_unit_test(calls_without_a_shape_are_told),
		cmocka_unit_test(what_is_no_number_of_operations_is_not_counted),
		cmocka_unit_test(a_part_of_the_run_has_its_operations),
		cmocka_unit_test(a_model_on_the_cpu_has_no_peak_of_a_gpu),
		cmocka_unit_test(calls_without_a_count_may_be_of_the_gpu),
		cmocka_unit_test(a_run_on_the_cpu_is_not_held_up_by_the_gpu_of_others),
		cmocka_unit_test(a_vae_that_is_not_counted_says_why),
		cmocka_unit_test(stages_are_told_apart_and_those_left_out_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
