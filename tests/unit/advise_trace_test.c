/* The rules that read a GPU trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

static void kernel(struct synthetic *s, const char *name, enum sb_gpu_kind kind, uint64_t at, uint64_t took,
	uint32_t flags, uint64_t bytes)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, name, NULL),
				     .kind = kind,
				     .start_ns = at,
				     .duration_ns = took,
				     .launch_ns = at > 1000 ? at - 1000 : 0,
				     .launch_tid = 1000,
				     .stream = 7,
				     .flags = flags,
				     .bytes = bytes });
}

static void copies_gaps_and_small_kernels_are_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "denoise", 0);
	for (int i = 0; i < 200; i++, t += 20000) /* 5 us of work every 20 us */
		kernel(&s, "elementwise_kernel", SB_GPU_KERNEL, t, 5000, 0, 0);
	kernel(&s, "softmax_warp_forward", SB_GPU_KERNEL, t, 2 * MS, 0, 0);
	t += 2 * MS;
	kernel(&s, "Memcpy HtoD", SB_GPU_COPY_H2D, t, 3 * MS, SB_GPU_PAGEABLE, 2000000000);
	t += 3 * MS;
	synthetic_end(&s, t);
	m = synthetic_model(&s, t);
	assert_true(m->gpu.present);
	assert_non_null(finding(m, "copies"));
	assert_near(finding(m, "copies")->saves_s, 0.003, 1e-9);
	assert_near(finding(m, "pageable_copies")->value, 100, 1e-9);
	assert_non_null(finding(m, "gpu_gaps"));
	assert_near(finding(m, "gpu_gaps")->saves_s, m->gpu.idle_s, 1e-12);
	assert_null(finding(m, "small_kernels")); /* the same launches, seen from their other side */
	assert_non_null(strstr(finding(m, "gpu_gaps")->cause, "launching: 201 kernels"));
	assert_null(finding(m, "communication"));
	synthetic_done(&s);
}

/* Three calls of 1000 short kernels close together, 2 s after the imports; the GPU waits 20 ms for each of them. */
static void long_gaps_are_not_launches(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_advice *f;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 2 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	for (uint64_t i = 0; i < 6; i++) {
		uint64_t at = 2 * SECOND + i * 30 * MS;

		synthetic_begin(&s, at, "Tower", 0);
		for (uint64_t k = 0; i < 3 && k < 1000; k++)
			kernel(&s, "elementwise_kernel", SB_GPU_KERNEL, at + k * 9000, 8000, 0, 0);
		synthetic_end(&s, at + 9 * MS);
	}
	m = synthetic_model(&s, 2 * SECOND + 180 * MS);
	f = finding(m, "gpu_gaps");
	assert_non_null(f);
	assert_null(strstr(f->cause, "launching"));
	/* 45 of 69 ms, told for the 159 ms after the imports and not for the calls */
	assert_true(f->saves_s > 0.08 && f->saves_s < 0.12);
	assert_non_null(strstr(f->evidence, "in the time after the start-up"));
	synthetic_done(&s);
}

/* More of them than the report lists. */
static void many_long_gaps_are_no_launches_either(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 100; i++) {
		synthetic_begin(&s, i * 12 * MS, "Tower", 0);
		for (uint64_t k = 0; k < 1000; k++)
			kernel(&s, "elementwise_kernel", SB_GPU_KERNEL, i * 12 * MS + k * 9000, 8000, 0, 0);
		synthetic_end(&s, i * 12 * MS + 9 * MS);
	}
	f = finding(synthetic_model(&s, 1200 * MS), "gpu_gaps");
	assert_non_null(f);
	assert_true(!f->cause || !strstr(f->cause, "launching"));
	synthetic_done(&s);
}

static void a_busy_gpu_bounds_the_run(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 20; i++)
		kernel(&s, "sm90_xmma_gemm_bf16", SB_GPU_KERNEL, i * 10 * MS, 9900000, 0, 0);
	m = synthetic_model(&s, 200 * MS);
	assert_null(finding(m, "gpu_gaps"));
	assert_null(finding(m, "small_kernels"));
	assert_null(finding(m, "copies"));
	assert_string_equal(m->summary.bound, "GPU");
	assert_non_null(strstr(m->summary.bound_reason, "99 % busy"));
	synthetic_done(&s);
}

static void attention_is_weighed_by_its_kernels(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	kernel(&s, "flash_fwd_kernel", SB_GPU_KERNEL, 0, 80 * MS, 0, 0);
	kernel(&s, "sm90_xmma_gemm_bf16", SB_GPU_KERNEL, 80 * MS, 20 * MS, 0, 0);
	m = synthetic_model(&s, 100 * MS);
	assert_near(finding(m, "attention")->value, 80, 1e-6);
	assert_null(finding(m, "attention_math"));
	synthetic_done(&s);
}

