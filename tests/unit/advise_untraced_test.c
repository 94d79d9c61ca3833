/* What is said about kernels without a GPU trace: by torch's switches and the dtypes of the models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Four videos of a second: a transformer of 600 ms and a VAE of 300 ms, on a GPU that is sampled. gpu: how many times as
 * long as the CPU the GPU takes for each. */
static void videos_on(struct synthetic *s, double utilization, double gpu)
{
	uint32_t schema = synthetic_gpu(s, 0), step = sb_builder_name(s->b, "denoise", NULL),
		 vae = sb_builder_name(s->b, "vae", NULL);

	for (uint64_t t = 0; t < 4 * SECOND; t += SECOND) {
		struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = 1000, .name = step };

		for (uint64_t at = 0; at < SECOND; at += SECOND / 4)
			synthetic_gpu_sample(s, schema, t + at, 8000, utilization, 300);
		synthetic_begin(s, t, "pipeline", STROBE_ROLE_GENERATION);
		synthetic_begin(s, t, "denoise", STROBE_ROLE_STEP);
		synthetic_stage(s, t + MS, t + 600 * MS, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(s, t + 600 * MS);
		synthetic_stage(s, t + 600 * MS, t + 900 * MS, "vae", 0);
		synthetic_end(s, t + SECOND);
		g.launch_ns = t + 10;
		g.start_ns = t + 100;
		g.duration_ns = (uint64_t)(gpu * 600 * MS);
		sb_builder_gpu(s->b, &g);
		g.name = vae;
		g.launch_ns = g.start_ns = t + 600 * MS + 10;
		g.duration_ns = (uint64_t)(gpu * 300 * MS);
		sb_builder_gpu(s->b, &g);
	}
}

static void asked(struct synthetic *s, const char *component, const char *dtype, struct strobe_attr more)
{
	struct strobe_attr attrs[] = { TEXT("component", component), TEXT("dtype", dtype),
		TEXT("device", "cuda"), more };

	sb_builder_event(s->b, 1000, "torch.asked", 0, attrs, more.key ? 4 : 3);
}

static const struct strobe_attr none;

static void a_model_in_fp32_beside_one_in_16_bits_is_named(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	asked(&s, "transformer", "bfloat16", none);
	asked(&s, "vae", "float32", none);
	videos_on(&s, 95, 1);
	f = finding(synthetic_model(&s, 4 * SECOND), "precision_mismatch");
	assert_non_null(f);
	assert_string_equal(f->issue, "'vae' computes in fp32 beside a 16-bit model");
	assert_non_null(strstr(f->cause, "those of 'transformer' are bfloat16"));
	assert_string_equal(f->where.stage, "vae");
	assert_non_null(strstr(f->evidence, "--gpu-trace=steps:3"));
	assert_true(isnan(f->saves_s)); /* only a trace knows */
	synthetic_done(&s);
}

