/* Will it fit: from the sizes of earlier runs, and only from those. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/fit.h"
#include "synthetic.h"

#define GIB (1024.0 * MIB)
#define RUNS 8

static struct sb_facts *runs[RUNS];
static size_t run_count;

/* Denoising holds more than the VAE up to some size: the limit changes. */
static double denoise_bytes(double frames, double width, double height)
{
	return 30 * GIB + 250 * frames * width * height;
}

static double vae_bytes(double frames, double width, double height)
{
	return 10 * GIB + 900 * frames * width * height;
}

static double time_of(double frames, double width, double height)
{
	double tokens = frames * width * height / 1024;

	return 2 + 1e-4 * tokens + 1e-9 * tokens * tokens;
}

/* A run of one size, as its report has it. */
static void add_run(const char *model, double frames, double width, double height)
{
	struct sb_pair attributes[] = { { "frames", STROBE_TYPE_INT, (int64_t)frames, frames, NULL },
		{ "width", STROBE_TYPE_INT, (int64_t)width, width, NULL },
		{ "height", STROBE_TYPE_INT, (int64_t)height, height, NULL } };
	double a = denoise_bytes(frames, width, height), b = vae_bytes(frames, width, height);
	double time_s = time_of(frames, width, height);
	struct sb_size_stage stages[] = { { "denoise", 0.9 * time_s, a, NAN, NAN },
		{ "vae_decode", 0.05 * time_s, b, NAN, NAN } };
	struct sb_size size = { attributes, 3, 1, time_s, fmax(a, b), fmax(a, b) + GIB,
		fmax(a, b) + 1.5 * GIB, NAN, false, stages, 2, 1, NAN };
	struct sb_sizes_panel panel = { model, "NVIDIA H200", 140 * GIB, NAN, &size, 1, true };
	struct sb_facts *f = sb_facts_new("run");

	f->start_real_ns = run_count + 1; /* which tells them apart */
	f->host = "host";
	assert_int_equal(sb_facts_take_sizes(f, &panel), 0);
	runs[run_count++] = f;
}

static struct sb_fit *fit(double frames, double width, double height, double capacity, const char *gpu)
{
	const char *const keys[] = { "frames", "width", "height" };
	const double values[] = { frames, width, height };
	struct sb_fit_request r = { keys, values, 3, capacity, gpu, gpu != NULL };
	struct sb_fit *out = NULL;

	assert_int_equal(sb_fit(runs[0], (const struct sb_facts *const *)runs, run_count, &r, &out), 0);
	return out;
}

static int forget_runs(void **state)
{
	for (size_t i = 0; i < run_count; i++)
		sb_facts_free(runs[i]);
	run_count = 0;
	return 0;
}

static void add_seven(void)
{
	add_run("Wan, 1B parameters", 33, 480, 320);
	add_run("Wan, 1B parameters", 81, 480, 320);
	add_run("Wan, 1B parameters", 33, 832, 480);
	add_run("Wan, 1B parameters", 49, 832, 480);
	add_run("Wan, 1B parameters", 81, 832, 480);
	add_run("Wan, 1B parameters", 49, 640, 640);
	add_run("Wan, 1B parameters", 81, 1024, 576);
}

static void a_held_back_size_is_met_and_its_limit_named(void **state)
{
	struct sb_fit *f;

	add_seven();
	f = fit(121, 1280, 720, NAN, NULL);
	assert_int_equal(f->more_count, 0);
	assert_true(fabs(f->memory.predicted / vae_bytes(121, 1280, 720) - 1) < 0.01);
	assert_true(fabs(f->time.predicted / time_of(121, 1280, 720) - 1) < 0.01);
	assert_true(f->memory.by_stage); /* the largest of two lines is no line */
	assert_string_equal(f->stages[0].stage, "vae_decode");
	assert_near(f->context_bytes, 0.5 * GIB, 1);
	assert_int_equal(f->verdict, SB_FIT_FITS);
	assert_true(f->extrapolates_ratio > 2 && f->extrapolates_ratio < 3);
	sb_fit_free(f);
}

