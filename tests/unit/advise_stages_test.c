/* Advice on stages: which one dominates, what stands beside the work, what to leave alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/bound.h"
#include "advise/advise.h"
#include "format/run_keys.h"
#include "synthetic.h"

static void time_spent_beside_the_work_is_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 40 * SECOND, "load_model", 0);
	synthetic_stage(&s, 40 * SECOND, 52 * SECOND, "read_video", 0);
	synthetic_begin(&s, 52 * SECOND, "compile", STROBE_ROLE_COMPILE);
	synthetic_end(&s, 64 * SECOND);
	for (uint64_t i = 0; i < 3; i++)
		synthetic_stage(
			&s, (64 + 4 * i) * SECOND, (68 + 4 * i) * SECOND, "compile", STROBE_ROLE_COMPILE);
	synthetic_begin(&s, 76 * SECOND, "offload:vae", STROBE_ROLE_OFFLOAD);
	synthetic_attr(&s, "bytes", 12000000000ll);
	synthetic_end(&s, 82 * SECOND);
	sb_builder_count(s.main, sb_builder_name(s.b, "graph_breaks", NULL), 7);
	m = synthetic_model(&s, 110 * SECOND);
	assert_near(finding(m, "model_load")->value, 40.0 / 110 * 100, 1e-6);
	assert_near(finding(m, "data_loading")->saves_s, 12, 1e-6);
	assert_near(finding(m, "recompiles")->value, 3, 0);
	assert_near(finding(m, "recompiles")->saves_s, 12, 1e-6);
	assert_near(finding(m, "compile_time")->saves_s, 24 - 12, 1e-6); /* beside the recompiles */
	assert_near(finding(m, "graph_breaks")->value, 7, 0);
	assert_near(finding(m, "offload")->saves_s, 6, 1e-6);
	assert_non_null(strstr(finding(m, "offload")->evidence, "12.0 GB at 2.00 GB/s"));
	assert_near(finding(m, "unattributed")->value, 28.0 / 110 * 100, 1e-6);
	synthetic_done(&s);
}

static void batches_are_counted_without_the_samplers_calls(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_stage(
			&s, 10 * i * SECOND, (10 * i + 1) * SECOND, "data_loading_sampler", STROBE_ROLE_DATA);
		synthetic_stage(
			&s, (10 * i + 1) * SECOND, (10 * i + 10) * SECOND, "data_loading", STROBE_ROLE_DATA);
	}
	synthetic_stage(&s, 30 * SECOND, 31 * SECOND, "data_loading_end", STROBE_ROLE_DATA);
	m = synthetic_model(&s, 31 * SECOND);
	assert_non_null(
		strstr(finding(m, "data_loading")->evidence, "31.00 s in 3 calls; mostly 'data_loading'"));
	synthetic_done(&s);
}

/* The interpreter's start, then an import, then the program's own work. */
static void the_start_up_is_not_unattributed_work(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 10 * SECOND, 11 * SECOND, "import b", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 11 * SECOND, 20 * SECOND, "f", 0);
	m = synthetic_model(&s, 21 * SECOND);
	assert_near(m->stages.unattributed_s, 11, 1e-6);
	assert_near(m->stages.startup_unattributed_s, 10, 1e-6);
	assert_null(finding(m, "unattributed"));
	synthetic_done(&s);
}

static void findings_are_ranked_by_the_seconds_they_could_save(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 60 * SECOND, "denoise", 0);
	synthetic_stage(&s, 60 * SECOND, 80 * SECOND, "offload:t5", STROBE_ROLE_OFFLOAD);
	synthetic_stage(&s, 80 * SECOND, 95 * SECOND, "load_video", 0);
	m = synthetic_model(&s, 95 * SECOND);
	assert_true(m->advice.count >= 3);
	for (size_t i = 1; i < m->advice.count; i++)
		assert_true(m->advice.all[i - 1].rank_s >= m->advice.all[i].rank_s);
	assert_string_equal(m->advice.all[0].id, "offload");
	assert_string_equal(m->advice.all[1].id, "data_loading");
	assert_string_equal(m->advice.all[2].id, "stage_dominates"); /* a tenth of it: no gain was computed */
	synthetic_done(&s);
}

