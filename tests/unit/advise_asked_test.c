/* What was asked for beside what ran: step caches, compilation, attention, versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#define STEPS 8

static struct strobe_attr text(const char *key, const char *value)
{
	return (struct strobe_attr){ .key = key, .type = STROBE_TYPE_STRING, .value.s = value };
}

static struct strobe_attr whole(const char *key, int64_t value)
{
	return (struct strobe_attr){ .key = key, .type = STROBE_TYPE_INT, .value.i = value };
}

/* A video of eight steps; those from first_cached on were served by a cache. */
static void video(struct synthetic *s, int first_cached)
{
	synthetic_begin(s, 0, "pipeline", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < STEPS; i++) {
		synthetic_begin(s, i * SECOND, "denoise", STROBE_ROLE_STEP);
		synthetic_attr(s, "step", (int64_t)i);
		if ((int)i >= first_cached)
			synthetic_attr(s, "cached", 1);
		synthetic_stage(s, i * SECOND, i * SECOND + 900 * MS, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(s, (i + 1) * SECOND);
	}
	synthetic_end(s, STEPS * SECOND);
}

static void asked(struct synthetic *s, struct strobe_attr setting, struct strobe_attr more)
{
	struct strobe_attr attrs[] = { text("component", "transformer"), setting, more };

	sb_builder_event(s->b, 1000, "torch.asked", 0, attrs, more.key ? 3 : 2);
}

static const struct strobe_attr none;

static void a_cache_that_serves_no_step_is_idle(void **state)
{
	struct strobe_attr threshold = { .key = "threshold", .type = STROBE_TYPE_FLOAT, .value.f = 0.05 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	asked(&s, text("cache", "first block cache"), threshold);
	video(&s, STEPS);
	m = synthetic_model(&s, STEPS * SECOND);
	assert_non_null(finding(m, "cache_idle"));
	assert_string_equal(finding(m, "cache_idle")->cause,
		"the first block cache on 'transformer' with threshold 0.05: no step comes below it");
	assert_string_equal(finding(m, "cache_idle")->where.stage, "transformer");
	synthetic_done(&s);
}

static void a_cache_that_serves_steps_is_not(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	asked(&s, text("cache", "first block cache"), none);
	video(&s, STEPS - 1);
	assert_null(finding(synthetic_model(&s, STEPS * SECOND), "cache_idle"));
	synthetic_done(&s);
}

static void what_was_to_be_compiled_and_was_not_is_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	asked(&s, whole("compiled", 1), none);
	video(&s, STEPS);
	m = synthetic_model(&s, STEPS * SECOND);
	assert_non_null(finding(m, "asked_not_ran"));
	assert_non_null(strstr(finding(m, "asked_not_ran")->issue, "'transformer' was to be compiled"));
	synthetic_done(&s);
}

static void what_was_compiled_is_not(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND / 2, "torch.compile", STROBE_ROLE_COMPILE);
	asked(&s, whole("compiled", 1), none);
	synthetic_begin(&s, SECOND, "pipeline", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, SECOND, 2 * SECOND, "transformer", STROBE_ROLE_FORWARD);
	synthetic_end(&s, 2 * SECOND);
	assert_null(finding(synthetic_model(&s, 2 * SECOND), "asked_not_ran"));
	synthetic_done(&s);
}

static const char *attention_finding(const char *kernel, const char *backend)
{
	static char issue[200];
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	asked(&s, text("attention", backend), none);
	video(&s, STEPS);
	for (uint64_t i = 0; i < STEPS; i++)
		sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, kernel, NULL),
					    .kind = SB_GPU_KERNEL,
					    .start_ns = i * SECOND + MS,
					    .duration_ns = 300 * MS,
					    .launch_ns = i * SECOND + MS / 2,
					    .launch_tid = 1000,
					    .stream = 7 });
	f = finding(synthetic_model(&s, STEPS * SECOND), "asked_not_ran");
	snprintf(issue, sizeof issue, "%s", f ? f->issue : "");
	synthetic_done(&s);
	return issue;
}

static void an_attention_backend_that_does_not_run_is_named(void **state)
{
	assert_string_equal(attention_finding("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "flash"),
		"'transformer' asks for the attention backend 'flash', and another one runs");
	assert_string_equal(attention_finding("flash_fwd_kernel_bf16", "flash"), "");
	assert_string_equal(
		attention_finding("flash_fwd_kernel_bf16", "native"), ""); /* any kernel will do */
	assert_string_equal(attention_finding("flash_fwd_kernel_bf16", "_native_efficient"),
		"'transformer' asks for the attention backend '_native_efficient', and another one runs");
	assert_string_equal(
		attention_finding("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "_native_efficient"), "");
}

/* Its priority, where a kernel was traced; "": nothing is said. */
static const char *known_with_kernel(const char *kernel)
{
	struct strobe_attr versions[] = { text("torch", "2.9.0"), whole("cudnn", 91002) };
	struct strobe_attr vae[] = { text("component", "vae"), text("dtype", "bfloat16"),
		text("device", "cuda"), text("convolution", "WanCausalConv3d") };
	const struct sb_advice *f;
	struct synthetic s;
	const char *priority;

	synthetic_open(&s);
	sb_builder_event(s.b, 1000, "torch.versions", 0, versions, 2);
	sb_builder_event(s.b, 1000, "torch.asked", 0, vae, 4);
	video(&s, STEPS);
	sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, kernel, NULL),
				    .kind = SB_GPU_KERNEL,
				    .start_ns = MS,
				    .duration_ns = 300 * MS,
				    .launch_ns = MS / 2,
				    .launch_tid = 1000,
				    .stream = 7 });
	f = finding(synthetic_model(&s, STEPS * SECOND), "known_version");
	priority = !f ? "" : strcmp(f->priority, "low") ? "higher" : "low";
	synthetic_done(&s);
	return priority;
}

