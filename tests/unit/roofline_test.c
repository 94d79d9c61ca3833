/* Rates beside the peak of the GPU that computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_calls.h"
#include "report/text.h"

/* 200 TFLOP in 190 ms are 1 053 TFLOP/s of 989.5. A clock above the data sheet's is no error. */
static void more_than_a_gpu_can_do_is_no_rate(void **state)
{
	static const uint64_t took_ms[] = { 190, 197 };
	const struct sb_stage_work *w;
	struct sb_buf text = { 0 };
	struct sb_model *m;
	struct synthetic s;

	(void)state;
	for (int i = 0; i < 2; i++) {
		open_gpu(&s, "NVIDIA H200");
		for (uint64_t k = 0; k < 4; k++)
			call(&s, k * took_ms[i] * MS, (k + 1) * took_ms[i] * MS);
		m = synthetic_model(&s, SECOND);
		w = &sb_model_stage(m, "Net")->work;
		assert_near(w->flops, 800e12, 1e9);
		assert_int_equal(isnan(w->mfu_ratio), i == 0);
		assert_int_equal(isnan(w->tflops), i == 0);
		assert_int_equal(isnan(w->floor_s), i == 0);
		assert_int_equal(w->mfu_why != NULL, i == 0);
		if (i == 0) {
			assert_non_null(strstr(w->mfu_why, "more operations were counted"));
			assert_string_equal(m->roofline.mfu_why, w->mfu_why);
			assert_true(!w->bound || strcmp(w->bound, "tensor") != 0);
			assert_int_equal(
				sb_report_text(m, &(struct sb_text_options){ .columns = 200 }, &text), 0);
			assert_non_null(strstr(sb_buf_text(&text), "rate n/a: more operations"));
			sb_buf_done(&text);
		}
		synthetic_done(&s);
	}
}

/* Sampled bytes are those that went over the memory's bus: no data sheet is needed for them. */
static void measured_bytes_are_the_stages_bytes(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "dram_active_percent",
		"dram_read_bytes_per_s", "dram_write_bytes_per_s" };
	static const char *const gpus[] = { "NVIDIA H200", "Fake GPU 9000" };
	const struct sb_stage *stage;
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	for (int i = 0; i < 4; i++) { /* in turn with sampled bytes, and with percent alone */
		uint32_t schema;

		open_gpu(&s, gpus[i % 2]);
		schema = sb_builder_schema(s.b, "gpu_pm", 0, columns, i < 2 ? 4 : 2);
		for (uint64_t k = 0; k <= 400; k++)
			sb_builder_sample(s.b, schema, k * 10 * MS, (double[]){ 80, 40, 1.5e12, 0.5e12 },
				i < 2 ? 4 : 2);
		for (uint64_t k = 0; k < 4; k++)
			call(&s, k * SECOND, (k + 1) * SECOND);
		m = synthetic_model(&s, 4 * SECOND);
		stage = sb_model_stage(m, "Net");
		if (i < 2) {
			assert_near(stage->counters.beside[SB_BESIDE_DRAM], 2000, 1e-6);
			assert_near(stage->work.bytes, 3 * 2e12, 1e6);
			assert_near(stage->work.intensity, 100, 1e-6);
		} else if (i == 2) {
			assert_near(stage->work.bytes, 3 * 0.4 * 4.8e12, 1e6);
		} else {
			assert_true(isnan(stage->work.bytes) && isnan(stage->work.intensity));
		}
		synthetic_done(&s);
	}
}

/* As with --gpu-counters=steps:3, which ends before a generation is warm. */
static void samples_of_a_cold_call_tell_the_bytes_where_none_is_of_a_warm_one(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "dram_active_percent" };
	const struct sb_stage *stage;
	struct synthetic s;

	(void)state;
	for (uint64_t samples = 50; samples <= 100;
		samples += 50) { /* half of a call says nothing of a whole one */
		uint32_t schema;

		open_gpu(&s, "NVIDIA H200");
		schema = sb_builder_schema(s.b, "gpu_pm", 0, columns, 2);
		for (uint64_t k = 0; k <= samples; k++)
			sb_builder_sample(s.b, schema, k * 10 * MS, (double[]){ 80, 40 }, 2);
		for (uint64_t k = 0; k < 4; k++)
			call(&s, k * SECOND, (k + 1) * SECOND);
		stage = sb_model_stage(synthetic_model(&s, 4 * SECOND), "Net");
		assert_null(stage->warm_counters.source);
		if (samples == 100)
			assert_near(stage->work.bytes, 3 * 0.4 * 4.8e12, 1e6);
		else
			assert_true(isnan(stage->work.bytes));
		synthetic_done(&s);
	}
}

