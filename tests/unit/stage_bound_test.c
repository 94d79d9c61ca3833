/* What bounds a stage where no counter was read, and why it is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/gpu/stage_bound.h"
#include "synthetic.h"

/* A model with one stage of ten calls of 0.1 s; the trace saw three of them. */
struct one {
	struct synthetic s;
	struct sb_stage *stage;
};

static void begin(struct one *o)
{
	synthetic_open(&o->s);
	for (uint64_t i = 0; i < 10; i++) {
		synthetic_begin(&o->s, i * 100 * MS, "step", STROBE_ROLE_STEP);
		synthetic_end(&o->s, (i + 1) * 100 * MS);
	}
	synthetic_model(&o->s, SECOND);
	o->stage = &o->s.model->stages.stages[0];
	o->stage->gpu_call_count = 3;
	assert_null(o->stage->work.bound);
	assert_null(o->stage->work.bound_why); /* nothing says that it used a GPU */
}

static const char *traced(struct one *o, double busy_s, double kernel_s, int64_t kernels, const char *family)
{
	struct sb_stage_work *w = &o->stage->work;

	o->stage->traced = (struct sb_traced_calls){ .count = o->stage->gpu_call_count,
		.kernel_count = (double)kernels,
		.time_s = 0.1 * (double)o->stage->gpu_call_count,
		.busy_s = busy_s,
		.kernel_s = kernel_s,
		.communication_s = strcmp(family, "communication") ? 0 : kernel_s };
	o->stage->gpu_busy_s = busy_s;
	w->bound = w->bound_basis = w->bound_why = NULL;
	sb_stage_bound_fill(o->s.model, o->stage);
	return w->bound ? w->bound : "";
}

static void gaps_between_kernels_tell_what_holds_them_up(void **state)
{
	struct one o;

	begin(&o);
	assert_string_equal(traced(&o, 0.09, 0.09, 9000, "element-wise"), "launch"); /* 23 us of gap each */
	assert_string_equal(o.stage->work.bound_basis, "trace");
	assert_string_equal(traced(&o, 0.09, 0.09, 90, "GEMM"), "host"); /* 2 ms of gap each */
	assert_string_equal(traced(&o, 0.01, 0.01, 9000, "element-wise"), "launch"); /* 32 us of gap each */
	assert_string_equal(traced(&o, 0.25, 0.05, 90, "GEMM"), "copies");
	assert_string_equal(
		traced(&o, 0.15, 0.02, 90, "GEMM"), "host and copies"); /* 130 ms copied, 150 idle */
	assert_string_equal(o.stage->work.bounds[0].bound, "host");
	assert_string_equal(traced(&o, 0.28, 0.28, 90, "communication"), "communication");
	synthetic_done(&o.s);
}

/* Slow moments and what is beside them do not stand for the stage. */
static void slow_moments_alone_tell_no_bound(void **state)
{
	struct one o;

	begin(&o);
	o.s.model->gpu.slow_only = true;
	assert_string_equal(traced(&o, 0.09, 0.09, 90, "GEMM"), "");
	assert_non_null(strstr(o.stage->work.bound_why, "around slow moments only"));
	o.s.model->gpu.slow_only = false;
	assert_string_equal(traced(&o, 0.09, 0.09, 90, "GEMM"), "host");
	synthetic_done(&o.s);
}

/* An imported trace has no roles: what it marks as the bottleneck is judged, what lies inside something else is not. */
static void the_bottleneck_is_judged_wherever_it_lies(void **state)
{
	struct one o;

	begin(&o);
	o.stage->role = STROBE_ROLE_STAGE;
	o.stage->parent = 0;
	o.stage->bottleneck_level = SB_BOTTLENECK_NONE;
	assert_string_equal(traced(&o, 0.09, 0.09, 9000, "element-wise"), "");
	assert_null(o.stage->work.bound_why);
	o.stage->bottleneck_level = SB_BOTTLENECK_MAJOR;
	assert_string_equal(traced(&o, 0.09, 0.09, 9000, "element-wise"), "launch");
	synthetic_done(&o.s);
}

