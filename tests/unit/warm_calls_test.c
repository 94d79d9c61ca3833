/* Rates of a stage are those of its warm calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "report/panels/panel.h"
#include "synthetic.h"

#define FLOPS 98.9e12 /* of a call: a tenth of a second of an H200 in bf16 */

static void count_shape(struct synthetic *s)
{
	const struct strobe_attr shape[] = { INT("shape", 1), TEXT("precision", "bf16"),
		{ "flops", STROBE_TYPE_FLOAT, { .f = FLOPS } } };

	sb_builder_event(s->b, 0, SB_EVENT_FLOPS, 0, shape, 3);
}

static void open_h200(struct synthetic *s)
{
	struct strobe_attr name = TEXT("gpu0.name", "NVIDIA H200");

	synthetic_open(s);
	sb_builder_meta(s->b, SB_META_SYSTEM, &name);
	synthetic_gpu_sample(s, synthetic_gpu(s, 0), 0, 1000, 50, 300);
	count_shape(s);
}

/* A call of the model, in a step of its own. */
static void step(struct synthetic *s, uint64_t begin_ns, uint64_t took_ns)
{
	synthetic_begin(s, begin_ns, "step", STROBE_ROLE_STEP);
	synthetic_begin(s, begin_ns, "Net", STROBE_ROLE_FORWARD);
	synthetic_attr(s, "flops_shape", 1);
	synthetic_end(s, begin_ns + took_ns);
	synthetic_end(s, begin_ns + took_ns);
}

static const struct sb_stage_work *work_of(const struct synthetic *s, const char *name)
{
	return &sb_model_stage(s->model, name)->work;
}

static void text_holds(const struct synthetic *s, const char *what)
{
	struct sb_text_options options = { .columns = 200 };
	struct sb_buf text = { 0 };

	for (const struct sb_panel *const *panel = sb_panels; *panel; panel++)
		if (!strcmp((*panel)->name, "hardware"))
			(*panel)->text(s->model, &options, &text);
	if (!strstr(sb_buf_text(&text), what))
		fail_msg("no '%s' in\n%s", what, sb_buf_text(&text));
	sb_buf_done(&text);
}

/* The first step takes a second (kernels are loaded, libraries tune), four others a quarter: 40 % of the peak. */
static void the_first_call_is_in_no_rate(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	open_h200(&s);
	synthetic_begin(&s, 0, "denoise", STROBE_ROLE_DENOISE);
	step(&s, 0, SECOND);
	for (uint64_t i = 0; i < 4; i++)
		step(&s, SECOND + i * 250 * MS, 250 * MS);
	synthetic_end(&s, 2 * SECOND);
	synthetic_model(&s, 2 * SECOND);
	w = work_of(&s, "step");
	assert_near(w->flops, 5 * FLOPS, 1);
	assert_near(w->rate_flops, 4 * FLOPS, 1);
	assert_string_equal(w->calls, "warm");
	assert_int_equal(w->call_count, 4);
	assert_near(w->time_s, 1, 1e-9);
	assert_near(w->mfu_ratio, 4 * FLOPS / 989.5e12, 1e-9);
	assert_near(w->floor_s, 4 * FLOPS / 989.5e12, 1e-9);
	text_holds(&s,
		"step: 494.5 TFLOP; 4 warm calls: 395.6 TFLOP/s, MFU 40.0 % of the bf16 rate, floor 400 "
		"ms of 1.00 s");
	synthetic_done(&s);
}

/* Nothing is known of a warm one: what there is, is said with its name. */
static void a_stage_called_once_has_a_cold_rate(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	open_h200(&s);
	synthetic_begin(&s, 0, "denoise", STROBE_ROLE_DENOISE);
	step(&s, 0, SECOND);
	step(&s, SECOND, 250 * MS);
	synthetic_end(&s, 1250 * MS);
	synthetic_model(&s, 2 * SECOND);
	w = work_of(&s, "denoise");
	assert_string_equal(w->calls, "cold");
	assert_int_equal(w->call_count, 1);
	assert_near(w->mfu_ratio, 2 * FLOPS / 1.25 / 989.5e12, 1e-9);
	text_holds(&s, "denoise: 197.8 TFLOP; 1 call, cold: 158.2 TFLOP/s");
	synthetic_done(&s);
}