static void a_smaller_gpu_has_no_room_and_a_largest_size(void **state)
{
	double most = (80 * GIB - 0.5 * GIB - 10 * GIB) / 900 / 1280 / 720;
	struct sb_fit *f;

	add_seven();
	f = fit(121, 1280, 720, 80 * GIB, "H100");
	assert_int_equal(f->verdict, SB_FIT_TOO_LARGE);
	assert_true(isnan(f->time.predicted)); /* of another GPU memory alone is known */
	assert_string_equal(f->largest[0].key, "frames");
	assert_true(f->largest[0].value <= most && f->largest[0].value > most * 0.8);
	assert_true(fmod(f->largest[0].value - 33, 8) == 0); /* as the known ones: 33, 49, 81, 121 */
	assert_string_equal(f->largest[1].key, "width x height");
	assert_true(vae_bytes(121, f->largest[1].value, f->largest[1].other_value) < 80 * GIB);
	sb_fit_free(f);
}

static void too_few_sizes_predict_nothing_and_say_how_many_are_missing(void **state)
{
	struct sb_fit *f;

	add_run("Wan, 1B parameters", 33, 832, 480);
	add_run("Wan, 1B parameters", 81, 832, 480);
	f = fit(121, 832, 480, NAN, NULL);
	assert_int_equal(f->more_count, 1);
	assert_true(isnan(f->memory.predicted) && isnan(f->time.predicted));
	assert_int_equal(f->verdict, SB_FIT_UNKNOWN);
	sb_fit_free(f);
	f = fit(81, 1280, 720, NAN, NULL); /* no run had another width or height */
	assert_int_equal(f->more_count, 3);
	assert_non_null(strstr(f->more, "width, height"));
	assert_true(isnan(f->memory.predicted));
	sb_fit_free(f);
	f = fit(81, 832, 480, NAN, NULL); /* measured: no function is needed */
	assert_near(f->memory.predicted, fmax(denoise_bytes(81, 832, 480), vae_bytes(81, 832, 480)), 1);
	sb_fit_free(f);
}

static void other_models_do_not_count(void **state)
{
	struct sb_fit *f;

	add_run("Wan, 1B parameters", 33, 832, 480);
	add_run("Wan, 14B parameters", 49, 832, 480);
	add_run("Wan, 14B parameters", 81, 832, 480);
	f = fit(121, 832, 480, NAN, NULL);
	assert_int_equal(f->size_count, 1);
	assert_int_equal(f->more_count, 2);
	sb_fit_free(f);
}

static void a_smaller_size_that_ran_out_settles_it(void **state)
{
	struct sb_fit *f;

	add_seven();
	runs[6]->sizes.all[0].out_of_memory = true;
	runs[6]->sizes.all[0].count = 0;
	f = fit(121, 1280, 720, NAN, NULL);
	assert_int_equal(f->verdict, SB_FIT_TOO_LARGE);
	assert_non_null(f->ran_out);
	sb_fit_free(f);
	f = fit(49, 832, 480, NAN, NULL);
	assert_int_equal(f->verdict, SB_FIT_FITS);
	sb_fit_free(f);
}

static void a_size_that_no_generation_carries_is_refused(void **state)
{
	const char *const keys[] = { "tokens" };
	const double values[] = { 4096 };
	struct sb_fit_request r = { keys, values, 1, NAN, NULL, false };
	struct sb_fit *out = NULL;

	add_seven();
	assert_true(sb_fit(runs[0], NULL, 0, &r, &out) < 0);
	assert_null(out);
}

/* Its readings grow faster than the peaks, within the noise: the stage's own function would pass that of the whole. */
static void a_stage_never_needs_more_than_the_whole(void **state)
{
	struct sb_fit *f;

	add_seven();
	for (size_t i = 0; i < run_count; i++) {
		struct sb_size_stage *vae = &runs[i]->sizes.all[0].stages[1];
		double frames = runs[i]->sizes.all[0].attributes[0].f;

		vae->allocated_bytes *= 0.9 + frames / 200;
		vae->total_s *= 10 + frames;
	}
	f = fit(121, 1280, 720, NAN, NULL);
	assert_true(f->stage_count == 2);
	for (size_t i = 0; i < f->stage_count; i++) {
		assert_true(f->stages[i].memory_bytes <= f->memory.predicted);
		assert_true(f->stages[i].time_s <= f->time.predicted);
	}
	sb_fit_free(f);
}

/* ---- warm and first generations ---- */

#define FIRST_EXTRA_S 6.0

/* The size was the first of its process, and of these alone it has a time; or a warm one, too. */
static void make_first(size_t run, bool warm_too)
{
	struct sb_size *s = &runs[run]->sizes.all[0];

	s->first_s = s->generation_s + FIRST_EXTRA_S;
	s->warm_count = warm_too;
	if (!warm_too)
		s->generation_s = s->first_s;
}