static void the_innermost_stage_that_dominates_is_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	int named = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "pipeline", 0);
	synthetic_begin(&s, 0, "inference", 0);
	synthetic_stage(&s, 0, 80 * SECOND, "unet", 0);
	synthetic_end(&s, 90 * SECOND);
	synthetic_end(&s, 100 * SECOND);
	m = synthetic_model(&s, 100 * SECOND);
	for (size_t i = 0; i < m->advice.count; i++)
		named += strcmp(m->advice.all[i].id, "stage_dominates") == 0;
	assert_int_equal(named, 1);
	assert_string_equal(finding(m, "stage_dominates")->stage, "unet");
	synthetic_done(&s);
}

static void calls_that_hardly_overlap_are_not_said_to_run_at_once(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *other;
	const struct sb_model *m;

	synthetic_open(&s);
	other = sb_builder_thread(s.b, 2000, "other");
	synthetic_stage(&s, 0, 80 * SECOND, "unet", 0);
	sb_builder_begin(other, 79 * SECOND, sb_builder_name(s.b, "unet", NULL));
	sb_builder_end(other, 82 * SECOND, 0);
	m = synthetic_model(&s, 100 * SECOND);
	assert_true(sb_model_stage(m, "unet")->at_once_mean > 1.01);
	assert_null(strstr(finding(m, "stage_dominates")->evidence, "at once"));
	synthetic_done(&s);
}

static int dominating(const struct sb_model *m, const char *stage)
{
	int named = 0;

	for (size_t i = 0; i < m->advice.count; i++)
		named += strcmp(m->advice.all[i].id, "stage_dominates") == 0 &&
			 (!stage || strcmp(m->advice.all[i].stage, stage) == 0);
	return named;
}

static void a_stage_inside_steps_is_named_instead_of_the_block_around_them(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "block", STROBE_ROLE_BLOCK);
	synthetic_begin(&s, 0, "step", STROBE_ROLE_STEP);
	synthetic_stage(&s, 0, 80 * SECOND, "Denoiser", 0);
	synthetic_end(&s, 85 * SECOND);
	synthetic_end(&s, 90 * SECOND);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(dominating(m, NULL), 1);
	assert_int_equal(dominating(m, "Denoiser"), 1);
	synthetic_done(&s);
}

static bool left_alone(const struct sb_model *m, const char *stage)
{
	for (size_t i = 0; i < m->summary.leave_alone_count; i++) {
		if (strcmp(m->summary.leave_alone[i].name, stage) == 0)
			return true;
	}
	return false;
}

static void a_short_video_after_long_imports_is_not_left_alone(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 98 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 98 * SECOND, 98 * SECOND + MS, "import json", STROBE_ROLE_IMPORT);
	synthetic_stage(
		&s, 98 * SECOND + MS, 98 * SECOND + 2 * MS, "strobe: counting FLOPs", STROBE_ROLE_PROFILER);
	synthetic_begin(&s, 99 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 99 * SECOND, 99 * SECOND + 990 * MS, "inpaint", 0);
	synthetic_stage(&s, 99 * SECOND + 990 * MS, 100 * SECOND, "write", 0);
	synthetic_end(&s, 100 * SECOND);
	assert_false(left_alone(synthetic_model(&s, 100 * SECOND), "inpaint"));
	assert_true(left_alone(s.model, "write"));
	assert_false(left_alone(s.model, "import json"));
	assert_false(left_alone(s.model, "strobe: counting FLOPs"));
	assert_string_equal(s.model->stages.bottlenecks[0], "inpaint");
	/* A small stage that others wait for is not both named and to be left alone. */
	assert_true(s.model->advice.count > 0);
	s.model->advice.all[0].priority = "medium";
	s.model->advice.all[0].where.stage = "write";
	s.model->summary.leave_alone_count = 0;
	sb_bound_leave_alone(s.model);
	assert_false(left_alone(s.model, "write"));
	synthetic_done(&s);
}

static void what_comes_before_the_pipeline_is_not_its_bottleneck(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "import torch", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 0, 33 * SECOND, "import numpy", 0); /* inside an import: one too */
	synthetic_end(&s, 35 * SECOND);
	synthetic_stage(&s, 35 * SECOND, 67 * SECOND, "weights", STROBE_ROLE_LOAD);
	synthetic_begin(&s, 67 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 67 * SECOND, 99 * SECOND, "denoise", 0);
	synthetic_end(&s, 100 * SECOND);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(dominating(m, NULL), 1);
	assert_int_equal(dominating(m, "denoise"), 1);
	assert_non_null(finding(m, "model_load")); /* has a rule of its own */
	assert_string_equal(m->stages.bottlenecks[0], "denoise");
	assert_int_equal(m->stages.bottleneck_count, 1);
	assert_true(sb_model_stage(m, "denoise")->bottleneck);
	synthetic_done(&s);
}