/* Where all calls take the same, leaving one out changes nothing. */
static void equal_calls_have_the_rate_they_had(void **state)
{
	struct synthetic s;

	(void)state;
	open_h200(&s);
	for (uint64_t i = 0; i < 5; i++)
		step(&s, i * 250 * MS, 250 * MS);
	synthetic_model(&s, 2 * SECOND);
	assert_near(work_of(&s, "step")->mfu_ratio, 4 * FLOPS / 989.5e12, 1e-9);
	assert_near(work_of(&s, "Net")->mfu_ratio, 4 * FLOPS / 989.5e12, 1e-9);
	synthetic_done(&s);
}

/* strobe's own trace begins in the second step and ends in the fifth. */
static void calls_in_which_a_trace_begins_or_ends_are_in_no_rate(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	open_h200(&s);
	synthetic_gpu_trace(&s, 255 * MS, 1260 * MS);
	step(&s, 0, 250 * MS);
	step(&s, 250 * MS, 500 * MS); /* CUPTI starts */
	step(&s, 750 * MS, 250 * MS);
	step(&s, 1000 * MS, 250 * MS);
	step(&s, 1250 * MS, 400 * MS); /* its records are collected */
	step(&s, 1650 * MS, 250 * MS);
	synthetic_model(&s, 2 * SECOND);
	w = work_of(&s, "step");
	assert_int_equal(w->call_count, 3);
	assert_near(w->time_s, 0.75, 1e-9);
	assert_near(w->mfu_ratio, 4 * FLOPS / 989.5e12, 1e-9);
	synthetic_done(&s);
}

/* Stages that a program numbers are one row: only the first of them is cold. */
static void of_numbered_stages_the_first_is_cold(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;
	char name[24];

	(void)state;
	open_h200(&s);
	for (uint64_t i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "chunk_%d", (int)i);
		synthetic_begin(&s, i * SECOND, name, 0);
		step(&s, i * SECOND, i ? 250 * MS : SECOND);
		synthetic_end(&s, i * SECOND + (i ? 250 * MS : SECOND));
	}
	synthetic_model(&s, 4 * SECOND);
	w = work_of(&s, "chunk_*");
	assert_string_equal(w->calls, "warm");
	assert_int_equal(w->call_count, 3);
	assert_near(w->mfu_ratio, 4 * FLOPS / 989.5e12, 1e-9);
	synthetic_done(&s);
}

/* A quarter of a step in which 150 ms of weights move: 40 % of the peak as a stage, 100 % of it at work. */
static void time_in_which_weights_move_is_told_apart(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	open_h200(&s);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t at = i * 250 * MS;

		synthetic_begin(&s, at, "step", STROBE_ROLE_STEP);
		synthetic_stage(&s, at, at + 150 * MS, "offload:Net", STROBE_ROLE_OFFLOAD);
		synthetic_begin(&s, at + 150 * MS, "Net", STROBE_ROLE_FORWARD);
		synthetic_attr(&s, "flops_shape", 1);
		synthetic_end(&s, at + 250 * MS);
		synthetic_end(&s, at + 250 * MS);
	}
	synthetic_model(&s, 2 * SECOND);
	w = work_of(&s, "step");
	assert_near(w->time_s, 0.5, 1e-9);
	assert_near(w->moves_s, 0.3, 1e-9);
	assert_near(w->mfu_ratio, 4 * FLOPS / 989.5e12, 1e-9);
	assert_near(w->work_mfu_ratio, 10 * FLOPS / 989.5e12, 1e-9);
	text_holds(&s, "40.0 % of the bf16 rate, floor 200 ms of 500 ms; weights move in 300 ms of it, 99.9 "
		       "% without");
	assert_true(isnan(work_of(&s, "Net")->work_mfu_ratio));
	synthetic_done(&s);
}