static void unfused_attention_is_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	synthetic_open(&s);
	for (int i = 0; i < 10; i++, t += 10 * MS) {
		synthetic_begin(&s, t, "aten::_scaled_dot_product_attention_math", 0);
		kernel(&s, "softmax_warp_forward", SB_GPU_KERNEL, t + 2000, 2 * MS, 0, 0);
		synthetic_end(&s, t + 3 * MS);
		synthetic_begin(&s, t + 3 * MS, "aten::linear", 0);
		kernel(&s, "sm90_xmma_gemm_bf16", SB_GPU_KERNEL, t + 4 * MS, 6 * MS, 0, 0);
		synthetic_end(&s, t + 10 * MS);
	}
	m = synthetic_model(&s, t);
	assert_null(finding(m, "attention_math")); /* folded under what names the stage */
	assert_non_null(finding(m, "fallback_attention"));
	assert_string_equal(
		finding(m, "fallback_attention")->where.stage, "aten::_scaled_dot_product_attention_math");
	assert_non_null(strstr(finding(m, "fallback_attention")->where.kernel, "softmax"));
	assert_string_equal(finding(m, "fallback_attention")->explains[0], "attention_math");
	assert_null(finding(m, "attention"));
	synthetic_done(&s);
}

/* NCCL on a stream of its own: 30 ms, of which the GEMM hides 10. */
static void communication_nobody_hides_is_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	kernel(&s, "sm90_xmma_gemm_bf16", SB_GPU_KERNEL, 0, 80 * MS, 0, 0);
	sb_builder_gpu(
		s.b, &(struct sb_builder_gpu){
			     .name = sb_builder_name(s.b, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", NULL),
			     .kind = SB_GPU_KERNEL,
			     .start_ns = 70 * MS,
			     .duration_ns = 30 * MS,
			     .launch_ns = 69 * MS,
			     .launch_tid = 1000,
			     .stream = 20 });
	m = synthetic_model(&s, 100 * MS);
	assert_near(m->gpu.communication_s, 0.030, 1e-9);
	assert_near(finding(m, "communication")->value, 20, 1e-6);
	assert_near(finding(m, "communication")->saves_s, 0.020, 1e-9);
	synthetic_done(&s);
}

/* Two GPUs side by side, one busier than the other. */
static void gains_are_of_one_gpu_not_of_their_sum(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 10; i++) {
		for (uint32_t device = 0; device < 2; device++) {
			struct sb_builder_gpu work = { .name = sb_builder_name(s.b, "ncclKernel", NULL),
				.kind = SB_GPU_KERNEL,
				.device = device,
				.start_ns = i * 10 * MS,
				.duration_ns = (device ? 4 : 2) * MS,
				.launch_ns = UINT64_MAX };

			sb_builder_gpu(s.b, &work);
			work.kind = SB_GPU_COPY_H2D;
			work.name = sb_builder_name(s.b, "Memcpy HtoD", NULL);
			work.start_ns += work.duration_ns;
			work.duration_ns = 1 * MS;
			sb_builder_gpu(s.b, &work);
		}
	}
	m = synthetic_model(&s, 100 * MS);
	assert_near(finding(m, "gpu_gaps")->saves_s, 0.045, 1e-9); /* of the busiest: 95 ms - 50 */
	assert_non_null(strstr(finding(m, "gpu_gaps")->issue, "the 2 GPUs idle"));
	assert_non_null(strstr(finding(m, "gpu_gaps")->evidence, "the busiest, GPU 1,"));
	assert_near(finding(m, "copies")->saves_s, 0.010, 1e-9);
	assert_near(finding(m, "communication")->saves_s, 0.030, 1e-9);
	synthetic_done(&s);
}

/* 60 steps of 20 ms in 'denoise' beside 8.8 s without the GPU; the GPU is busy
 * 5 ms of each step. */
static void put_steps(struct synthetic *s, bool sampled)
{
	uint32_t schema = synthetic_gpu(s, 0);

	synthetic_stage(s, 0, 2 * SECOND, "prepare", 0);
	synthetic_begin(s, 2 * SECOND, "denoise", 0);
	for (uint64_t i = 0; i < 60; i++)
		synthetic_step(s, 2 * SECOND + i * 20 * MS, 2 * SECOND + (i + 1) * 20 * MS, (int64_t)i, 0);
	synthetic_end(s, 3200 * MS);
	synthetic_stage(s, 3200 * MS, 10 * SECOND, "save", 0);
	for (uint64_t t = 0; sampled && t <= 10; t++)
		synthetic_gpu_sample(s, schema, t * SECOND, 600, 4, 100);
}

static void put_work(struct synthetic *s, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		kernel(s, "gemm", SB_GPU_KERNEL, 2 * SECOND + i * 20 * MS + 5 * MS, 5 * MS, 0, 0);
	/* the last step's end */
	kernel(s, "gemm", SB_GPU_KERNEL, 2 * SECOND + (first + count) * 20 * MS - 1 * MS, 1 * MS, 0, 0);
}

