/* Generations of synthetic recordings: which count, what each took, what lies outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/summary.h"
#include "report/summary.h"
#include "report/text.h"
#include "synthetic.h"

/* A prompt that failed after a moment, one that was there already: they took no video's time. */
static void what_made_no_video_is_not_in_the_times_of_videos(void **state)
{
	static const char *const whys[] = { NULL, "error", "cached", NULL };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t end = i * 10 * SECOND + (whys[i] ? SECOND / 100 : 8 * SECOND);

		synthetic_begin(&s, i * 10 * SECOND, "prompt", STROBE_ROLE_GENERATION);
		if (whys[i])
			synthetic_attr(&s, whys[i], 1);
		synthetic_end(&s, end);
	}
	m = synthetic_model(&s, 40 * SECOND);
	assert_int_equal(m->generations.total, 4);
	assert_int_equal(m->generations.time.count, 2);
	assert_near(m->generations.time.p50, 8, 1e-9);
	assert_string_equal(m->generations.all[1].state, "failed");
	assert_string_equal(m->generations.all[2].state, "cached");
	synthetic_done(&s);
}

/* An exception came out of the video's first step: no frames, no frames a second. */
static void a_video_that_failed_made_no_frames(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 81);
	synthetic_begin(&s, MS, "denoise", STROBE_ROLE_STEP);
	synthetic_end(&s, MS + 1000);
	synthetic_attr(&s, "error", 1);
	synthetic_end(&s, 2 * MS);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->diffusion.frames, -1);
	assert_true(isnan(m->diffusion.fps) && isnan(m->summary.fps_wall));
	assert_int_equal(m->generations.all[0].frames, -1);
	synthetic_done(&s);
}

/* Videos of 10 s with so many steps of 1 s; 20 frames leave each that has its last step. */
static void video_of(struct synthetic *s, uint64_t begin_s, int steps, bool fails)
{
	synthetic_begin(s, begin_s * SECOND, "video", STROBE_ROLE_GENERATION);
	for (int i = 0; i < steps; i++)
		synthetic_step(
			s, (begin_s + (uint64_t)i) * SECOND, (begin_s + (uint64_t)i + 1) * SECOND, i, 0);
	synthetic_attr(s, "width", fails ? 33 : 832);
	synthetic_attr(s, "height", 480);
	if (fails) {
		synthetic_begin(s, (begin_s + 9) * SECOND, "transformer", 0);
		synthetic_text(s, "error", "RuntimeError");
		synthetic_end(s, (begin_s + 10) * SECOND);
		synthetic_text(s, "error_message", "no room");
		synthetic_text(s, "error_file", "/home/me/make.py");
		synthetic_attr(s, "error_line", 12);
		synthetic_text(s, "error", "RuntimeError");
	} else {
		sb_builder_count(s->main, sb_builder_name(s->b, "frames", NULL), 20);
	}
	synthetic_end(s, (begin_s + 10) * SECOND);
}