/* A stage inside two others has a row for both together, with a rate like theirs; what has no operations has none. */
static void stages_of_one_name_together_have_a_rate(void **state)
{
	const struct sb_same_name *same;
	struct synthetic s;

	(void)state;
	open_h200(&s);
	for (uint64_t i = 0; i < 2; i++) {
		synthetic_begin(&s, i * SECOND, i ? "high noise" : "low noise", 0);
		step(&s, i * SECOND, 500 * MS);
		step(&s, i * SECOND + 500 * MS, 250 * MS);
		synthetic_stage(&s, i * SECOND + 750 * MS, i * SECOND + 800 * MS, "scheduler", 0);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	synthetic_model(&s, 2 * SECOND);
	assert_int_equal(s.model->stages.same_name_count, 3);
	for (size_t i = 0; i < 3; i++) {
		same = &s.model->stages.same_name[i];
		if (!strcmp(same->all.name, "scheduler"))
			assert_true(isnan(same->all.work.flops) && isnan(same->all.work.tflops));
		else
			assert_near(same->all.work.tflops * 1e12, 3 * FLOPS, 1e6); /* 250, 500 and 250 ms */
	}
	synthetic_done(&s);
}

/* ---- inside generations ---- */

/* Two calls of the text encoder, and steps of which the first brings the weights: the rates of all of them are of the second
 * generation, which is the warm one, and so no part takes longer, or does more, than what it is inside of. */
static void generation(struct synthetic *s, uint64_t at, bool cold)
{
	synthetic_begin(s, at, "Pipeline", STROBE_ROLE_GENERATION);
	synthetic_begin(s, at, "text_encode", STROBE_ROLE_TEXT_ENCODE);
	for (uint64_t i = 0; i < 2; i++) {
		synthetic_begin(s, at + i * 200 * MS, "Encoder", STROBE_ROLE_FORWARD);
		synthetic_attr(s, "flops_shape", 1);
		synthetic_end(s, at + i * 200 * MS + (cold ? 200 * MS : 100 * MS));
	}
	synthetic_end(s, at + 400 * MS);
	step(s, at + 400 * MS, SECOND);
	for (uint64_t i = 0; i < 3; i++)
		step(s, at + 1400 * MS + i * 250 * MS, 250 * MS);
	synthetic_end(s, at + 2200 * MS);
}

static void a_part_is_of_the_calls_of_its_generation(void **state)
{
	const struct sb_iterations *loop;
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	open_h200(&s);
	for (uint64_t i = 0; i < 3; i++)
		generation(&s, i * 3 * SECOND, !i);
	synthetic_model(&s, 9 * SECOND);
	w = work_of(&s, "Pipeline");
	assert_int_equal(w->call_count, 2);
	assert_near(w->rate_flops, 12 * FLOPS, 1);
	assert_near(w->time_s, 4.4, 1e-9);
	w = work_of(&s, "text_encode");
	assert_int_equal(w->call_count, 2);
	assert_near(w->rate_flops, 4 * FLOPS, 1);
	w = work_of(&s, "Encoder");
	assert_int_equal(w->call_count, 4); /* not the second of the cold generation */
	assert_near(w->rate_flops, 4 * FLOPS, 1);
	assert_near(w->time_s, 0.4, 1e-9);
	w = work_of(&s, "step");
	assert_int_equal(w->call_count, 6); /* nor the first steps, in which weights come */
	assert_near(w->time_s, 1.5, 1e-9);
	assert_near(w->rate_flops, 6 * FLOPS, 1);
	loop = &s.model->iterations.all[0];
	assert_int_equal(loop->warm.count, 6);
	assert_near(loop->warm.total, 1.5, 1e-9);
	assert_int_equal(s.model->diffusion.warm_step.count, 6);
	assert_near(s.model->diffusion.warm_step.total, 1.5, 1e-9);
	synthetic_done(&s);
}

/* A distilled model's only step is no warm-up of its generation. */
static void the_only_step_of_a_warm_generation_is_warm(void **state)
{
	struct synthetic s;

	(void)state;
	open_h200(&s);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_begin(&s, i * SECOND, "Pipeline", STROBE_ROLE_GENERATION);
		step(&s, i * SECOND, 250 * MS);
		synthetic_end(&s, i * SECOND + 300 * MS);
	}
	synthetic_model(&s, 3 * SECOND);
	assert_int_equal(work_of(&s, "step")->call_count, 2);
	assert_int_equal(s.model->diffusion.warm_step.count, 2);
	synthetic_done(&s);
}