/* It says what its counters were: what bounds it, too, or why that is n/a. */
static void a_stage_with_counters_has_a_reason(void **state)
{
	struct one o;

	begin(&o);
	o.stage->role = STROBE_ROLE_STAGE;
	o.stage->counters.source = o.stage->warm_counters.source = sb_counter_source_names[SB_COUNTED_GPM];
	o.stage->counters.covered_ratio = 0.33;
	o.stage->warm_counters.covered_ratio = 0.1;
	sb_stage_bound_fill(o.s.model, o.stage);
	assert_null(o.stage->work.bound);
	assert_non_null(strstr(o.stage->work.bound_why, "cover 10 % of the time of its warm calls alone"));
	o.stage->warm_counters.source = NULL;
	sb_stage_bound_fill(o.s.model, o.stage);
	assert_null(strstr(o.stage->work.bound_why, "is of this stage alone"));
	synthetic_done(&o.s);
}

/* A trace that fills the time says no more; what was read of the cold calls does. */
static void readings_of_cold_calls_tell_where_none_is_of_the_warm_ones(void **state)
{
	struct one o;

	begin(&o);
	o.stage->judged.warm = true;
	o.stage->counters.source = sb_counter_source_names[SB_COUNTED_GPM];
	o.stage->counters.covered_ratio = 0.29;
	o.stage->counters.bound_s[SB_BOUND_SM] = 1;
	assert_string_equal(traced(&o, 0.285, 0.285, 9000, "GEMM"), "SM");
	assert_string_equal(o.stage->work.bound_calls, SB_CALLS_COLD);
	assert_string_equal(traced(&o, 0.09, 0.09, 9000, "element-wise"), "launch"); /* of its warm calls */
	o.stage->warm_counters = o.stage->counters;
	o.stage->warm_counters.bound_s[SB_BOUND_TENSOR] = 2;
	assert_string_equal(traced(&o, 0.285, 0.285, 9000, "GEMM"), "tensor and SM");
	assert_string_equal(o.stage->work.bound_calls, SB_CALLS_WARM);
	synthetic_done(&o.s);
}

/* A reading of a second is half of the one and half of the other, and names neither. */
static void samples_of_a_whole_call_tell_more_than_readings(void **state)
{
	struct one o;

	begin(&o);
	o.stage->judged.warm = true;
	o.stage->warm_counters.source = sb_counter_source_names[SB_COUNTED_GPM];
	o.stage->warm_counters.covered_ratio = 0.9;
	o.stage->warm_counters.bound_s[SB_BOUND_SM] = 1;
	o.stage->sampled_counters.source = sb_counter_source_names[SB_COUNTED_PM];
	o.stage->sampled_counters.covered_s = 0.05; /* half a call */
	o.stage->sampled_counters.bound_s[SB_BOUND_TENSOR] = 2;
	o.stage->sampled_counters.bound_s[SB_BOUND_DRAM] = 1;
	sb_stage_bound_fill(o.s.model, o.stage);
	assert_string_equal(o.stage->work.bound, "SM");
	o.stage->sampled_counters.covered_s = 0.3;
	sb_stage_bound_fill(o.s.model, o.stage);
	assert_string_equal(o.stage->work.bound, "tensor and DRAM");
	assert_string_equal(o.stage->work.bound_calls, SB_CALLS_COLD);
	synthetic_done(&o.s);
}

