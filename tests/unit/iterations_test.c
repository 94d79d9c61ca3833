/* Iterations: the statistics by their names, warm-up and outliers told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/panels/panel.h"
#include "format/run_keys.h"
#include "synthetic.h"

static struct sb_model *loop(struct synthetic *s, const uint64_t *ms, size_t count)
{
	uint64_t at = 0;

	synthetic_open(s);
	for (size_t i = 0; i < count; i++) {
		synthetic_begin(s, at, "step", STROBE_ROLE_ITERATION);
		at += ms[i] * MS;
		synthetic_end(s, at);
		at += MS;
	}
	return synthetic_model(s, at);
}

static void near(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-9))
		fail_msg("%.12g is not %.12g", value, expected);
}

/* Section 3, error 15. */
static void the_median_of_an_even_count_is_between_the_two_middle_ones(void **state)
{
	const uint64_t ms[] = { 10, 40, 20, 30 };
	struct synthetic s;
	const struct sb_iterations *it = loop(&s, ms, 4)->iterations.all;

	assert_int_equal(it->all.count, 4);
	near(it->all.p50, 0.025);
	near(it->all.mean, 0.025);
	near(it->all.std, 0.0129099444874); /* of a sample: n - 1 */
	near(it->all.total, 0.100);
	near(it->per_second, 40);
	assert_int_equal(it->warmup_count, 0);
	synthetic_done(&s);
}

/* Four requests at once, each with steps of its own length: read thread by thread they would seem to get slower. */
static void iterations_of_several_threads_are_in_the_order_of_time(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *other;
	const struct sb_iterations *it;
	uint32_t name;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 6; i++)
		synthetic_stage(&s, i * 100 * MS, (i * 100 + 50) * MS, "step", STROBE_ROLE_ITERATION);
	other = sb_builder_thread(s.b, 77, "worker");
	name = sb_builder_name(s.b, "step", NULL);
	for (uint64_t i = 0; i < 6; i++) {
		sb_builder_begin(other, (i * 100 + 10) * MS, name);
		sb_builder_role(other, STROBE_ROLE_ITERATION);
		sb_builder_end(other, (i * 100 + 90) * MS, 0);
	}
	it = synthetic_model(&s, SECOND)->iterations.all;
	assert_int_equal(it->series_count, 12);
	for (size_t i = 0; i < 12; i++)
		near(it->series_s[i], i % 2 ? 0.08 : 0.05);
	near(it->all.last, 0.08);
	synthetic_done(&s);
}

static void slow_first_iterations_are_warm_up_and_stand_apart(void **state)
{
	uint64_t ms[40];
	struct synthetic s;
	const struct sb_iterations *it;

	for (int i = 0; i < 40; i++)
		ms[i] = i == 0 ? 2450 : i == 1 ? 400 : 100 + (uint64_t)(i % 3);
	it = loop(&s, ms, 40)->iterations.all;
	assert_int_equal(it->all.count, 40);
	assert_int_equal(it->warmup_count, 2);
	near(it->warmup_s, 2.85);
	assert_int_equal(it->warm.count, 38);
	assert_true(it->warm.max < 0.103);
	near(it->all.max, 2.45);
	assert_int_equal(it->outlier_count, 0);
	synthetic_done(&s);
}

/* A warm-up of two turns, then six that count; and a loop that turns in the warm-up alone. */
static void turns_in_a_marked_warm_up_are_in_no_statistics(void **state)
{
	struct synthetic s;
	const struct sb_model *m;
	const struct sb_iterations *it;
	uint64_t at = 0;

	synthetic_open(&s);
	for (int round = 0; round < 4; round++) {
		synthetic_begin(&s, at, round ? "iteration" : "warm-up",
			round ? STROBE_ROLE_ITERATION : STROBE_ROLE_WARMUP);
		for (int turn = 0; turn < 2; turn++, at += (round ? 10 : 900) * MS) {
			synthetic_begin(&s, at,
				round  ? "turn"
				: turn ? "probe"
				       : "turn",
				STROBE_ROLE_ITERATION);
			synthetic_end(&s, at + (round ? 10 : 900) * MS);
		}
		synthetic_end(&s, at);
	}
	m = synthetic_model(&s, at);
	assert_int_equal(m->iterations.count, 2);
	it = &m->iterations.all[0];
	assert_string_equal(it->name, "turn");
	assert_int_equal(it->all.count, 6);
	assert_int_equal(it->marked_warmup_count, 1); /* "probe" is in no row at all */
	assert_int_equal(it->warmup_count, 0);
	near(it->all.max, 0.010);
	near(it->per_second, 100);
	assert_string_equal(m->iterations.all[1].name, "iteration");
	synthetic_done(&s);
}