/* A VAE's decode has no operations: the sum around it says beside its number that it is not all, and what its calls are. */
static void a_sum_that_lacks_calls_says_so_beside_it(void **state)
{
	struct synthetic s;

	(void)state;
	open_h200(&s);
	synthetic_begin(&s, 0, "Pipeline", STROBE_ROLE_GENERATION);
	step(&s, 0, SECOND);
	synthetic_stage(&s, SECOND, 2 * SECOND, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_end(&s, 2 * SECOND);
	synthetic_model(&s, 2 * SECOND);
	text_holds(&s, "Pipeline: 98.9 TFLOP in the calls that were counted");
	text_holds(&s, "step: 98.9 TFLOP; ");
	synthetic_done(&s);
}

/* Of one generation alone nothing else is known: its later steps are warm. */
static void inside_a_single_generation_calls_are_judged_by_themselves(void **state)
{
	struct synthetic s;

	(void)state;
	open_h200(&s);
	generation(&s, 0, true);
	synthetic_model(&s, 3 * SECOND);
	assert_string_equal(work_of(&s, "Pipeline")->calls, "cold");
	assert_int_equal(work_of(&s, "step")->call_count, 3);
	assert_int_equal(s.model->iterations.all[0].warm.count, 3);
	synthetic_done(&s);
}

/* ---- what bounds them ---- */

/* Kernels of 10 us, one after the other from the beginning of a step on. */
static void kernels(struct synthetic *s, uint64_t from_ns, uint64_t every_ns, int count)
{
	for (int i = 0; i < count; i++)
		synthetic_kernel(s, "elementwise_kernel", from_ns + (uint64_t)i * every_ns, 10000);
}

/* One line says how near a stage comes to its GPU, what it would take at best, and what of it a compiler saves. */
static void a_traced_stage_says_what_a_compiler_fuses(void **state)
{
	struct synthetic s;

	(void)state;
	open_h200(&s);
	synthetic_gpu_trace(&s, 0, 2 * SECOND);
	synthetic_kernel(&s, "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT", 260 * MS, 140 * MS);
	synthetic_kernel(&s, "elementwise_kernel", 410 * MS, 60 * MS);
	step(&s, 0, 250 * MS);
	step(&s, 250 * MS, 250 * MS);
	step(&s, 500 * MS, 250 * MS);
	synthetic_model(&s, 2 * SECOND);
	text_holds(&s,
		"step: 296.7 TFLOP; 2 warm calls: 395.6 TFLOP/s, MFU 40.0 % of the bf16 rate, floor 200 "
		"ms of 500 "
		"ms; 30 % of its kernels' time is element-wise, which a compiler fuses");
	synthetic_done(&s);
}

/* The trace begins in the second of five steps, which takes ten times as long as the others, for CUPTI's start and what is
 * loaded then: that is the host's time. The others launch small kernels one after the other. */
static void the_first_traced_call_does_not_tell_what_bounds_the_others(void **state)
{
	const struct sb_stage *stage;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_gpu_trace(&s, 100 * MS + 10000, 1305 * MS);
	kernels(&s, 105 * MS, 40000, 2000);
	kernels(&s, 1100 * MS, 40000, 2400);
	kernels(&s, 1200 * MS, 40000, 2400);
	step(&s, 0, 100 * MS);
	step(&s, 100 * MS, 1000 * MS);
	step(&s, 1100 * MS, 100 * MS);
	step(&s, 1200 * MS, 100 * MS);
	step(&s, 1300 * MS, 100 * MS);
	synthetic_model(&s, 2 * SECOND);
	stage = sb_model_stage(s.model, "step");
	assert_true(stage->traced_warm);
	assert_int_equal(stage->traced.count, 2);
	assert_near(stage->traced.busy_s, 0.048, 1e-6);
	assert_string_equal(stage->work.bound, "launch");
	assert_string_equal(stage->work.bound_calls, "warm");
	synthetic_done(&s);
}

static void where_only_cold_calls_were_traced_it_is_said(void **state)
{
	const struct sb_stage *stage;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_gpu_trace(&s, 0, SECOND);
	kernels(&s, 0, 40000, 2400);
	synthetic_stage(&s, 0, 100 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_model(&s, 2 * SECOND);
	stage = sb_model_stage(s.model, "vae_decode");
	assert_false(stage->traced_warm);
	assert_string_equal(stage->work.bound, "launch");
	assert_string_equal(stage->work.bound_calls, "cold");
	text_holds(&s, "vae_decode: bound by launch (by its kernel trace, of cold calls)");
	synthetic_done(&s);
}

/* A decode of six seconds of which the trace saw two: what the GPU did in the rest is not known. */
static void a_call_that_was_traced_in_part_is_not_judged(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_gpu_trace(&s, 0, 2 * SECOND);
	synthetic_gpu_trace(&s, 7 * SECOND, 20 * SECOND);
	kernels(&s, 0, MS, 2000);
	synthetic_stage(&s, 0, 6 * SECOND, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_model(&s, 20 * SECOND);
	assert_int_equal(sb_model_stage(s.model, "vae_decode")->traced.count, 0);
	assert_null(sb_model_stage(s.model, "vae_decode")->work.bound);
	synthetic_done(&s);
}

/* Readings of a second: the first call idles, the four others are at work. */
static void readings_of_the_first_call_do_not_tell(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	const struct sb_stage_work *w;
	struct synthetic s;
	uint32_t schema;

	(void)state;
	open_h200(&s);
	schema = sb_builder_schema(s.b, "gpu_counters", 0, columns, 2);
	for (uint64_t i = 0; i <= 8; i++)
		sb_builder_sample(
			s.b, schema, i * SECOND, i <= 4 ? (double[]){ 3, 1 } : (double[]){ 95, 80 }, 2);
	step(&s, 0, 4 * SECOND);
	for (uint64_t i = 4; i < 8; i++)
		step(&s, i * SECOND, SECOND);
	synthetic_model(&s, 8 * SECOND);
	w = work_of(&s, "step");
	assert_string_equal(w->bound, "tensor");
	assert_int_equal(w->bound_count, 1);
	assert_string_equal(w->bound_calls, "warm");
	assert_near(sb_model_stage(s.model, "step")->counters.percent[SB_COUNTER_SM], 49, 1e-6); /* of all */
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_call_is_in_no_rate),
		cmocka_unit_test(a_stage_called_once_has_a_cold_rate),
		cmocka_unit_test(equal_calls_have_the_rate_they_had),
		cmocka_unit_test(calls_in_which_a_trace_begins_or_ends_are_in_no_rate),
		cmocka_unit_test(of_numbered_stages_the_first_is_cold),
		cmocka_unit_test(time_in_which_weights_move_is_told_apart),
		cmocka_unit_test(stages_of_one_name_together_have_a_rate),
		cmocka_unit_test(a_part_is_of_the_calls_of_its_generation),
		cmocka_unit_test(the_only_step_of_a_warm_generation_is_warm),
		cmocka_unit_test(a_sum_that_lacks_calls_says_so_beside_it),
		cmocka_unit_test(inside_a_single_generation_calls_are_judged_by_themselves),
		cmocka_unit_test(a_traced_stage_says_what_a_compiler_fuses),
		cmocka_unit_test(the_first_traced_call_does_not_tell_what_bounds_the_others),
		cmocka_unit_test(where_only_cold_calls_were_traced_it_is_said),
		cmocka_unit_test(a_call_that_was_traced_in_part_is_not_judged),
		cmocka_unit_test(readings_of_the_first_call_do_not_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