/* What other programs do on the GPU meanwhile bounds nothing here. */
static void a_stage_whose_models_ran_on_the_cpu_is_bound_by_no_part_of_a_gpu(void **state)
{
	struct one o;

	begin(&o);
	o.stage->warm_counters.source = sb_counter_source_names[SB_COUNTED_GPM];
	o.stage->warm_counters.bound_s[SB_BOUND_TENSOR] = 1;
	o.stage->warm_counters.covered_ratio = 0.9;
	o.stage->work.flops = o.stage->work.cpu_flops = 1e12;
	sb_stage_bound_fill(o.s.model, o.stage);
	assert_null(o.stage->work.bound);
	assert_string_equal(o.stage->work.bound_why, "its models ran on the CPU");
	o.stage->work.uncounted_count =
		1; /* a text encoder there, the transformer on the GPU was not counted */
	sb_stage_bound_fill(o.s.model, o.stage);
	assert_string_equal(o.stage->work.bound, "tensor");
	o.stage->work = (struct sb_stage_work){ .cpu_flops = 1e12 };
	o.stage->work.flops = 2e12; /* a text encoder there, the transformer on the GPU */
	sb_stage_bound_fill(o.s.model, o.stage);
	assert_string_equal(o.stage->work.bound, "tensor");
	synthetic_done(&o.s);
}

/* Busy all the time: with what part of the chip, kernels do not say. */
static void kernels_that_fill_the_time_need_counters(void **state)
{
	struct one o;

	begin(&o);
	assert_string_equal(traced(&o, 0.285, 0.285, 9000, "GEMM"), "");
	assert_non_null(strstr(o.stage->work.bound_why, "95 % of its traced time"));
	assert_non_null(strstr(o.stage->work.bound_why, "--gpu-counters=steps:3"));
	o.s.model->pm_samples.present = true; /* of other times of the run: all of it tells */
	traced(&o, 0.285, 0.285, 9000, "GEMM");
	assert_non_null(
		strstr(o.stage->work.bound_why, "they used, --gpu-counters for all of the run tells"));
	o.s.model->pm_samples.sampled_s = o.s.model->stages.wall_s;
	traced(&o, 0.285, 0.285, 9000, "GEMM");
	assert_null(strstr(o.stage->work.bound_why, "--gpu-counters"));
	assert_non_null(strstr(o.stage->work.bound_why, "no sample of the counters is of this stage alone"));
	synthetic_done(&o.s);
}

static void imports_and_what_strobe_does_get_no_reason(void **state)
{
	static const enum strobe_role roles[] = { STROBE_ROLE_STEP, STROBE_ROLE_IMPORT,
		STROBE_ROLE_PROFILER };
	struct one o;

	begin(&o);
	o.stage->gpu_span_s = 1;
	o.stage->gpu_span_count = 10;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		o.stage->role = roles[i];
		o.stage->work.bound_why = NULL;
		sb_stage_bound_fill(o.s.model, o.stage);
		assert_int_equal(o.stage->work.bound_why != NULL, roles[i] == STROBE_ROLE_STEP);
	}
	synthetic_done(&o.s);
}

static void half_of_the_peak_rate_tells_without_counters(void **state)
{
	struct one o;

	begin(&o);
	o.stage->work.mfu_ratio = 0.62;
	o.stage->work.precision = "bf16";
	assert_string_equal(traced(&o, 0.28, 0.28, 90, "GEMM"), "tensor");
	assert_string_equal(o.stage->work.bound_basis, "rate");
	o.stage->work.precision = "fp32";
	assert_string_equal(traced(&o, 0.28, 0.28, 90, "GEMM"), "FP32");
	o.stage->work.mfu_ratio = 0.3;
	assert_string_equal(traced(&o, 0.28, 0.28, 90, "GEMM"), "");
	synthetic_done(&o.s);
}