static void warm_times_alone_make_the_function_and_what_a_first_one_adds_is_said(void **state)
{
	struct sb_fit *f;

	add_seven();
	make_first(0, true);
	make_first(1, false);
	f = fit(97, 832, 480, NAN, NULL);
	assert_string_equal(f->time_of, "warm");
	assert_true(fabs(f->time.predicted / time_of(97, 832, 480) - 1) < 0.01);
	assert_near(f->first.extra_s, FIRST_EXTRA_S, 0.1);
	assert_int_equal(f->first.count, 2);
	sb_fit_free(f);
}

/* One run made three sizes, the others one each: few are warm, and the function is that of warm ones still. */
static void first_times_count_without_what_they_take_more(void **state)
{
	struct sb_fit *f;

	add_seven();
	for (size_t i = 3; i < 7; i++)
		make_first(i, false);
	f = fit(97, 832, 480, NAN, NULL);
	assert_string_equal(f->time_of, "warm");
	assert_true(fabs(f->time.predicted / time_of(97, 832, 480) - 1) < 0.1);
	assert_true(f->time.low <= time_of(97, 832, 480) && f->time.high >= time_of(97, 832, 480));
	assert_near(f->first.extra_s, FIRST_EXTRA_S, 0.1 * FIRST_EXTRA_S);
	sb_fit_free(f);
}

static void runs_of_one_generation_each_predict_a_first_one(void **state)
{
	struct sb_fit *f;

	add_seven();
	for (size_t i = 0; i < 7; i++)
		make_first(i, false);
	f = fit(97, 832, 480, NAN, NULL);
	assert_string_equal(f->time_of, "first");
	assert_true(fabs(f->time.predicted / (time_of(97, 832, 480) + FIRST_EXTRA_S) - 1) < 0.01);
	assert_true(isnan(f->first.extra_s));
	sb_fit_free(f);
}

/* ---- what a run says of its sizes ---- */

static void reading(struct synthetic *s, uint64_t t_ns, int64_t allocated, int64_t peak)
{
	sb_builder_snapshot(s->b, t_ns, "strobe.memory.device", 0, allocated, allocated + 10 * MIB, peak);
}

static void generation(struct synthetic *s, uint64_t t_ns, int64_t frames)
{
	synthetic_begin(s, t_ns, "video", STROBE_ROLE_GENERATION);
	synthetic_attr(s, "num_frames", frames);
	synthetic_attr(s, "seed", (int64_t)(t_ns / SECOND));
	synthetic_stage(s, t_ns + SECOND, t_ns + 3 * SECOND, "denoise", 0);
	synthetic_end(s, t_ns + 4 * SECOND);
}

/* num_videos_per_prompt=3: the generation counts 99 frames, each video has 33. */
static void frames_are_those_of_one_video(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 99);
	synthetic_attr(&s, "videos", 3);
	synthetic_end(&s, 3 * SECOND);
	m = synthetic_model(&s, 4 * SECOND);
	assert_int_equal(m->sizes.count, 1);
	for (size_t i = 0; i < m->sizes.all[0].attribute_count; i++)
		assert_int_equal(m->sizes.all[0].attributes[i].i,
			strcmp(m->sizes.all[0].attributes[i].key, "frames") ? 3 : 33);
	assert_int_equal(m->sizes.all[0].attribute_count, 2);
	synthetic_done(&s);
}

static void a_run_says_what_each_size_needed(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	reading(&s, SECOND / 2, 100 * MIB, 100 * MIB);
	generation(&s, SECOND, 49);
	reading(&s, 3 * SECOND, 400 * MIB, 500 * MIB);
	reading(&s, 5 * SECOND + 1, 100 * MIB, 500 * MIB);
	generation(&s, 6 * SECOND, 81);
	reading(&s, 10 * SECOND + 1, 100 * MIB, 800 * MIB);
	generation(&s, 11 * SECOND, 33); /* after a larger one: the allocator's maximum does not tell */
	reading(&s, 15 * SECOND + 1, 100 * MIB, 800 * MIB);
	m = synthetic_model(&s, 16 * SECOND);
	assert_int_equal(m->sizes.count, 3);
	assert_int_equal(m->sizes.all[0].attribute_count, 1); /* a seed is no size */
	assert_string_equal(m->sizes.all[0].attributes[0].key, "frames");
	assert_near(m->sizes.all[0].allocated_bytes, 500.0 * MIB, 1);
	assert_near(m->sizes.all[1].allocated_bytes, 800.0 * MIB, 1);
	assert_true(isnan(m->sizes.all[2].allocated_bytes));
	assert_near(m->sizes.all[1].generation_s, 4, 1e-6);
	assert_true(m->sizes.all[0].first_s > 0 && m->sizes.all[0].warm_count == 0);
	assert_true(isnan(m->sizes.all[1].first_s) && m->sizes.all[1].warm_count == 1);
	assert_string_equal(m->sizes.all[0].stages[0].stage, "denoise");
	assert_near(m->sizes.all[0].stages[0].total_s, 2, 1e-6);
	assert_near(m->sizes.all[0].stages[0].allocated_bytes, 500.0 * MIB, 1);
	synthetic_done(&s);
}