/* bf16 on a V100: the rate is known, no peak is. */
static void a_gpu_without_the_precision_says_so(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	open_gpu(&s, "Tesla V100-SXM2-16GB");
	for (uint64_t i = 0; i < 4; i++)
		call(&s, i * 20 * SECOND, (i + 1) * 20 * SECOND);
	m = synthetic_model(&s, 80 * SECOND);
	w = &sb_model_stage(m, "Net")->work;
	assert_near(w->tflops, 10, 1e-6);
	assert_true(isnan(w->mfu_ratio));
	assert_string_equal(w->mfu_why, "this GPU has no peak rate for bf16");
	assert_string_equal(m->roofline.mfu_why, w->mfu_why);
	synthetic_done(&s);
}

/* A context alone is on GPU 0, or tensors are on both: these have a peak each. */
static void the_peak_is_that_of_the_gpu_that_computes(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	for (int both = 0; both < 2; both++) {
		const struct sb_stage_work *w;

		open_gpu(&s, "NVIDIA L4");
		sb_builder_meta_string(s.b, SB_META_SYSTEM, "gpu1.name", "NVIDIA H200");
		synthetic_gpu_sample(&s, synthetic_gpu(&s, 1), 0, 1000, 85, 300);
		for (int device = !both; device < 2; device++)
			sb_builder_snapshot(s.b, SECOND, "strobe.memory.device", device, 1000, 1000, 1000);
		for (uint64_t i = 0; i < 4; i++)
			call(&s, i * 2 * SECOND, (i + 1) * 2 * SECOND);
		m = synthetic_model(&s, 8 * SECOND);
		w = &sb_model_stage(m, "Net")->work;
		assert_near(w->tflops, 100, 1e-6);
		if (both) {
			assert_true(isnan(w->mfu_ratio) && !m->roofline.ceiling_count);
			assert_string_equal(m->roofline.mfu_why,
				"the run used GPUs of several kinds (NVIDIA L4, NVIDIA H200)");
		} else {
			assert_near(w->mfu_ratio, 100 / 989.5, 1e-6);
			assert_string_equal(m->roofline.gpu, "NVIDIA H200");
		}
		synthetic_done(&s);
	}
}

/* 25 TFLOP/s in float32, which a V100 cannot do, and its tensor cores have no TF32 to do it in. */
static void no_rate_above_the_peak_where_there_is_no_tf32(void **state)
{
	const struct strobe_attr attrs[] = { INT("shape", 2), TEXT("precision", "fp32"),
		{ "flops", STROBE_TYPE_FLOAT, { .f = 50e12 } } };
	const struct sb_stage_work *w;
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	open_gpu(&s, "Tesla V100-SXM2-16GB");
	sb_builder_event(s.b, 0, SB_EVENT_FLOPS, 0, attrs, 3);
	for (uint64_t i = 0; i < 4; i++) {
		synthetic_begin(&s, i * 2 * SECOND, "Net", 0);
		synthetic_attr(&s, "flops_shape", 2);
		synthetic_end(&s, (i + 1) * 2 * SECOND);
	}
	m = synthetic_model(&s, 8 * SECOND);
	w = &sb_model_stage(m, "Net")->work;
	assert_string_equal(w->precision, "fp32");
	assert_true(isnan(w->tflops) && isnan(w->mfu_ratio) && isnan(w->floor_s));
	assert_non_null(strstr(w->mfu_why, "more operations were counted"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_a_gpu_can_do_is_no_rate),
		cmocka_unit_test(measured_bytes_are_the_stages_bytes),
		cmocka_unit_test(samples_of_a_cold_call_tell_the_bytes_where_none_is_of_a_warm_one),
		cmocka_unit_test(a_gpu_without_the_precision_says_so),
		cmocka_unit_test(the_peak_is_that_of_the_gpu_that_computes),
		cmocka_unit_test(no_rate_above_the_peak_where_there_is_no_tf32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
