/* What findings may promise: no more than the warm time there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <string.h>

enum { VIDEOS = 5, STEPS = 10, STEP_MS = 20, DECODE_MS = 100, COLD_MS = 3000 };

/* A video of ten steps and a decode; the first decode is cold, and takes three seconds more. Of three steps and the first
 * decode the GPU is traced: it works for busy_ms of each step, and for ten of the decode. */
static uint64_t put_videos(struct synthetic *s, uint64_t busy_ms, const char *settings)
{
	uint64_t at = 0;

	synthetic_open(s);
	if (settings)
		sb_builder_meta_string(s->b, SB_META_SETTING, "gpu_trace", settings);
	for (int video = 0; video < VIDEOS; video++) {
		uint64_t decode_ms = DECODE_MS + (video ? 0 : COLD_MS);

		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(s, at, "denoise", 0);
		for (int i = 0; i < STEPS; i++, at += STEP_MS * MS) {
			synthetic_step(s, at, at + STEP_MS * MS, i, 0);
			if (settings && !video && i >= 1 && i < 4)
				synthetic_kernel(s, "gemm", at + MS, busy_ms * MS);
		}
		synthetic_end(s, at);
		synthetic_stage(s, at, at + decode_ms * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
		if (settings && !video)
			synthetic_kernel(s, "conv", at + MS, 10 * MS);
		at += decode_ms * MS;
		synthetic_end(s, at);
	}
	if (settings)
		synthetic_gpu_trace(s, STEP_MS * MS, (uint64_t)(STEPS * STEP_MS + COLD_MS + DECODE_MS) * MS);
	return at;
}

/* Samples every 0.1 s of the GPU and of the process. */
static void put_samples(struct synthetic *s, uint64_t end_ns, double gpu_percent, double cpu_percent)
{
	static const char *const columns[] = { "process_percent" };
	uint32_t gpu = synthetic_gpu(s, 0), cpu = sb_builder_schema(s->b, "cpu", -2, columns, 1);

	for (uint64_t t = 50 * MS; t < end_ns; t += 100 * MS) {
		synthetic_gpu_sample(s, gpu, t, 1000, gpu_percent, 100);
		sb_builder_sample(s->b, cpu, t, &cpu_percent, 1);
	}
}

static void idle_steps_promise_their_own_idle_time(void **state)
{
	struct synthetic s;
	uint64_t end_ns = put_videos(&s, 5, "steps:3");
	struct sb_model *m = synthetic_model(&s, end_ns);

	assert_near(finding(m, "gpu_gaps")->value, 75, 1e-6);
	assert_near(finding(m, "gpu_gaps")->saves_s, 0.015 * STEPS * (VIDEOS - 1), 1e-6);
	synthetic_done(&s);
}

/* The trace is idle for three seconds of a cold decode; the warm videos are busy for 210 ms of 300. */
static void a_cold_call_does_not_judge_the_warm_generations(void **state)
{
	struct synthetic s;
	uint64_t end_ns = put_videos(&s, 20, "steps:3");
	struct sb_model *m = synthetic_model(&s, end_ns);

	assert_null(finding(m, "gpu_gaps"));
	assert_string_equal(m->summary.bound_by, "mixed");
	assert_string_equal(m->summary.bound_reason, "GPU busy 70 %; nothing else stands out");
	synthetic_done(&s);
}

/* The first copies of a trace take 15 ms of a step, in which the kernels leave 10. */
static void copies_promise_what_the_kernels_leave(void **state)
{
	struct synthetic s;
	uint64_t end_ns = put_videos(&s, 10, "steps:3");
	struct sb_model *m;

	for (uint64_t i = 1; i < 4; i++)
		sb_builder_gpu(
			s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, "Memcpy HtoD", NULL),
				     .kind = SB_GPU_COPY_H2D,
				     .start_ns = (i * STEP_MS + 2) * MS,
				     .duration_ns = 40 * MS,
				     .launch_ns = (i * STEP_MS + 2) * MS,
				     .launch_tid = 1000,
				     .stream = 8 });
	m = synthetic_model(&s, end_ns);
	assert_near(finding(m, "copies")->saves_s, 0.3 * (VIDEOS - 1) - 0.11 * (VIDEOS - 1), 1e-6);
	assert_non_null(strstr(finding(m, "copies")->issue, "of the warm generations"));
	assert_string_equal(m->summary.bound_by, "copies");
	synthetic_done(&s);
}

/* The GPU has work for a tenth of the time. */
static const struct sb_advice *low_use(struct synthetic *s, double cpu_percent)
{
	uint64_t end_ns = put_videos(s, 0, NULL);

	put_samples(s, end_ns, 10, cpu_percent);
	return finding(synthetic_model(s, end_ns), "gpu_utilization");
}

static void low_use_promises_what_the_warm_generations_idle(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = low_use(&s, 20);

	assert_non_null(f);
	assert_string_equal(f->priority, "medium");
	assert_near(f->saves_s, 0.9 * 0.3 * (VIDEOS - 1), 1e-6);
	synthetic_done(&s);
}

/* A small model is launched for all of the time: that is how it is. */
static void low_use_of_a_process_that_computes_promises_nothing(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = low_use(&s, 100);

	assert_non_null(f);
	assert_string_equal(f->priority, "low");
	assert_true(isnan(f->saves_s));
	assert_non_null(strstr(f->evidence, "the process uses 100 % of a core"));
	assert_non_null(strstr(f->cause, "cause not found"));
	synthetic_done(&s);
}

/* The driver's mean reaches back into what was before. */
static void low_use_in_less_than_a_second_is_not_told(void **state)
{
	struct synthetic s;
	uint64_t at = 0;

	synthetic_open(&s);
	for (int video = 0; video < 9; video++, at += 100 * MS)
		synthetic_stage(&s, at, at + 100 * MS, "video", STROBE_ROLE_GENERATION);
	put_samples(&s, at, 10, 20);
	assert_null(finding(synthetic_model(&s, at), "gpu_utilization"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_steps_promise_their_own_idle_time),
		cmocka_unit_test(a_cold_call_does_not_judge_the_warm_generations),
		cmocka_unit_test(copies_promise_what_the_kernels_leave),
		cmocka_unit_test(low_use_promises_what_the_warm_generations_idle),
		cmocka_unit_test(low_use_of_a_process_that_computes_promises_nothing),
		cmocka_unit_test(low_use_in_less_than_a_second_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