/* On a GPU that is busy all the time the host waits there. */
static void the_time_around_the_steps_is_no_bottleneck(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, 6 * SECOND, "between_steps", 0);
	synthetic_stage(&s, 6 * SECOND, 9 * SECOND, "transformer", 0);
	synthetic_end(&s, 9 * SECOND);
	m = synthetic_model(&s, 9 * SECOND);
	assert_string_equal(m->stages.bottlenecks[0], "transformer");
	assert_false(sb_model_stage(m, "between_steps")->bottleneck);
	synthetic_done(&s);
}

static void a_run_that_only_loads_has_its_load_as_bottleneck(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 98 * SECOND, "load_model", STROBE_ROLE_LOAD);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(dominating(m, NULL), 0);
	assert_string_equal(m->stages.bottlenecks[0], "load_model");
	synthetic_done(&s);
}

/* Six videos of eight steps, two of them slow; what comes after the steps waits for the GPU, so that all videos but
 * one take the same time. Three traced kernels make it a GPU's run. */
static const struct sb_advice *slow_steps_when_a_video_takes(struct synthetic *s, uint64_t longer_ms)
{
	uint64_t begin = 0;

	synthetic_open(s);
	for (uint64_t i = 0; i < 6; i++) {
		uint64_t took = (100 + (i == 3 ? longer_ms : 0)) * MS;

		synthetic_begin(s, begin, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0, at = begin; k < 8; k++) {
			uint64_t step = (k == 4 || k == 6 ? 9 : 3) * MS;

			synthetic_step(s, at, at + step, (int64_t)k, 0);
			at += step;
		}
		synthetic_end(s, begin + took);
		begin += took;
	}
	return finding(synthetic_model(s, begin), "slow_steps");
}

static void steps_that_make_no_video_longer_are_no_finding(void **state)
{
	struct synthetic s;

	assert_null(slow_steps_when_a_video_takes(&s, 0));
	assert_true(s.model->diffusion.slow_step_total > 0); /* they are listed */
	synthetic_done(&s);
	assert_non_null(slow_steps_when_a_video_takes(&s, 50));
	assert_near(finding(s.model, "slow_steps")->saves_s, 0.05, 1e-6);
	synthetic_done(&s);
}

/* A cache that computes every fourth step is as it should be. */
static void slow_steps_that_are_many_are_another_kind_of_step(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = slow_steps_when_a_video_takes(&s, 50);

	assert_string_equal(f->priority, "low");
	assert_non_null(strstr(f->cause, "a second kind of step"));
	synthetic_done(&s);
}

/* Seven seconds of reading before each of two videos of a second. */
static void input_that_takes_longer_than_the_videos_is_told_in_times_of_them(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t at = i * 8 * SECOND;

		synthetic_stage(&s, at, at + 7 * SECOND, "read_frames", STROBE_ROLE_DATA);
		synthetic_begin(&s, at + 7 * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_step(&s, at + 7 * SECOND, at + 8 * SECOND, 0, 0);
		synthetic_end(&s, at + 8 * SECOND);
	}
	m = synthetic_model(&s, 16 * SECOND);
	assert_string_equal(m->summary.bound_reason,
		"reading and preparing input takes 7.0 x as long as the generations");
	assert_string_equal(s.model->summary.bound_by, "input"); /* nothing waits for the disk */
	synthetic_done(&s);
}