static void a_slow_one_in_the_middle_is_an_outlier_not_a_warm_up(void **state)
{
	uint64_t ms[30];
	struct synthetic s;
	const struct sb_iterations *it;

	for (int i = 0; i < 30; i++)
		ms[i] = i == 17 ? 500 : 100 + (uint64_t)(i % 2);
	it = loop(&s, ms, 30)->iterations.all;
	assert_int_equal(it->warmup_count, 0);
	assert_int_equal(it->outlier_count, 1);
	assert_int_equal(it->outliers[0].index, 17);
	near(it->outliers[0].duration_s, 0.5);
	synthetic_done(&s);
}

static void one_iteration_has_no_deviation(void **state)
{
	const uint64_t ms[] = { 10 };
	struct synthetic s;
	const struct sb_iterations *it = loop(&s, ms, 1)->iterations.all;

	assert_int_equal(it->all.count, 1);
	assert_true(isnan(it->all.std));
	near(it->all.p99, 0.010);
	synthetic_done(&s);
}

static void panel_says(const struct sb_model *m, const char *name, const char *what)
{
	struct sb_text_options options = { .columns = 100 };
	struct sb_buf text = { 0 };

	for (const struct sb_panel *const *panel = sb_panels; *panel; panel++)
		if (!strcmp((*panel)->name, name))
			(*panel)->text(m, &options, &text);
	if (!strstr(sb_buf_text(&text), what))
		fail_msg("no '%s' in\n%s", what, sb_buf_text(&text));
	sb_buf_done(&text);
}

/* Half the steps come from a cache in a tenth of the time: the others are no
 * outliers for that. The first step of a video is no peer, the 22nd is slow. */
static void the_loop_and_the_video_agree_on_slow_steps(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_iterations *it;
	uint64_t at = 0;

	synthetic_open(&s);
	for (int i = 0; i < 40; i++) {
		uint64_t ns = (i == 0 ? 900 : i == 21 ? 400 : i % 2 ? 200 : 20) * MS;

		synthetic_begin(&s, at, "denoise", STROBE_ROLE_STEP);
		synthetic_attr(&s, "step", 100 + i);
		if (i && i % 2 == 0)
			synthetic_attr(&s, "cached", 1);
		synthetic_end(&s, at += ns);
	}
	m = synthetic_model(&s, at);
	it = m->iterations.all;
	assert_int_equal(m->diffusion.slow_step_total, 1);
	assert_int_equal(m->diffusion.slow_steps[0].step, 121);
	assert_int_equal(it->outlier_count, 1);
	assert_int_equal(it->outlier_listed, 1);
	assert_int_equal(it->outliers[0].index, 21);
	assert_int_equal(m->diffusion.slow_steps[0].ordinal, 21);
	near(it->outliers[0].duration_s, 0.4);
	panel_says(m, "iterations", "slowest: number 22, ");
	panel_says(m, "video", "slow: number 22 (step_index 121) at ");
	near(it->outliers[0].t_s, m->diffusion.slow_steps[0].t_s);
	near(it->outliers[0].peer_s, m->diffusion.slow_steps[0].peer_s);
	synthetic_done(&s);
}

/* Steps 5 and 8 hold the ends of a trace, 6 is inside it, and they take twice as long; 11 is slow by itself.
 * So it is with the iterations beside them. */