/* The first of three generations takes ten times as long. The report keeps it apart, and so do its stages. */
static void the_first_generation_of_a_process_is_apart(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t_ns = 0;

	synthetic_open(&s);
	for (int i = 0; i < 3; i++) {
		uint64_t took_ns = i ? SECOND : 10 * SECOND;

		synthetic_begin(&s, t_ns, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "num_frames", 49);
		synthetic_stage(&s, t_ns, t_ns + took_ns, "denoise", 0);
		synthetic_end(&s, t_ns += took_ns);
		t_ns += SECOND;
	}
	m = synthetic_model(&s, t_ns);
	assert_int_equal(m->sizes.count, 1);
	assert_int_equal(m->sizes.all[0].count, 3);
	assert_int_equal(m->sizes.all[0].warm_count, 2);
	assert_near(m->sizes.all[0].generation_s, 1, 1e-6);
	assert_near(m->sizes.all[0].first_s, 10, 1e-6);
	assert_near(m->sizes.all[0].stages[0].total_s, 1, 1e-6);
	synthetic_done(&s);
}

/* No sample fell into the peak: the kernel's own maximum has it. What rose before a generation is not its own. */
static void the_host_s_maximum_counts_where_it_rose_in_a_generation(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_snapshot(s.b, SECOND - MS, "strobe.memory.host", -1, 100 * MIB, -1, 300 * MIB);
	generation(&s, SECOND, 49);
	sb_builder_snapshot(s.b, 5 * SECOND + 1, "strobe.memory.host", -1, 100 * MIB, -1, 700 * MIB);
	sb_builder_snapshot(s.b, 6 * SECOND - MS, "strobe.memory.host", -1, 100 * MIB, -1, 900 * MIB);
	generation(&s, 6 * SECOND, 33);
	sb_builder_snapshot(s.b, 10 * SECOND + 1, "strobe.memory.host", -1, 100 * MIB, -1, 900 * MIB);
	m = synthetic_model(&s, 11 * SECOND);
	assert_int_equal(m->sizes.count, 2);
	assert_near(m->sizes.all[0].rss_bytes, 700.0 * MIB, 1);
	assert_near(m->sizes.all[0].stages[0].rss_bytes, 700.0 * MIB, 1);
	assert_true(isnan(m->sizes.all[1].rss_bytes));
	synthetic_done(&s);
}

/* Both stages lie between two readings: the maximum rose in the one that took most of the time. */
static void a_rise_is_that_of_one_stage(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	reading(&s, SECOND / 2, 100 * MIB, 100 * MIB);
	synthetic_begin(&s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "num_frames", 49);
	synthetic_stage(&s, SECOND, SECOND + 200 * MS, "denoise", 0);
	synthetic_stage(&s, SECOND + 200 * MS, 3 * SECOND, "vae_decode", 0);
	synthetic_end(&s, 3 * SECOND);
	reading(&s, 2 * SECOND, 400 * MIB, 900 * MIB);
	reading(&s, 3 * SECOND + 1, 100 * MIB, 900 * MIB);
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(m->sizes.all[0].stages[1].stage, "vae_decode");
	assert_near(m->sizes.all[0].stages[1].allocated_bytes, 900.0 * MIB, 1);
	assert_true(isnan(m->sizes.all[0].stages[0].allocated_bytes));
	synthetic_done(&s);
}