static void a_video_that_failed_says_why_and_is_in_no_rate(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	video_of(&s, 0, 4, false);
	video_of(&s, 10, 2, true);
	video_of(&s, 20, 6, false);
	m = synthetic_model(&s, 30 * SECOND);
	assert_int_equal(m->summary.generation_count, 2);
	assert_int_equal(m->summary.failed_count, 1);
	assert_int_equal(m->summary.unfinished_count, 0);
	assert_string_equal(m->generations.all[1].error_place, "/home/me/make.py:12");
	assert_string_equal(m->summary.failure, "RuntimeError: no room (make.py:12) in transformer");
	assert_int_equal(m->diffusion.unrated_count, 1);
	assert_near(m->summary.fps_wall, 40 / 20.0, 1e-9);
	assert_near(m->diffusion.fps, 40 / 10.0, 1e-9);
	assert_int_equal(sb_report_summary(m, NULL, &text), 0);
	assert_non_null(strstr(
		sb_buf_text(&text), "2 videos (and 1 failed), 40 frames 832x480, 12 steps in 30.00 s"));
	assert_non_null(strstr(sb_buf_text(&text),
		"\n1 of 3 videos failed: RuntimeError: no room (make.py:12) in transformer\n"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* Memory runs out in the decode, and the program goes on with the next video; another is decoded again, in tiles. */
static void a_video_whose_decode_failed_and_was_caught_is_in_no_rate(void **state)
{
	static const uint64_t frames[] = { 10, 40000, 10 };
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t at = i * 10 * SECOND;

		synthetic_begin(&s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", (int64_t)frames[i]);
		for (int decode = 0; decode < (i == 2 ? 2 : 1); decode++) {
			synthetic_begin(
				&s, at + (uint64_t)decode * SECOND, "vae_decode", STROBE_ROLE_VAE_DECODE);
			if (i && !decode)
				synthetic_text(&s, "error", "OutOfMemoryError");
			synthetic_end(&s, at + (uint64_t)decode * SECOND + SECOND);
		}
		synthetic_end(&s, at + (i == 1 ? SECOND : 5 * SECOND));
	}
	m = synthetic_model(&s, 30 * SECOND);
	assert_null(m->generations.all[0].state);
	assert_string_equal(m->generations.all[1].state, "failed");
	assert_string_equal(m->generations.all[1].failure, "OutOfMemoryError in vae_decode");
	assert_null(m->generations.all[2].state);
	assert_int_equal(m->generations.time.count, 2);
	assert_int_equal(m->diffusion.frames, 20);
	assert_near(m->summary.fps_wall, 20 / 10.0, 1e-9);
	synthetic_done(&s);
}

static void videos_with_different_numbers_of_steps_have_a_range(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	video_of(&s, 0, 4, false);
	video_of(&s, 10, 6, false);
	video_of(&s, 20, 2, true); /* it was to have more */
	m = synthetic_model(&s, 30 * SECOND);
	assert_int_equal(m->diffusion.steps_per_chain, 6);
	assert_int_equal(m->diffusion.steps_per_chain_min, 4);
	assert_int_equal(sb_report_text(m, NULL, &text), 0);
	assert_non_null(strstr(sb_buf_text(&text), "12 steps, 4 to 6 per video"));
	assert_non_null(strstr(
		sb_buf_text(&text), "(failed)\n    RuntimeError: no room (make.py:12) in transformer\n"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* A crash: the frames a video was to have are not frames it made. */
static void an_unfinished_video_has_no_frames_but_those_counted(void **state)
{
	struct sb_cut cut = { .has_to = true, .to_ns = 15 * (int64_t)SECOND };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 2; i++) {
		synthetic_begin(&s, i * 10 * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", 80);
		if (!i)
			synthetic_end(&s, 10 * SECOND);
	}
	m = synthetic_model(&s, 12 * SECOND);
	assert_int_equal(m->diffusion.frames, 80);
	assert_int_equal(m->generations.total, 2);
	assert_int_equal(m->generations.all[1].frames, -1);
	assert_true(m->generations.all[1].open);
	assert_int_equal(m->generations.time.count, 1);
	assert_near(m->generations.time.mean, 10, 1e-9);
	assert_near(m->summary.generation_s, 12, 1e-9);
	synthetic_done(&s);

	synthetic_open(&s);
	for (uint64_t i = 0; i < 2; i++) {
		synthetic_begin(&s, i * 10 * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", 80);
		synthetic_end(&s, (i + 1) * 10 * SECOND);
	}
	m = synthetic_part(&s, 20 * SECOND, &cut);
	assert_int_equal(m->diffusion.frames, 80);
	assert_true(m->generations.all[1].cut);
	assert_int_equal(m->generations.time.count, 1);
	synthetic_done(&s);
}

static void generation(struct synthetic *s, uint64_t at, int frames)
{
	uint32_t name = synthetic_begin(s, at, "generate", STROBE_ROLE_GENERATION);

	synthetic_attr(s, "frames", frames);
	synthetic_attr(s, "width", 832);
	synthetic_attr(s, "height", 480);
	synthetic_stage(s, at, at + SECOND, "text_encode", 0);
	synthetic_begin(s, at + SECOND, "offload:text_encoder", STROBE_ROLE_OFFLOAD);
	synthetic_attr(s, "bytes", 4000000000ll);
	synthetic_end(s, at + 3 * SECOND);
	synthetic_begin(s, at + 3 * SECOND, "denoise", 0);
	synthetic_attr(s, "latent_frames", 21);
	for (int i = 0; i < 5; i++)
		synthetic_step(s, at + (3 + i) * SECOND, at + (4 + i) * SECOND, i, 0);
	synthetic_end(s, at + 8 * SECOND);
	synthetic_begin(s, at + 8 * SECOND, "vae_decode", 0);
	synthetic_attr(s, "tiles", 12);
	synthetic_attr(s, "frames", frames);
	synthetic_end(s, at + 9 * SECOND);
	sb_builder_end(s->main, at + 10 * SECOND, name);
}

/* One of no length that touches another is a generation; one inside another is the same one. */
static void a_generation_of_no_length_beside_another_counts(void **state)
{
	static const struct {
		uint64_t begin_s, end_s;
	} beside[] = { { 10, 20 }, { 20, 20 }, { 20, 30 }, { 30, 30 } };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
		synthetic_begin(&s, beside[i].begin_s * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_end(&s, beside[i].end_s * SECOND);
	}
	synthetic_begin(&s, 40 * SECOND, "session", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 40 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_end(&s, 40 * SECOND);
	synthetic_begin(&s, 50 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_end(&s, 50 * SECOND);
	synthetic_end(&s, 50 * SECOND);
	m = synthetic_model(&s, 60 * SECOND);
	assert_int_equal(m->generations.total, 5);
	synthetic_done(&s);
}

static void generations_have_their_own_rates_and_the_rest_stands_apart(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 4 * SECOND, "imports", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 4 * SECOND, 9 * SECOND, "load", STROBE_ROLE_LOAD);
	generation(&s, 10 * SECOND, 80);
	generation(&s, 20 * SECOND, 40);
	m = synthetic_model(&s, 31 * SECOND);
	assert_int_equal(m->generations.total, 2);
	assert_false(m->generations.whole_run);
	assert_near(m->generations.all[0].fps, 8, 1e-9);
	assert_near(m->generations.all[1].fps, 4, 1e-9);
	assert_int_equal(m->generations.all[1].steps, 5);
	assert_near(m->generations.all[0].denoise_s, 5, 1e-9);
	assert_near(m->generations.all[0].vae_s, 1, 1e-9);
	assert_int_equal(m->diffusion.frames, 120);
	assert_int_equal(m->diffusion.frames_source, SB_FRAMES_GENERATION);
	assert_int_equal(m->diffusion.latent_frames, 42); /* never frames */
	assert_int_equal(m->diffusion.tiles, 24);
	assert_near(sb_rate_find(m, "denoise")->fps_wall, 12, 1e-9);
	assert_near(sb_rate_find(m, "denoise_vae")->fps_wall, 10, 1e-9);
	assert_near(sb_rate_find(m, "end_to_end")->fps_wall, 6, 1e-9);
	assert_near(sb_rate_find(m, "end_to_end")->compute_s, 14, 1e-9); /* text 2, denoise 10, VAE 2 */
	assert_near(m->summary.generation_s, 20, 1e-9);
	assert_near(m->summary.outside_s, 11, 1e-9);
	assert_int_equal(m->summary.width, 832);
	/* the split adds up to the generations' wall time */
	assert_near(m->diffusion.denoise_s, 10, 1e-9);
	assert_near(m->diffusion.vae_s, 2, 1e-9);
	assert_near(m->diffusion.text_encode_s, 2, 1e-9);
	assert_near(m->diffusion.offload_s, 4, 1e-9);
	assert_near(m->diffusion.unattributed_s, 2, 1e-9);
	assert_near(m->diffusion.other_s, 0, 1e-9);
	assert_int_equal(m->diffusion.offload_count, 1);
	assert_near(m->diffusion.offloads[0].gb_per_s, 2, 1e-9);
	synthetic_done(&s);
}

static void a_generation_marked_twice_is_one(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "profile_session", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, MS, "WanPipeline", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 16);
	synthetic_end(&s, 900 * MS);
	synthetic_end(&s, SECOND);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->generations.total, 1);
	assert_string_equal(m->generations.all[0].name, "profile_session");
	assert_int_equal(m->generations.all[0].frames, 16);
	synthetic_done(&s);
}

/* Two requests at once on two threads: 20 frames each in 10 s are 4 frames/s of
 * throughput, 2 each. */
static void generations_that_overlap_share_the_wall_time(void **state)
{
	struct sb_stream_writer *other;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	other = sb_builder_thread(s.b, 2000, "worker");
	synthetic_begin(&s, 0, "request", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 20);
	synthetic_step(&s, SECOND, 2 * SECOND, 0, 0);
	synthetic_end(&s, 10 * SECOND);
	sb_builder_begin(other, 0, sb_builder_name(s.b, "request", NULL));
	sb_builder_role(other, STROBE_ROLE_GENERATION);
	sb_builder_attr(other, SB_NAME_FRAMES, 20);
	sb_builder_end(other, 10 * SECOND, 0);
	m = synthetic_model(&s, 12 * SECOND);
	assert_int_equal(m->generations.total, 2);
	assert_near(m->generations.union_s, 10, 1e-9);
	assert_near(m->generations.time.total, 20, 1e-9);
	assert_near(m->generations.all[0].fps, 2, 1e-9);
	assert_near(m->summary.fps_wall, 4, 1e-9);
	assert_near(m->summary.outside_s, 2, 1e-9);
	/* a step belongs to the request of its own thread */
	assert_int_equal(m->generations.all[0].steps + m->generations.all[1].steps, 0);
	synthetic_done(&s);
}

/* No whole number of 64 bits; the sanitizers see whether it is taken for one. */
static void a_size_past_64_bits_stays_a_float(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	sb_builder_attr_float(s.main, sb_builder_name(s.b, "height", NULL), 5.61334e+112);
	synthetic_end(&s, SECOND);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->sizes.count, 1);
	assert_int_equal(m->sizes.all[0].attributes[0].type, STROBE_TYPE_FLOAT);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_made_no_video_is_not_in_the_times_of_videos),
		cmocka_unit_test(a_video_that_failed_made_no_frames),
		cmocka_unit_test(a_video_that_failed_says_why_and_is_in_no_rate),
		cmocka_unit_test(a_video_whose_decode_failed_and_was_caught_is_in_no_rate),
		cmocka_unit_test(videos_with_different_numbers_of_steps_have_a_range),
		cmocka_unit_test(an_unfinished_video_has_no_frames_but_those_counted),
		cmocka_unit_test(generations_have_their_own_rates_and_the_rest_stands_apart),
		cmocka_unit_test(a_generation_marked_twice_is_one),
		cmocka_unit_test(generations_that_overlap_share_the_wall_time),
		cmocka_unit_test(a_generation_of_no_length_beside_another_counts),
		cmocka_unit_test(a_size_past_64_bits_stays_a_float),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