/* A pipeline on the CPU. */
static const char *said_of_weights(const char *dtype)
{
	struct strobe_attr attrs[] = { TEXT("component", "transformer"), TEXT("dtype", dtype),
		TEXT("device", "cpu") };
	static char cause[128];
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	sb_builder_event(s.b, 1000, "torch.asked", 0, attrs, COUNT(attrs));
	for (uint64_t t = 0; t < 4 * SECOND; t += SECOND) {
		synthetic_begin(&s, t, "pipeline", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, t + MS, t + 600 * MS, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(&s, t + SECOND);
	}
	f = finding(synthetic_model(&s, 4 * SECOND), "precision_mismatch");
	snprintf(cause, sizeof cause, "%s", f ? f->cause : "");
	if (f) {
		assert_string_equal(f->where.module, "transformer");
		assert_non_null(strstr(f->suggestion, "transformer.float()"));
	}
	synthetic_done(&s);
	return cause;
}

static void weights_in_float64_are_named_on_the_cpu(void **state)
{
	assert_string_equal(said_of_weights("float64"), "the weights of 'transformer' are float64");
	assert_string_equal(said_of_weights("float32"), "");
}

static bool mismatch(const char *of_transformer, const char *of_vae, const char *of_vae_later)
{
	struct synthetic s;
	bool found;

	synthetic_open(&s);
	asked(&s, "transformer", of_transformer, none);
	asked(&s, "vae", of_vae, none);
	if (of_vae_later)
		asked(&s, "vae", of_vae_later, none);
	videos_on(&s, 95, 1);
	found = finding(synthetic_model(&s, 4 * SECOND), "precision_mismatch") != NULL;
	synthetic_done(&s);
	return found;
}

static void models_of_one_precision_are_not(void **state)
{
	assert_true(mismatch("float16", "float32", NULL));
	assert_false(
		mismatch("float32", "float32", NULL)); /* nothing in 16 bits says that the rest could be */
	assert_false(mismatch("bfloat16", "bfloat16", NULL));
	assert_false(mismatch("bfloat16", "float32", "bfloat16")); /* converted before it ran */
}

static void weights_in_fp32_under_autocast_are_named(void **state)
{
	struct strobe_attr autocast = TEXT("autocast", "bfloat16");
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	asked(&s, "transformer", "float32", autocast);
	videos_on(&s, 95, 1);
	f = finding(synthetic_model(&s, 4 * SECOND), "precision_mismatch");
	assert_non_null(f);
	assert_string_equal(f->issue, "'transformer' casts its weights in every call");
	synthetic_done(&s);
}

/* Four videos, and a reading of the GPU's counters every half second; others: percent that other processes use. */
static const struct sb_advice *with_doubles(struct synthetic *s, double first, double rest, double others)
{
	static const char *const counted[] = { "sm_active_percent", "fp64_active_percent" },
				 *const shared[] = { "others_utilization_percent" };
	uint32_t schema, gpu;

	synthetic_open(s);
	asked(s, "transformer", "bfloat16", none);
	videos_on(s, 95, 1);
	schema = sb_builder_schema(s->b, "gpu_counters", 0, counted, 2);
	gpu = sb_builder_schema(s->b, "gpu", 1, shared, 1);
	for (uint64_t t = 0; t <= 8; t++) {
		const double values[] = { 50, t <= 2 ? first : rest };

		sb_builder_sample(s->b, schema, t * SECOND / 2, values, 2);
		if (others > 0)
			sb_builder_sample(s->b, gpu, t * SECOND / 2, &others, 1);
	}
	return finding(synthetic_model(s, 4 * SECOND), "precision_mismatch");
}

static void float64_that_no_model_has_is_named_by_the_counters_of_the_gpu(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = with_doubles(&s, 0.5, 0.5, 0);

	assert_non_null(f);
	assert_string_equal(f->issue, "the GPU computes in float64");
	assert_string_equal(f->where.stage, "denoise");
	assert_string_equal(f->priority, "medium");
	assert_string_equal(f->confidence, "possible");
	assert_true(isnan(f->saves_s));
	assert_non_null(strstr(f->evidence, "at least 1.0 % as long as its SMs"));
	synthetic_done(&s);
	assert_null(with_doubles(&s, 0.5, 0, 0)); /* the first video's alone */
	synthetic_done(&s);
	assert_null(with_doubles(&s, 0, 0.01, 0)); /* next to none */
	synthetic_done(&s);
	assert_null(with_doubles(&s, 0.5, 0.5, 30)); /* it may be another process's */
	synthetic_done(&s);
}

static void cudnn_that_is_off_is_named_with_the_model_that_convolves(void **state)
{
	struct strobe_attr vae[] = { TEXT("component", "vae"), TEXT("device", "cuda"),
		TEXT("convolution", "WanCausalConv3d"), INT("cudnn", 0) };
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	sb_builder_event(s.b, 1000, "torch.asked", 0, vae, COUNT(vae));
	videos_on(&s, 95, 1);
	f = finding(synthetic_model(&s, 4 * SECOND), "fallback_conv");
	assert_non_null(f);
	assert_string_equal(f->where.stage, "vae");
	assert_non_null(strstr(f->cause, "torch.backends.cudnn.enabled is off"));
	assert_string_equal(f->confidence, "certain");
	synthetic_done(&s);
}

static void held_to(struct synthetic *s, const char *backends, int64_t count)
{
	struct strobe_attr held[] = { TEXT("component", "transformer"), TEXT("backends", backends),
		INT("count", count), TEXT("file", "/home/me/attention.py"), INT("line", 42) };

	sb_builder_event(s->b, 2000, "torch.attention", 0, held, COUNT(held));
}

static void attention_that_is_held_to_math_is_named_with_its_line(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	held_to(&s, "math", 256);
	videos_on(&s, 95, 1);
	f = finding(synthetic_model(&s, 4 * SECOND), "fallback_attention");
	assert_non_null(f);
	assert_string_equal(f->issue, "attention in 'transformer' runs unfused");
	assert_non_null(strstr(f->cause, "attention.py:42"));
	assert_int_equal(f->where.line, 42);
	assert_string_equal(f->where.stage, "transformer");
	synthetic_done(&s);
}

static bool unfused(const char *backends, const char *switched)
{
	struct strobe_attr off = TEXT("sdp", switched);
	struct synthetic s;
	bool found;

	synthetic_open(&s);
	asked(&s, "transformer", "bfloat16", switched ? off : none);
	if (backends)
		held_to(&s, backends, 64);
	videos_on(&s, 95, 1);
	found = finding(synthetic_model(&s, 4 * SECOND), "fallback_attention") != NULL;
	synthetic_done(&s);
	return found;
}

static void attention_that_may_be_fused_is_not(void **state)
{
	assert_true(unfused(NULL, "math"));
	assert_false(unfused("flash_attention", NULL));
	assert_false(unfused("flash_attention math", NULL));
	assert_false(unfused(NULL, NULL));
}

static const char *asked_for(const char *backend, const char *left, int64_t count)
{
	static char cause[300];
	struct strobe_attr attention = TEXT("attention", backend);
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	asked(&s, "transformer", "bfloat16", attention);
	held_to(&s, left, count);
	videos_on(&s, 95, 1);
	f = finding(synthetic_model(&s, 4 * SECOND), "asked_not_ran");
	snprintf(cause, sizeof cause, "%s", f ? f->cause : "");
	synthetic_done(&s);
	return cause;
}

static void a_backend_that_is_set_and_passed_over_is_named(void **state)
{
	assert_string_equal(asked_for("_native_flash", "math", 64),
		"the backend '_native_flash' was set on 'transformer'; attention.py:42 holds its attention "
		"to 'math'");
	assert_string_equal(asked_for("_native_flash", "flash_attention", 64), "");
	assert_string_equal(asked_for("_native_flash", "math", 1), ""); /* one layer's */
	assert_string_equal(asked_for("native", "math", 64), ""); /* any will do */
}

/* In a short run the driver's samples say 20 %, while by its own events the GPU has work all the while. */
static void a_gpu_that_the_cpu_runs_ahead_of_is_not_idle(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	videos_on(&s, 20, 1);
	m = synthetic_model(&s, 4 * SECOND);
	assert_non_null(finding(m, "gpu_utilization"));
	assert_string_not_equal(m->summary.bound_by, "gpu");
	synthetic_done(&s);
	synthetic_open(&s);
	videos_on(&s, 20, 1.5);
	m = synthetic_model(&s, 4 * SECOND);
	assert_null(finding(m, "gpu_utilization"));
	assert_string_equal(m->summary.bound_by, "gpu");
	synthetic_done(&s);
}

/* Idling costs more than what its cause is ranked by, and is not explained by it. */
static void a_symptom_stands_below_a_cause_that_is_as_urgent(void **state)
{
	struct strobe_attr vae[] = { TEXT("component", "vae"), TEXT("device", "cuda"),
		TEXT("convolution", "Conv3d"), INT("cudnn", 0) };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_event(s.b, 1000, "torch.asked", 0, vae, COUNT(vae));
	videos_on(&s, 20, 1);
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(m->advice.all[0].id, "fallback_conv");
	assert_string_equal(m->advice.all[1].id, "gpu_utilization");
	assert_true(m->advice.all[1].rank_s > m->advice.all[0].rank_s);
	synthetic_done(&s);
}

/* Where nothing says why the GPU takes so long, a trace is what to record next. */
static void a_run_without_a_cause_says_what_to_type_next(void **state)
{
	struct strobe_attr vae[] = { TEXT("component", "vae"), TEXT("device", "cuda"),
		TEXT("convolution", "Conv3d"), INT("cudnn", 0) };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_RUN, "command", "python wan.py");
	videos_on(&s, 95, 1);
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(m->summary.next_command, "strobe run --gpu-trace=steps:3 -- python wan.py");
	assert_string_equal(m->summary.next_reason, "no cause found; only the kernels of 'vae' tell");
	synthetic_done(&s);
	synthetic_open(&s);
	sb_builder_event(s.b, 1000, "torch.asked", 0, vae, COUNT(vae));
	videos_on(&s, 95, 1);
	assert_null(synthetic_model(&s, 4 * SECOND)->summary.next_command);
	synthetic_done(&s);
}