/* One answer: what is too far to tell is not a size that fits. */
static void the_largest_is_never_farther_than_can_be_told(void **state)
{
	struct sb_fit *f;

	add_seven();
	f = fit(500, 832, 480, 4000 * GIB, "a large one");
	assert_int_equal(f->verdict, SB_FIT_TIGHT);
	assert_true(f->extrapolates_ratio > SB_FIT_FARTHEST);
	for (size_t i = 0; i < f->largest_count; i++)
		if (!strcmp(f->largest[i].key, "frames")) {
			assert_true(f->largest[i].open);
			assert_true(f->largest[i].value < 500);
		}
	sb_fit_free(f);
}

/* Two pipelines of one class and one run name: their weights tell them apart, and what is left out is said. */
static void runs_of_another_model_are_left_out_and_said(void **state)
{
	struct sb_fit *f;

	add_run("WanPipeline, 12025 MB of weights", 33, 480, 320);
	add_run("WanPipeline, 12025 MB of weights", 81, 480, 320);
	add_run("WanPipeline, 31000 MB of weights", 49, 480, 320);
	f = fit(33, 480, 320, NAN, NULL);
	assert_int_equal(f->run_count, 2);
	assert_int_equal(f->other_count, 1);
	assert_string_equal(f->other_model, "WanPipeline, 31000 MB of weights");
	sb_fit_free(f);
}

/* frames: as the report says, of one video or of all. */
static void add_videos(double frames, int64_t videos, bool of_one)
{
	struct sb_pair attributes[] = { { "frames", STROBE_TYPE_INT, (int64_t)frames, frames, NULL },
		{ "videos", STROBE_TYPE_INT, videos, (double)videos, NULL } };
	struct sb_size size = { attributes, 2, 1, frames, frames * GIB, frames * GIB, frames * GIB, NAN,
		false, NULL, 0, 1, NAN };
	struct sb_sizes_panel panel = { "wan", "NVIDIA H200", 140 * GIB, NAN, &size, 1, of_one };
	struct sb_facts *f = sb_facts_new("run");

	f->start_real_ns = run_count + 1;
	f->host = "host";
	assert_int_equal(sb_facts_take_sizes(f, &panel), 0);
	runs[run_count++] = f;
}

/* 33 frames of two videos each were remembered as 66. */
static void sizes_with_frames_added_up_are_left_out_and_said(void **state)
{
	const char *const keys[] = { "frames" };
	const double values[] = { 33 };
	struct sb_fit_request r = { keys, values, 1, NAN, NULL, false };
	struct sb_fit *f = NULL;

	add_videos(33, 2, true);
	add_videos(66, 2, false);
	add_videos(81, 1, false); /* the same either way */
	assert_int_equal(sb_fit(runs[0], (const struct sb_facts *const *)runs, run_count, &r, &f), 0);
	assert_int_equal(f->summed_count, 1);
	assert_int_equal(f->run_count, 2);
	assert_int_equal(f->size_count, 2);
	sb_fit_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_those_of_one_video),
		cmocka_unit_test_teardown(the_largest_is_never_farther_than_can_be_told, forget_runs),
		cmocka_unit_test_teardown(sizes_with_frames_added_up_are_left_out_and_said, forget_runs),
		cmocka_unit_test_teardown(runs_of_another_model_are_left_out_and_said, forget_runs),
		cmocka_unit_test_teardown(a_held_back_size_is_met_and_its_limit_named, forget_runs),
		cmocka_unit_test_teardown(a_smaller_gpu_has_no_room_and_a_largest_size, forget_runs),
		cmocka_unit_test_teardown(
			too_few_sizes_predict_nothing_and_say_how_many_are_missing, forget_runs),
		cmocka_unit_test_teardown(other_models_do_not_count, forget_runs),
		cmocka_unit_test_teardown(a_smaller_size_that_ran_out_settles_it, forget_runs),
		cmocka_unit_test_teardown(a_size_that_no_generation_carries_is_refused, forget_runs),
		cmocka_unit_test_teardown(a_stage_never_needs_more_than_the_whole, forget_runs),
		cmocka_unit_test_teardown(
			warm_times_alone_make_the_function_and_what_a_first_one_adds_is_said, forget_runs),
		cmocka_unit_test_teardown(first_times_count_without_what_they_take_more, forget_runs),
		cmocka_unit_test_teardown(runs_of_one_generation_each_predict_a_first_one, forget_runs),
		cmocka_unit_test(a_run_says_what_each_size_needed),
		cmocka_unit_test(the_first_generation_of_a_process_is_apart),
		cmocka_unit_test(a_rise_is_that_of_one_stage),
		cmocka_unit_test(the_host_s_maximum_counts_where_it_rose_in_a_generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