static void what_strobes_trace_slows_is_not_the_programs_slowness(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 20; i++) {
		uint64_t at = (uint64_t)i * SECOND, long_ns = (i == 5 || i == 8 || i == 11 ? 200 : 100) * MS;

		synthetic_step(&s, at, at + (i == 6 ? 200 * MS : long_ns), i, 0);
		synthetic_stage(&s, at + 300 * MS, at + 300 * MS + long_ns, "tile", STROBE_ROLE_ITERATION);
	}
	synthetic_gpu_trace(&s, 5 * SECOND + 90 * MS, 8 * SECOND + 10 * MS);
	synthetic_gpu_trace(&s, 5 * SECOND + 390 * MS, 8 * SECOND + 310 * MS);
	m = synthetic_model(&s, 20 * SECOND);
	assert_int_equal(m->diffusion.trace_edge_steps, 4);
	assert_int_equal(m->diffusion.slow_step_total, 1);
	assert_int_equal(m->diffusion.slow_steps[0].step, 11);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(m->iterations.all[i].outlier_count, 1);
		assert_int_equal(m->iterations.all[i].outliers[0].index, 11);
	}
	synthetic_done(&s);
}

static void put_text(struct synthetic *s, const char *key, uint64_t begin_ns, uint64_t end_ns)
{
	char text[64];

	snprintf(text, sizeof text, "%llu %llu", (unsigned long long)sb_builder_ticks_at(s->b, begin_ns),
		(unsigned long long)sb_builder_ticks_at(s->b, end_ns));
	sb_builder_meta_string(s->b, SB_META_RUN, key, text);
}

/* A watch for slow moments traced all steps and kept the slow one, 11; step 5 met the set-up of the counters. */
static void a_step_that_was_caught_is_slow_and_one_that_met_a_set_up_is_not(void **state)
{
	struct strobe_attr kept = { "gpu_trace_kept", STROBE_TYPE_INT, { .i = 1 } };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 20; i++) {
		uint64_t at = (uint64_t)i * SECOND;

		synthetic_step(&s, at, at + (i == 5 || i == 11 ? 200 : 100) * MS, i, 0);
		synthetic_stage(&s, at + 300 * MS, at + (i == 5 || i == 11 ? 500 : 400) * MS, "tile",
			STROBE_ROLE_ITERATION);
	}
	synthetic_gpu_trace(&s, 10 * SECOND, 11 * SECOND + 200 * MS);
	sb_builder_meta(s.b, SB_META_RUN, &kept);
	put_text(&s, SB_RUN_GPU_SETUP, 4 * SECOND + 500 * MS, 5 * SECOND + 350 * MS);
	m = synthetic_model(&s, 20 * SECOND);
	assert_int_equal(m->diffusion.trace_edge_steps, 1);
	assert_int_equal(m->diffusion.slow_step_total, 1);
	assert_int_equal(m->diffusion.slow_steps[0].step, 11);
	assert_int_equal(m->iterations.all[1].outlier_count, 1);
	assert_int_equal(m->iterations.all[1].outliers[0].index, 11);
	synthetic_done(&s);
}