/* Traced from 2045 to 2100 ms: 16 ms busy, 39 idle. */
static void what_a_trace_of_three_steps_saves_is_told_for_all_steps(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	struct sb_model *m;

	synthetic_open(&s);
	put_steps(&s, true);
	put_work(&s, 2, 3);
	synthetic_gpu_trace(&s, 2041 * MS, 2101 * MS);
	m = synthetic_model(&s, 10 * SECOND);
	f = finding(m, "gpu_gaps");
	assert_near(m->gpu.traced_s, 0.060, 1e-9);
	assert_near(f->saves_s, 39.0 / 55 * 1.2, 1e-6);
	assert_non_null(strstr(f->evidence, "an estimate: 55.0 ms were traced of 1.20 s in 'denoise'"));
	assert_null(finding(m, "gpu_utilization")); /* says the same */
	synthetic_done(&s);
}

/* Four videos of eight steps, each step full of one kernel; the first three steps are traced. Steps of the later videos take four
 * times as long, where these are larger. */
static bool has_gaps(int64_t later_frames)
{
	struct synthetic s;
	uint64_t at = 0;
	bool found;

	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_SETTING, "gpu_trace", "steps:3");
	for (int video = 0; video < 4; video++) {
		synthetic_begin(&s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", video ? later_frames : 9);
		for (int i = 0; i < 8; i++) {
			uint64_t ns = (video ? 40 : 10) * MS;

			synthetic_step(&s, at, at + ns, i, 0);
			if (!video && i >= 1 && i < 4)
				kernel(&s, "gemm", SB_GPU_KERNEL, at + MS / 10, ns - MS / 5, 0, 0);
			at += ns;
		}
		synthetic_end(&s, at);
	}
	synthetic_gpu_trace(&s, 10 * MS, 40 * MS);
	found = finding(synthetic_model(&s, at), "gpu_gaps") != NULL;
	synthetic_done(&s);
	return found;
}

static void a_traced_step_is_weighed_by_steps_of_its_own_size(void **state)
{
	assert_true(has_gaps(9)); /* of one size: the later ones wait for something */
	assert_false(has_gaps(33));
}

static void what_a_trace_of_the_whole_run_saves_is_told_as_it_is(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	put_steps(&s, false);
	put_work(&s, 30, 30);
	synthetic_gpu_trace(&s, 0, 10 * SECOND);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(finding(m, "gpu_gaps")->saves_s, m->gpu.idle_s, 1e-9);
	assert_null(strstr(finding(m, "gpu_gaps")->evidence, "estimate"));
	synthetic_done(&s);
}

/* 0.4 s busy by the samples, in stages of 1.2 s. */
static void low_utilisation_saves_no_more_than_the_stages_that_use_the_gpu(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	put_steps(&s, true);
	sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, "denoise", NULL),
				    .kind = SB_GPU_ZONE,
				    .start_ns = 2 * SECOND + 10,
				    .duration_ns = 1000 * MS,
				    .launch_ns = 2 * SECOND + 5,
				    .launch_tid = 1000,
				    .stream = 7 });
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(finding(m, "gpu_utilization")->saves_s, 1.2 - 0.4, 1e-3);
	synthetic_done(&s);
}

/* A second of short kernels, mostly idle. Of a run the gaps tell it; a slow moment that a watch kept says nothing of it. */
static void what_a_watch_kept_is_no_sample_of_the_run(void **state)
{
	struct strobe_attr kept = { SB_RUN_GPU_TRACE_KEPT, STROBE_TYPE_INT, { .i = 1 } };
	struct synthetic s;

	for (int watched = 0; watched < 2; watched++) {
		struct sb_model *m;

		synthetic_open(&s);
		for (uint64_t i = 0; i < 1000; i++)
			synthetic_kernel(&s, "elementwise", i * MS, 5000);
		synthetic_gpu_trace(&s, 0, SECOND);
		if (watched)
			sb_builder_meta(s.b, SB_META_RUN, &kept);
		m = synthetic_model(&s, SECOND);
		assert_int_equal(finding(m, "gpu_gaps") != NULL, !watched);
		assert_null(finding(m, "small_kernels"));
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_watch_kept_is_no_sample_of_the_run),
		cmocka_unit_test(copies_gaps_and_small_kernels_are_named),
		cmocka_unit_test(long_gaps_are_not_launches),
		cmocka_unit_test(many_long_gaps_are_no_launches_either),
		cmocka_unit_test(a_busy_gpu_bounds_the_run),
		cmocka_unit_test(attention_is_weighed_by_its_kernels),
		cmocka_unit_test(unfused_attention_is_named),
		cmocka_unit_test(communication_nobody_hides_is_named),
		cmocka_unit_test(what_a_trace_of_three_steps_saves_is_told_for_all_steps),
		cmocka_unit_test(a_traced_step_is_weighed_by_steps_of_its_own_size),
		cmocka_unit_test(what_a_trace_of_the_whole_run_saves_is_told_as_it_is),
		cmocka_unit_test(low_utilisation_saves_no_more_than_the_stages_that_use_the_gpu),
		cmocka_unit_test(gains_are_of_one_gpu_not_of_their_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