/* Readings every 5 s, steps of 0.1 s. */
static void readings_too_far_apart_are_said_with_the_option(void **state)
{
	static const char *const columns[] = { "sm_active_percent" };
	struct synthetic s;
	uint32_t schema, gpu;
	struct sb_stage *step;

	synthetic_open(&s);
	gpu = synthetic_gpu(&s, 0);
	schema = sb_builder_schema(s.b, "gpu_counters", 0, columns, 1);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_gpu_sample(&s, gpu, i * 5 * SECOND, 1000, 50, 300);
		sb_builder_sample(s.b, schema, i * 5 * SECOND, (double[]){ 80 }, 1);
	}
	synthetic_begin(&s, SECOND, "step", STROBE_ROLE_STEP);
	synthetic_end(&s, SECOND + 100 * MS);
	synthetic_model(&s, 10 * SECOND);
	step = &s.model->stages.stages[0];
	assert_null(step->work.bound);
	step->gpu_span_s = 0.09;
	sb_stage_bound_fill(s.model, step);
	assert_non_null(strstr(step->work.bound_why, "one every 5 s"));
	assert_non_null(strstr(step->work.bound_why, "--gpu-counters=steps:3"));
	synthetic_done(&s);
}

/* A report keeps a part of a long run's rows: they are farther apart than the readings. */
static void readings_are_as_far_apart_as_they_were_recorded(void **state)
{
	static const char *const columns[] = { "sm_active_percent" };
	struct sb_stage *step;
	struct synthetic s;
	uint32_t schema, gpu;

	synthetic_open(&s);
	gpu = synthetic_gpu(&s, 0);
	schema = sb_builder_schema(s.b, "gpu_counters", 0, columns, 1);
	synthetic_gpu_sample(&s, gpu, 0, 1000, 50, 300);
	for (uint64_t i = 0; i <= 40000; i++)
		sb_builder_sample(s.b, schema, i * SECOND, (double[]){ 80 }, 1);
	synthetic_begin(&s, SECOND, "step", STROBE_ROLE_STEP);
	synthetic_end(&s, SECOND + 100 * MS);
	synthetic_model(&s, 40000 * SECOND);
	step = &s.model->stages.stages[0];
	step->gpu_span_s = 0.09;
	sb_stage_bound_fill(s.model, step);
	assert_non_null(strstr(step->work.bound_why, "one every 1 s"));
	synthetic_done(&s);
}

/* Readings a second long lie in the slow first step alone: what bounds the others, they do not tell. */
static void readings_of_the_longest_call_alone_do_not_tell(void **state)
{
	struct one o;

	begin(&o);
	o.stage->warm_counters.source = sb_counter_source_names[SB_COUNTED_GPM];
	o.stage->warm_counters.bound_s[SB_BOUND_LAUNCH] = 0.16;
	o.stage->warm_counters.covered_ratio = 0.16;
	o.stage->gpu_call_count = 0;
	o.stage->gpu_span_s = 0.9;
	o.stage->gpu_span_count = 10;
	assert_string_equal(traced(&o, 0, 0, 0, "GEMM"), "");
	assert_non_null(strstr(o.stage->work.bound_why, "cover 16 % of the time of its warm calls alone"));
	o.stage->warm_counters.covered_ratio = 0.3;
	assert_string_equal(traced(&o, 0, 0, 0, "GEMM"), "launch");
	synthetic_done(&o.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_between_kernels_tell_what_holds_them_up),
		cmocka_unit_test(slow_moments_alone_tell_no_bound),
		cmocka_unit_test(the_bottleneck_is_judged_wherever_it_lies),
		cmocka_unit_test(a_stage_with_counters_has_a_reason),
		cmocka_unit_test(samples_of_a_whole_call_tell_more_than_readings),
		cmocka_unit_test(readings_of_cold_calls_tell_where_none_is_of_the_warm_ones),
		cmocka_unit_test(a_stage_whose_models_ran_on_the_cpu_is_bound_by_no_part_of_a_gpu),
		cmocka_unit_test(kernels_that_fill_the_time_need_counters),
		cmocka_unit_test(imports_and_what_strobe_does_get_no_reason),
		cmocka_unit_test(half_of_the_peak_rate_tells_without_counters),
		cmocka_unit_test(readings_too_far_apart_are_said_with_the_option),
		cmocka_unit_test(readings_are_as_far_apart_as_they_were_recorded),
		cmocka_unit_test(readings_of_the_longest_call_alone_do_not_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