/* Steps of a video of 33 frames take three times as long as those of one of 9; one of these is slow. */
static void steps_have_peers_in_generations_of_their_size(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t at = 0;

	synthetic_open(&s);
	for (int video = 0; video < 4; video++) {
		synthetic_begin(&s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", video % 2 ? 33 : 9);
		for (int i = 0; i < 6; i++) {
			uint64_t ns = (video % 2 ? 300 : video == 2 && i == 4 ? 200 : 100) * MS;

			synthetic_step(&s, at, at + ns, i, 0);
			at += ns;
		}
		synthetic_end(&s, at);
	}
	m = synthetic_model(&s, at);
	assert_int_equal(m->diffusion.slow_step_total, 1);
	assert_int_equal(m->diffusion.slow_steps[0].ordinal, 16);
	near(m->diffusion.slow_steps[0].peer_s, 0.1);
	synthetic_done(&s);
}

/* Killed in its third video of four steps: the last step has its peers in the videos before. */
static void a_step_of_a_video_that_never_ended_has_peers(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t at = 0;

	synthetic_open(&s);
	for (int video = 0; video < 3; video++) {
		synthetic_begin(&s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", 33);
		for (int i = 0; i < 4; i++) {
			uint64_t ns = (video == 2 && i == 3 ? 500 : 100) * MS;

			synthetic_step(&s, at, at + ns, i, 0);
			at += ns;
		}
		if (video < 2)
			synthetic_end(&s, at);
	}
	m = synthetic_model(&s, at);
	assert_int_equal(m->diffusion.slow_step_total, 1);
	assert_int_equal(m->diffusion.slow_steps[0].ordinal, 11);
	synthetic_done(&s);
}

/* One loop, one median: 1.3 times is not slow, 1.6 times is. */
static void slow_is_half_as_long_again_as_the_median(void **state)
{
	uint64_t ms[20];
	struct synthetic s;
	const struct sb_iterations *it;

	for (int i = 0; i < 20; i++)
		ms[i] = i == 10 ? 130 : i == 15 ? 160 : 100;
	it = loop(&s, ms, 20)->iterations.all;
	assert_int_equal(it->outlier_count, 1);
	assert_int_equal(it->outliers[0].index, 15);
	synthetic_done(&s);
}

static void steps_inside_steps_and_unfinished_ones_are_no_iterations(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_begin(&s, i * SECOND, "step", STROBE_ROLE_STEP);
		synthetic_stage(&s, i * SECOND, i * SECOND + 400 * MS, "step", STROBE_ROLE_STEP); /* CFG */
		synthetic_end(&s, (i + 1) * SECOND);
	}
	synthetic_begin(&s, 3 * SECOND, "step", STROBE_ROLE_STEP);
	m = synthetic_model(&s, 4 * SECOND);
	assert_int_equal(m->iterations.all[0].all.count, 3);
	assert_int_equal(m->diffusion.steps, 3);
	assert_int_equal(sb_model_stage(m, "step")->count, 3);
	near(m->diffusion.step.mean, 1);
	near(m->iterations.all[0].all.mean, 1);
	synthetic_done(&s);
}

/* The picture of a long loop keeps its peaks; its statistics must not be made of them. */
static void statistics_of_a_long_loop_are_not_made_of_its_peaks(void **state)
{
	static uint64_t ms[2040];
	struct synthetic s;
	const struct sb_iterations *it;
	double peaks = 0, sample = 0;

	for (int i = 0; i < 2040; i++)
		ms[i] = 100 + (uint64_t)(i * 7919 % 41);
	it = loop(&s, ms, 2040)->iterations.all;
	assert_true(it->series_count < 2040 && it->sample_count == it->series_count);
	for (size_t i = 0; i < it->series_count; i++) {
		peaks += it->series_s[i] / (double)it->series_count;
		sample += it->sample_s[i] / (double)it->sample_count;
	}
	assert_true(fabs(sample / it->all.mean - 1) < 0.01);
	assert_true(peaks / it->all.mean > 1.03);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_median_of_an_even_count_is_between_the_two_middle_ones),
		cmocka_unit_test(iterations_of_several_threads_are_in_the_order_of_time),
		cmocka_unit_test(slow_first_iterations_are_warm_up_and_stand_apart),
		cmocka_unit_test(turns_in_a_marked_warm_up_are_in_no_statistics),
		cmocka_unit_test(statistics_of_a_long_loop_are_not_made_of_its_peaks),
		cmocka_unit_test(a_slow_one_in_the_middle_is_an_outlier_not_a_warm_up),
		cmocka_unit_test(one_iteration_has_no_deviation),
		cmocka_unit_test(the_loop_and_the_video_agree_on_slow_steps),
		cmocka_unit_test(a_step_that_was_caught_is_slow_and_one_that_met_a_set_up_is_not),
		cmocka_unit_test(a_step_of_a_video_that_never_ended_has_peers),
		cmocka_unit_test(steps_have_peers_in_generations_of_their_size),
		cmocka_unit_test(what_strobes_trace_slows_is_not_the_programs_slowness),
		cmocka_unit_test(slow_is_half_as_long_again_as_the_median),
		cmocka_unit_test(steps_inside_steps_and_unfinished_ones_are_no_iterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