/* A long run has more events than a report lists. */
static void what_was_asked_for_is_kept_among_many_events(void **state)
{
	struct strobe_attr took = { "duration_s", STROBE_TYPE_FLOAT, { .f = 0.002 } };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	asked(&s, "transformer", "bfloat16", none);
	for (uint64_t i = 0; i < 50000; i++) {
		sb_builder_event(s.b, 2000 + i, "garbage collection", 0, &took, 1);
		if (i == 30001)
			asked(&s, "vae", "float32", none);
	}
	videos_on(&s, 95, 1);
	m = synthetic_model(&s, 4 * SECOND);
	assert_true(m->events.count <= 10000);
	assert_int_equal(m->events.total, 50002);
	assert_non_null(finding(m, "precision_mismatch"));
	synthetic_done(&s);
}

/* What the finding is called that a forward leads to, of a transformer on this device. */
static bool computes(const char *id, const char *device, struct strobe_attr setting, struct strobe_attr first,
	struct strobe_attr second)
{
	struct strobe_attr asks[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", device), setting };
	struct strobe_attr computed[] = { TEXT("component", "transformer"), first, second };
	const struct sb_advice *f;
	struct synthetic s;
	bool found;

	synthetic_open(&s);
	sb_builder_event(s.b, 1000, "torch.asked", 0, asks, setting.key ? 4 : 3);
	videos_on(&s, 95, 1);
	sb_builder_event(s.b, 4 * SECOND - 1, "torch.computed", 0, computed, second.key ? 3 : 2);
	f = finding(synthetic_model(&s, 4 * SECOND), id);
	found = f && !strcmp(f->where.stage, "transformer") && isnan(f->saves_s);
	synthetic_done(&s);
	return found;
}

static void weights_that_every_call_unpacks_are_named(void **state)
{
	struct strobe_attr all = { "unpacked_ratio", STROBE_TYPE_FLOAT, { .f = 1 } };

	assert_true(computes("quantised_not_used", "cuda", none, all, none));
	assert_false(computes("quantised_not_used", "cpu", none, all, none));
	assert_false(computes(
		"quantised_not_used", "cuda", none, (struct strobe_attr)INT("attention_count", 4), none));
}

static void layouts_that_a_forward_changes_are_named(void **state)
{
	struct strobe_attr much = { "relaid_ratio", STROBE_TYPE_FLOAT, { .f = 3.2 } },
			   little = { "relaid_ratio", STROBE_TYPE_FLOAT, { .f = 0.4 } };

	assert_true(computes("layout_conversion", "cuda", none, much, none));
	assert_false(computes("layout_conversion", "cuda", none, little, none));
}

static void a_mask_is_named_where_nothing_fused_takes_it(void **state)
{
	struct strobe_attr off = INT("cudnn_attention", 0), calls = INT("attention_count", 8),
			   masked = INT("masked_count", 8), one = INT("masked_count", 1);

	assert_true(computes("fallback_attention", "cuda", off, calls, masked));
	assert_false(computes("fallback_attention", "cuda", off, calls, one));
	assert_false(computes(
		"fallback_attention", "cuda", none, calls, masked)); /* cuDNN's attention may run it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_in_fp32_beside_one_in_16_bits_is_named),
		cmocka_unit_test(weights_in_float64_are_named_on_the_cpu),
		cmocka_unit_test(models_of_one_precision_are_not),
		cmocka_unit_test(weights_in_fp32_under_autocast_are_named),
		cmocka_unit_test(float64_that_no_model_has_is_named_by_the_counters_of_the_gpu),
		cmocka_unit_test(cudnn_that_is_off_is_named_with_the_model_that_convolves),
		cmocka_unit_test(attention_that_is_held_to_math_is_named_with_its_line),
		cmocka_unit_test(attention_that_may_be_fused_is_not),
		cmocka_unit_test(a_backend_that_is_set_and_passed_over_is_named),
		cmocka_unit_test(a_gpu_that_the_cpu_runs_ahead_of_is_not_idle),
		cmocka_unit_test(a_symptom_stands_below_a_cause_that_is_as_urgent),
		cmocka_unit_test(a_run_without_a_cause_says_what_to_type_next),
		cmocka_unit_test(what_was_asked_for_is_kept_among_many_events),
		cmocka_unit_test(weights_that_every_call_unpacks_are_named),
		cmocka_unit_test(layouts_that_a_forward_changes_are_named),
		cmocka_unit_test(a_mask_is_named_where_nothing_fused_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