static void a_version_is_named_with_a_trace_that_shows_no_cost(void **state)
{
	assert_string_equal(known_with_kernel("sm90_xmma_fprop_implicit_gemm_bf16"), "low");
	assert_string_equal(known_with_kernel("vol2col_kernel"), ""); /* fallback_conv says it */
}

static bool version_is_known(const char *torch, int64_t cudnn, const char *dtype, const char *device)
{
	struct strobe_attr versions[] = { text("torch", torch), whole("cudnn", cudnn) };
	struct strobe_attr vae[] = { text("component", "vae"), text("dtype", dtype), text("device", device),
		text("convolution", "WanCausalConv3d") };
	const struct sb_advice *f;
	struct synthetic s;
	bool known;

	synthetic_open(&s);
	sb_builder_event(s.b, 1000, "torch.versions", 0, versions, 2);
	sb_builder_event(s.b, 1000, "torch.asked", 0, vae, 4);
	video(&s, STEPS);
	f = finding(synthetic_model(&s, STEPS * SECOND), "known_version");
	known = f != NULL;
	if (f)
		assert_non_null(strstr(f->cause, "Source: https://github.com/pytorch/pytorch/issues/166643"));
	synthetic_done(&s);
	return known;
}

static void versions_are_named_only_with_what_they_are_slow_at(void **state)
{
	assert_true(version_is_known("2.9.0+cu128", 91002, "bfloat16", "cuda"));
	assert_true(version_is_known("2.9.0", 91501, "float16", "cuda"));
	assert_true(version_is_known("2.9.1+cu128", 91300, "bfloat16", "cuda"));
	assert_false(version_is_known("2.9.1+cu128", 91501, "bfloat16", "cuda"));
	assert_false(version_is_known("2.8.0", 91002, "bfloat16", "cuda"));
	assert_false(version_is_known("2.10.0", 91002, "bfloat16", "cuda"));
	assert_false(version_is_known("2.9.0", 91002, "float32", "cuda"));
	assert_false(version_is_known("2.9.0", 91002, "bfloat16", "cpu"));
}

/* A model that is called on a CPU for 7.2 of 8 s; what is said of the switch. */
static const char *said_of_switch(const char *fact, int64_t value)
{
	static char cause[200];
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	asked(&s, whole(fact, value), none);
	video(&s, STEPS);
	f = finding(synthetic_model(&s, STEPS * SECOND), "debug_mode");
	snprintf(cause, sizeof cause, "%s", f ? f->cause : "");
	if (f) {
		assert_string_equal(f->where.stage, "transformer");
		assert_string_equal(f->priority, "high");
		assert_true(isnan(f->saves_s));
	}
	synthetic_done(&s);
	return cause;
}

static void switches_for_finding_errors_are_named(void **state)
{
	assert_non_null(strstr(said_of_switch("anomaly", 1), "set_detect_anomaly(True)"));
	assert_non_null(strstr(said_of_switch("tracemalloc", 1), "tracemalloc.start()"));
	assert_non_null(strstr(said_of_switch("launch_blocking", 1), "CUDA_LAUNCH_BLOCKING=1"));
	assert_non_null(strstr(said_of_switch("no_memory_caching", 1), "PYTORCH_NO_CUDA_MEMORY_CACHING=1"));
	assert_string_equal(said_of_switch("dtype_is_fine", 1), "");
}

/* Samples of the model's line that were in the formatting of stacks are what anomaly detection costs. */
static void the_stacks_of_anomaly_detection_are_counted(void **state)
{
	struct sb_builder_sample sample = { .tid = 1000, .weight_us = 50000 };
	const struct sb_advice *f;
	struct synthetic s;
	uint32_t names[2];

	synthetic_open(&s);
	names[0] = sb_builder_name(s.b, "linecache.checkcache", NULL);
	names[1] = sb_builder_name(s.b, "main.run", NULL);
	sb_builder_code_file(s.b, names[0], "/usr/lib/python3.12/linecache.py");
	sb_builder_code_file(s.b, names[1], "/srv/main.py");
	asked(&s, whole("anomaly", 1), none);
	video(&s, STEPS);
	for (uint64_t k = 0; k < 40; k++)
		sb_builder_stack_sample(s.b, (k / 8) * SECOND + (100 + k % 8 * 50) * MS, &sample, names,
			(const uint32_t[]){ 50, 12 }, 2);
	f = finding(synthetic_model(&s, STEPS * SECOND), "debug_mode");
	assert_non_null(f);
	assert_near(f->saves_s, 2, 0.1);
	assert_string_equal(f->basis, "estimated");
	synthetic_done(&s);
}

