/* What findings may promise: no more than the warm time there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/advise.h"
#include "advise/room.h"
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

/* What says where the time goes, too, tells that no cause was found and what to record. */
static void a_direction_says_what_to_record_next(void **state)
{
	struct synthetic s;
	uint64_t end_ns = put_videos(&s, 0, NULL);
	const struct sb_advice *f;

	put_samples(&s, end_ns, 90, 20);
	f = finding(synthetic_model(&s, end_ns), "stage_dominates");
	assert_non_null(f);
	assert_string_equal(f->cause,
		"cause not found: neither kernels nor Python functions were recorded, next: "
		"record with --gpu-trace=steps:3");
	assert_false(f->cause_open);
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

/* True if the finding also has the time between the generations. */
static bool is_beside(const struct sb_model *m, const struct sb_advice *f)
{
	return f->saves_s > sb_room_inside_s(m) * (1 + 1e-9);
}

/* No finding promises more than there is, nor do all together. */
static void assert_promises_fit(const struct sb_model *m)
{
	double inside_s = sb_room_inside_s(m), all_s = inside_s + sb_room_outside_s(m), sum_s = 0;

	for (size_t i = 0; i < m->advice.count; i++) {
		const struct sb_advice *f = &m->advice.all[i];

		if (f->startup || isnan(f->saves_s))
			continue;
		assert_non_null(f->basis);
		assert_true(f->saves_s > 0);
		assert_true(f->saves_s <= all_s * (1 + 1e-9));
		sum_s += f->saves_s;
	}
	if (sum_s > all_s * (1 + 1e-9))
		fail_msg("all findings promise %g s of %g s", sum_s, all_s);
}

/* Each rule alone, and then every rule at once, in every order of two of them, says that it could save ten times the run. */
static void no_rule_promises_more_than_the_warm_time(void **state)
{
	static const char *const beside[] = { "between_generations", "slow_export", "input_starved",
		"repeated_work", "data_loading", "offload", "swap", "throttling" };
	struct synthetic s;
	uint64_t end_ns = put_videos(&s, 10, "steps:3");
	struct sb_model *m = synthetic_model(&s, end_ns);
	struct sb_advice_panel kept = m->advice;
	struct sb_advice *all = calloc(sb_rule_count(), sizeof *all);

	assert_non_null(all);
	for (size_t first = 0; first < sb_rule_count(); first++) {
		for (size_t i = 0; i < sb_rule_count(); i++) {
			const char *id = sb_rule_info((first + i) % sb_rule_count())->id;

			all[i] = (struct sb_advice){ .id = id,
				.evidence = "seen",
				.basis = "bounded",
				.saves_s = 10 * m->stages.wall_s / (double)(1 + i % 3),
				.stage = i % 2 ? "vae_decode" : NULL };
		}
		m->advice = (struct sb_advice_panel){ all, sb_rule_count() };
		sb_room_share(m);
		assert_promises_fit(m);
		for (size_t i = 0; i < m->advice.count; i++) {
			bool named = false;

			for (size_t k = 0; k < sizeof beside / sizeof *beside; k++)
				named |= !strcmp(all[i].id, beside[k]);
			assert_true(named || !is_beside(m, &all[i]));
		}
		assert_true(all[0].saves_s > 0); /* the first has what there is */
	}
	free(all);
	m->advice = kept;
	synthetic_done(&s);
}

static void a_stage_can_give_no_more_than_its_warm_time(void **state)
{
	struct sb_advice one = { .id = "precision_mismatch",
		.evidence = "seen",
		.basis = "estimated",
		.saves_s = 1,
		.stage = "vae_decode" };
	struct synthetic s;
	uint64_t end_ns = put_videos(&s, 10, NULL);
	struct sb_model *m = synthetic_model(&s, end_ns);
	struct sb_advice_panel kept = m->advice;

	m->advice = (struct sb_advice_panel){ &one, 1 };
	sb_room_share(m);
	assert_near(one.saves_s, 0.1 * (VIDEOS - 1), 1e-6); /* without the cold one's three seconds */
	m->advice = kept;
	synthetic_done(&s);
}

/* Two findings of the same second: the one that stands first has it. */
static void what_stands_first_has_the_time(void **state)
{
	struct sb_advice two[] = {
		{ .id = "python_between_steps", .evidence = "a", .basis = "bounded", .saves_s = 0.9 },
		{ .id = "gpu_gaps", .evidence = "b", .basis = "bounded", .saves_s = 0.9 },
		{ .id = "slow_steps", .evidence = "c", .basis = "bounded", .saves_s = 0.9 },
		{ .id = "compile_time", .evidence = "d", .basis = "bounded", .saves_s = 9, .startup = true }
	};
	struct synthetic s;
	uint64_t end_ns = put_videos(&s, 10, NULL);
	struct sb_model *m = synthetic_model(&s, end_ns);
	struct sb_advice_panel kept = m->advice;

	m->advice = (struct sb_advice_panel){ two, 4 };
	sb_room_share(m);
	assert_near(two[0].saves_s, 0.9, 1e-9);
	assert_near(two[1].saves_s, 0.3, 1e-6);
	assert_string_equal(two[1].evidence, "b; 67 % of it is counted in the findings above");
	assert_true(isnan(two[2].saves_s));
	assert_null(two[2].basis);
	assert_string_equal(two[2].evidence, "c; that time is counted in the findings above");
	assert_near(two[3].saves_s, 9, 0); /* that is before the generations */
	m->advice = kept;
	synthetic_done(&s);
}

/* Recordings of every kind that the rules look at, drawn by chance: traced or not, sampled or not, with lines, copies,
 * offloading, exports and pauses between the videos. */
static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void put_lines(struct synthetic *s, uint32_t *seed, uint64_t end_ns)
{
	static const char *const inner[] = { "memory.empty_cache", "torch.cuda.synchronize",
		"PngImagePlugin._save", "dataloader.next", "compute" };
	uint32_t own = sb_builder_name(s->b, "pipe.on_step", NULL),
		 leaf = sb_builder_name(s->b, inner[draw(seed, 5)], NULL);
	const uint32_t names[] = { leaf, own }, lines[] = { 900, 41 };
	struct sb_builder_sample sample = { .tid = 1000, .weight_us = 50000 };

	sb_builder_code_file(s->b, own, "/srv/pipe.py");
	sb_builder_code_file(s->b, leaf, "/x/site-packages/torch/cuda/memory.py");
	for (uint64_t at = 70 * MS; at < end_ns; at += (50 + draw(seed, 3) * 50) * MS)
		sb_builder_stack_sample(s->b, at, &sample, names, lines, 2);
}

static uint64_t put_anything(struct synthetic *s, uint32_t *seed)
{
	uint32_t videos = 1 + draw(seed, 6), traced = draw(seed, 3), step_ms = 5 + draw(seed, 40);
	bool offload = draw(seed, 3) == 0, pauses = draw(seed, 3) == 0, copies = draw(seed, 2);
	uint64_t at = draw(seed, 2) * SECOND, from = at;

	synthetic_open(s);
	if (traced == 1)
		sb_builder_meta_string(s->b, SB_META_SETTING, "gpu_trace", "steps:3");
	for (uint32_t video = 0; video < videos; video++) {
		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		if (offload) {
			synthetic_stage(s, at, at + 80 * MS, "offload:transformer", STROBE_ROLE_OFFLOAD);
			at += 80 * MS;
		}
		synthetic_begin(s, at, "denoise", 0);
		for (uint32_t i = 0; i < 10; i++, at += (uint64_t)step_ms * MS) {
			synthetic_step(s, at, at + (uint64_t)step_ms * MS, i, 0);
			if (traced && (traced == 2 || (!video && i >= 1 && i < 4))) {
				synthetic_kernel(s, "gemm_fp64", at + MS, (1 + draw(seed, step_ms)) * MS / 2);
				if (copies)
					sb_builder_gpu(s->b,
						&(struct sb_builder_gpu){
							.name = sb_builder_name(s->b, "Memcpy HtoD", NULL),
							.kind = SB_GPU_COPY_H2D,
							.start_ns = at + 2 * MS,
							.duration_ns = (1 + draw(seed, 80)) * MS,
							.launch_ns = at + 2 * MS,
							.launch_tid = 1000,
							.stream = 8 });
			}
		}
		synthetic_end(s, at);
		synthetic_stage(s, at, at + 50 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
		at += (50 + (video ? 0 : draw(seed, 2) * 2000)) * MS;
		synthetic_end(s, at);
		if (pauses)
			synthetic_stage(s, at, at + 300 * MS, "read_input", STROBE_ROLE_DATA);
		at += pauses ? 400 * MS : 0;
	}
	if (traced)
		synthetic_gpu_trace(s, from, at);
	if (draw(seed, 2))
		put_samples(s, at, draw(seed, 100), draw(seed, 150));
	if (draw(seed, 2))
		put_lines(s, seed, at);
	return at;
}

static void no_recording_is_promised_more_than_its_time(void **state)
{
	size_t promised = 0;

	for (uint32_t seed = 1; seed <= 300; seed++) {
		uint32_t drawn = seed * 7919;
		struct synthetic s;
		uint64_t end_ns = put_anything(&s, &drawn);
		struct sb_model *m = synthetic_model(&s, end_ns);

		assert_promises_fit(m);
		for (size_t i = 0; i < m->advice.count; i++)
			promised += m->advice.all[i].saves_s > 0;
		synthetic_done(&s);
	}
	assert_true(promised > 300); /* else nothing was tested */
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
		cmocka_unit_test(a_direction_says_what_to_record_next),
		cmocka_unit_test(no_rule_promises_more_than_the_warm_time),
		cmocka_unit_test(a_stage_can_give_no_more_than_its_warm_time),
		cmocka_unit_test(what_stands_first_has_the_time),
		cmocka_unit_test(no_recording_is_promised_more_than_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