/* Four videos of eight steps; a callback took 300 ms after one of them, and a watch caught it. */
static void a_pause_that_was_caught_is_told_though_no_step_is_slow(void **state)
{
	uint64_t at = 0, caught = 0;
	const struct sb_advice *f;
	struct synthetic s;
	char text[200];

	synthetic_open(&s);
	for (uint64_t i = 0; i < 32; i++) {
		if (i % 8 == 0)
			synthetic_begin(&s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_step(&s, at, at + 10 * MS, (int64_t)(i % 8), 0);
		caught = i == 20 ? at : caught;
		at += (i == 20 ? 310 : 11) * MS;
		if (i % 8 == 7)
			synthetic_end(&s, at);
	}
	snprintf(text, sizeof text, "step pause %llu %llu 0 0 %llu ",
		(unsigned long long)sb_builder_ticks_at(s.b, caught),
		(unsigned long long)sb_builder_ticks_at(s.b, caught + 310 * MS),
		(unsigned long long)(sb_builder_ticks_at(s.b, 11 * MS) - sb_builder_ticks_at(s.b, 0)));
	sb_builder_meta_string(s.b, SB_META_RUN, SB_RUN_SLOW_MOMENT, text);
	f = finding(synthetic_model(&s, at), "slow_steps");
	assert_int_equal(s.model->diffusion.slow_step_total, 0);
	assert_non_null(f);
	assert_string_equal(f->issue, "1 pause between steps is much longer than the others");
	assert_near(f->saves_s, 0.299, 0.001);
	assert_near(f->where.from_s, (double)caught / 1e9, 0.001);
	synthetic_done(&s);
}

/* One slow step of sixteen, caught, with a stage in it that no other step has. */
static void a_slow_step_that_was_caught_says_what_took_longer_in_it(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;
	char moment[160];
	uint64_t at = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	for (int64_t i = 0; i < 16; i++) {
		synthetic_begin(&s, at, "step", STROBE_ROLE_STEP);
		if (i == 9) {
			synthetic_begin(&s, at, "save_state", 0);
			synthetic_end(&s, at + 4 * SECOND);
		}
		at += (i == 9 ? 5 : 1) * SECOND;
		synthetic_end(&s, at);
	}
	synthetic_end(&s, at);
	snprintf(moment, sizeof moment, "step clock %llu %llu %llu %llu %llu",
		(unsigned long long)sb_builder_ticks_at(s.b, 9 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s.b, 14 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s.b, 8 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s.b, 9 * SECOND),
		(unsigned long long)(sb_builder_ticks_at(s.b, 9 * SECOND) -
				     sb_builder_ticks_at(s.b, 8 * SECOND)));
	sb_builder_meta_string(s.b, SB_META_RUN, SB_RUN_SLOW_MOMENT, moment);
	f = finding(synthetic_model(&s, at), "slow_steps");
	assert_string_equal(f->cause,
		"in the slowest one, beside a normal one, video > save_state took 4.00 s "
		"longer, 1 instead of 0 calls");
	synthetic_done(&s);
}

/* Where to start is said of the largest stage only, and steps are one. */
static void a_stage_beside_a_larger_one_is_not_where_to_start(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 6; i++)
		synthetic_stage(&s, i * SECOND, (i + 1) * SECOND, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, 6 * SECOND, 10 * SECOND, "vae_decode", 0);
	m = synthetic_model(&s, 10 * SECOND);
	assert_string_equal(finding(m, "stage_dominates")->stage, "vae_decode");
	assert_null(strstr(finding(m, "stage_dominates")->suggestion, "no other stage"));
	synthetic_done(&s);
}

static void the_largest_stage_is_where_to_start(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 3 * SECOND, "text_encode", 0);
	synthetic_stage(&s, 3 * SECOND, 10 * SECOND, "vae_decode", 0);
	m = synthetic_model(&s, 10 * SECOND);
	assert_non_null(strstr(finding(m, "stage_dominates")->suggestion, "no other stage can save more"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_spent_beside_the_work_is_named),
		cmocka_unit_test(the_start_up_is_not_unattributed_work),
		cmocka_unit_test(batches_are_counted_without_the_samplers_calls),
		cmocka_unit_test(findings_are_ranked_by_the_seconds_they_could_save),
		cmocka_unit_test(the_innermost_stage_that_dominates_is_named),
		cmocka_unit_test(calls_that_hardly_overlap_are_not_said_to_run_at_once),
		cmocka_unit_test(a_stage_inside_steps_is_named_instead_of_the_block_around_them),
		cmocka_unit_test(a_short_video_after_long_imports_is_not_left_alone),
		cmocka_unit_test(what_comes_before_the_pipeline_is_not_its_bottleneck),
		cmocka_unit_test(the_time_around_the_steps_is_no_bottleneck),
		cmocka_unit_test(a_run_that_only_loads_has_its_load_as_bottleneck),
		cmocka_unit_test(steps_that_make_no_video_longer_are_no_finding),
		cmocka_unit_test(slow_steps_that_are_many_are_another_kind_of_step),
		cmocka_unit_test(input_that_takes_longer_than_the_videos_is_told_in_times_of_them),
		cmocka_unit_test(a_pause_that_was_caught_is_told_though_no_step_is_slow),
		cmocka_unit_test(a_slow_step_that_was_caught_says_what_took_longer_in_it),
		cmocka_unit_test(a_stage_beside_a_larger_one_is_not_where_to_start),
		cmocka_unit_test(the_largest_stage_is_where_to_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