/* A model that is called under a mode that records gradients. */
static bool gradients_are_unused(bool goes_back)
{
	struct synthetic s;
	const struct sb_advice *f;
	bool said;

	synthetic_open(&s);
	asked(&s, whole("gradients", 1), none);
	video(&s, STEPS);
	if (goes_back)
		synthetic_stage(&s, STEPS * SECOND, (STEPS + 1) * SECOND, "backward", STROBE_ROLE_STAGE);
	f = finding(synthetic_model(&s, (STEPS + 2) * SECOND), "gradients_unused");
	said = f != NULL;
	if (f) {
		assert_string_equal(f->where.stage, "transformer");
		assert_non_null(strstr(f->suggestion, "inference_mode"));
	}
	synthetic_done(&s);
	return said;
}

static void one_call_that_records_gradients_is_a_call(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	synthetic_open(&s);
	asked(&s, whole("gradients", 1), none);
	synthetic_stage(&s, 0, SECOND, "transformer", STROBE_ROLE_FORWARD);
	f = finding(synthetic_model(&s, SECOND), "gradients_unused");
	assert_non_null(f);
	assert_non_null(strstr(f->evidence, "1 call, "));
	synthetic_done(&s);
}

static void gradients_that_nothing_uses_are_named(void **state)
{
	assert_true(gradients_are_unused(false));
	assert_false(gradients_are_unused(true));
}

/* Twenty calls of a model with cuDNN's search on; every fourth takes half a second, or the first alone. */
static bool is_searching(bool every_fourth)
{
	struct synthetic s;
	const struct sb_advice *f;
	bool said;

	synthetic_open(&s);
	asked(&s, whole("cudnn_benchmark", 1), none);
	for (uint64_t i = 0; i < 20; i++)
		synthetic_stage(&s, i * SECOND,
			i * SECOND + (i == 0 || (every_fourth && i % 4 == 0) ? 500 : 20) * MS, "transformer",
			0);
	f = finding(synthetic_model(&s, 20 * SECOND), "benchmark_by_size");
	said = f != NULL;
	if (f) {
		assert_string_equal(f->where.stage, "transformer");
		assert_true(f->saves_s > 1.8 && f->saves_s < 2.0); /* four of the five */
	}
	synthetic_done(&s);
	return said;
}

static void kernels_that_are_searched_for_each_size_are_named(void **state)
{
	assert_true(is_searching(true));
	assert_false(is_searching(false));
}

/* An answer of eight tokens after a prompt; each of them is computed from all before it. */
static const struct sb_advice *said_of_answers(struct synthetic *s, bool cached)
{
	struct strobe_attr attrs[] = { text("component", "Llama"), whole("decode_count", STEPS),
		whole("token_count", 70) };

	synthetic_open(s);
	synthetic_begin(s, 0, "Llama.generate", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < STEPS; i++)
		synthetic_stage(s, i * SECOND, (i + 1) * SECOND, "decode", 0);
	synthetic_end(s, STEPS * SECOND);
	if (!cached)
		sb_builder_event(s->b, STEPS * SECOND, "transformers.uncached", 0, attrs, 3);
	return finding(synthetic_model(s, STEPS * SECOND), "cache_idle");
}

static void answers_without_a_key_value_cache_are_named(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_of_answers(&s, false);

	assert_non_null(f);
	assert_non_null(strstr(f->cause, "use_cache=False"));
	assert_string_equal(f->where.stage, "decode");
	assert_non_null(strstr(f->evidence, "8 calls took 70 tokens each"));
	synthetic_done(&s);
	assert_null(said_of_answers(&s, true));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_for_finding_errors_are_named),
		cmocka_unit_test(the_stacks_of_anomaly_detection_are_counted),
		cmocka_unit_test(gradients_that_nothing_uses_are_named),
		cmocka_unit_test(one_call_that_records_gradients_is_a_call),
		cmocka_unit_test(kernels_that_are_searched_for_each_size_are_named),
		cmocka_unit_test(answers_without_a_key_value_cache_are_named),
		cmocka_unit_test(a_cache_that_serves_no_step_is_idle),
		cmocka_unit_test(a_cache_that_serves_steps_is_not),
		cmocka_unit_test(what_was_to_be_compiled_and_was_not_is_named),
		cmocka_unit_test(what_was_compiled_is_not),
		cmocka_unit_test(an_attention_backend_that_does_not_run_is_named),
		cmocka_unit_test(a_version_is_named_with_a_trace_that_shows_no_cost),
		cmocka_unit_test(versions_are_named_only_with_what_they_are_slow_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
