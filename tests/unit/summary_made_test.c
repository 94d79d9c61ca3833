/* The head of the one-screen summary: what was made, by one pipeline or several. */
#include "summary_text.h"

static void pipeline(struct synthetic *s, uint64_t t, const char *name, int frames)
{
	synthetic_begin(s, t, name, STROBE_ROLE_GENERATION);
	if (frames)
		synthetic_attr(s, "frames", frames);
	synthetic_begin(s, t, "denoise", 0);
	synthetic_stage(s, t, t + 6 * SECOND, "transformer", 0);
	synthetic_end(s, t + 6 * SECOND);
	synthetic_stage(s, t + 6 * SECOND, t + 6 * SECOND + 10 * MS, "postprocess", 0);
	synthetic_end(s, t + 7 * SECOND);
}

static void stages_of_one_name_in_two_pipelines_are_said_once(void **state)
{
	struct synthetic s;
	const char *first;
	char *text;

	synthetic_open(&s);
	pipeline(&s, 0, "WanPipeline", 9);
	pipeline(&s, 7 * SECOND, "LTXPipeline", 9);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "    transformer                          12.00 s   85.7 %        n/a      2");
	first = strstr(text, "  transformer ");
	assert_null(strstr(first + 1, "  transformer "));
	assert_has(text, "Not worth tuning: postprocess (0.1 % of the run)\n");
	free(text);
	synthetic_done(&s);
}

static void videos_of_a_batch_are_counted(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	pipeline(&s, 0, "LTXPipeline", 9);
	synthetic_begin(&s, 7 * SECOND, "LTXPipeline", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 36);
	synthetic_attr(&s, "videos", 4);
	synthetic_end(&s, 9 * SECOND);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "2 generations, 5 videos, 45 frames in 9.00 s");
	assert_has(text, "per generation");
	free(text);
	synthetic_done(&s);
}

static void latents_are_no_video(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	pipeline(&s, 0, "WanPipeline", 9);
	synthetic_begin(&s, 7 * SECOND, "WanPipeline", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "videos", 0);
	synthetic_begin(&s, 7 * SECOND, "inner", STROBE_ROLE_GENERATION); /* says nothing of what it made */
	synthetic_end(&s, 8 * SECOND);
	synthetic_end(&s, 9 * SECOND);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "2 generations, 1 video, 9 frames in 9.00 s");
	free(text);
	synthetic_done(&s);
}

static void images(struct synthetic *s, uint64_t begin_s, int64_t count)
{
	synthetic_begin(s, begin_s * SECOND, "FluxPipeline", STROBE_ROLE_GENERATION);
	synthetic_attr(s, "images", count);
	synthetic_end(s, (begin_s + 1) * SECOND);
}

static void images_are_counted_beside_videos(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	images(&s, 0, 1);
	images(&s, 1, 1);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "2 images in 2.00 s");
	assert_has(text, "per image");
	free(text);
	synthetic_done(&s);
	synthetic_open(&s);
	images(&s, 0, 4);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "1 generation, 4 images in 1.00 s");
	free(text);
	synthetic_done(&s);
	synthetic_open(&s);
	pipeline(&s, 0, "LTXPipeline", 9);
	images(&s, 8, 4);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "2 generations, 1 video, 4 images, 9 frames in ");
	free(text);
	synthetic_done(&s);
}

static void as_many_videos_as_generations_beside_images_are_said(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "LTXPipeline", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 18);
	synthetic_attr(&s, "videos", 2);
	synthetic_end(&s, 2 * SECOND);
	images(&s, 8, 4);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "2 generations, 2 videos, 4 images, 18 frames in ");
	free(text);
	synthetic_done(&s);
}

/* Two pipelines in one generation: the first makes latents, the second four videos of them. */
static void latents_that_another_pipeline_decodes_are_its_videos(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "request", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 0, "base", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "videos", 0);
	synthetic_end(&s, SECOND);
	synthetic_begin(&s, SECOND, "refiner", STROBE_ROLE_GENERATION);
	synthetic_attr(&s, "frames", 36);
	synthetic_attr(&s, "videos", 4);
	synthetic_end(&s, 2 * SECOND);
	synthetic_end(&s, 2 * SECOND);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "1 generation, 4 videos, 36 frames in ");
	free(text);
	synthetic_done(&s);
}

static void steps_that_are_all_cached_but_the_first_are_said(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "WanPipeline", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < 6; i++) {
		synthetic_begin(&s, i * SECOND, "denoise", STROBE_ROLE_STEP);
		synthetic_attr(&s, "step", (int64_t)i);
		synthetic_attr(&s, "cached", i > 0);
		synthetic_end(&s, i * SECOND + (i ? SECOND / 4 : SECOND));
	}
	synthetic_end(&s, 6 * SECOND);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "\n    5 cached (83 %), 250 ms each; first 1.00 s\n");
	free(text);
	synthetic_done(&s);
}

/* Two workers decode 60 frames in 2 s of the run while a video is made: outside of it is nothing left of that. */
static void what_workers_decode_is_said_with_its_rate(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *main_thread;
	char *text;

	synthetic_open(&s);
	pipeline(&s, 0, "LTXPipeline", 9);
	main_thread = s.main;
	for (uint32_t i = 0; i < 2; i++) {
		s.main = sb_builder_thread(s.b, 2000 + i, "worker");
		synthetic_begin(&s, (1 + i) * SECOND, "video_decode", 0);
		synthetic_attr(&s, "frames", 30);
		synthetic_end(&s, (2 + i) * SECOND);
	}
	s.main = main_thread;
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "\nBeside: video_decode of 60 frames in 2.00 s on 2 threads (30.00 frames/s)\n");
	free(text);
	synthetic_done(&s);
}

static void what_has_no_frames_is_no_video(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	pipeline(&s, 0, "StableDiffusionXLPipeline", 0);
	synthetic_begin(&s, 7 * SECOND, "StableDiffusionXLPipeline", STROBE_ROLE_GENERATION);
	synthetic_step(&s, 7 * SECOND, 8 * SECOND, 0, 0);
	synthetic_text(&s, "error", "ValueError");
	synthetic_end(&s, 9 * SECOND);
	synthetic_model(&s, 14 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "1 generation (and 1 failed), 1 step in 9.00 s");
	assert_has(text, "1 of 2 generations failed: ValueError");
	free(text);
	synthetic_done(&s);
}

static void weights_that_hardly_move_have_no_rate(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "load", STROBE_ROLE_LOAD);
	synthetic_attr(&s, "bytes", 1000000);
	synthetic_end(&s, SECOND);
	synthetic_begin(&s, SECOND, "LTXPipeline", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, SECOND, "offload:vae", STROBE_ROLE_OFFLOAD);
	synthetic_attr(&s, "bytes", 1000000);
	synthetic_end(&s, 2 * SECOND);
	synthetic_end(&s, 9 * SECOND);
	synthetic_model(&s, 9 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "Outside: model load 1.00 s, ");
	assert_has(text, "offload:vae");
	assert_null(strstr(text, "offload in all")); /* its row says it */
	assert_null(strstr(text, "GB/s"));
	free(text);
	synthetic_done(&s);
}

/* The transformer is fetched in its call, for 3 s, and sends the text encoder away meanwhile; the VAE for 1 s before its decode. */
static void offload_inside_of_other_stages_is_added_up(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "WanPipeline", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 0, "denoise", STROBE_ROLE_DENOISE);
	synthetic_begin(&s, 0, "transformer", 0);
	synthetic_begin(&s, 0, "offload:transformer", STROBE_ROLE_OFFLOAD);
	synthetic_stage(&s, SECOND, 2 * SECOND, "offload:text_encoder", STROBE_ROLE_OFFLOAD);
	synthetic_end(&s, 3 * SECOND);
	synthetic_end(&s, 5 * SECOND);
	synthetic_end(&s, 6 * SECOND);
	synthetic_stage(&s, 6 * SECOND, 7 * SECOND, "offload:vae", STROBE_ROLE_OFFLOAD);
	synthetic_stage(&s, 7 * SECOND, 8 * SECOND, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_end(&s, 8 * SECOND);
	text = summary_of(&s, synthetic_model(&s, 9 * SECOND), NULL);
	assert_has(text, "  offload in all 4.00 s (50.0 %), of which in denoise 3.00 s\n");
	free(text);
	synthetic_done(&s);
}

/* Two videos of four steps: the first with guidance, the second without. */
static void guidance_in_some_steps_is_said(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 8; i++) {
		uint64_t t = i * SECOND;

		if (i % 4 == 0)
			synthetic_begin(&s, t, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(&s, t, "denoise", STROBE_ROLE_STEP);
		synthetic_stage(&s, t + 10 * MS, t + 400 * MS, "transformer", STROBE_ROLE_FORWARD);
		if (i < 4)
			synthetic_stage(&s, t + 410 * MS, t + 800 * MS, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(&s, t + 900 * MS);
		if (i % 4 == 3)
			synthetic_end(&s, t + SECOND);
	}
	synthetic_model(&s, 8 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "(8 steps, 1.5 calls each)");
	free(text);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guidance_in_some_steps_is_said),
		cmocka_unit_test(stages_of_one_name_in_two_pipelines_are_said_once),
		cmocka_unit_test(videos_of_a_batch_are_counted),
		cmocka_unit_test(latents_are_no_video),
		cmocka_unit_test(as_many_videos_as_generations_beside_images_are_said),
		cmocka_unit_test(latents_that_another_pipeline_decodes_are_its_videos),
		cmocka_unit_test(images_are_counted_beside_videos),
		cmocka_unit_test(steps_that_are_all_cached_but_the_first_are_said),
		cmocka_unit_test(what_workers_decode_is_said_with_its_rate),
		cmocka_unit_test(what_has_no_frames_is_no_video),
		cmocka_unit_test(weights_that_hardly_move_have_no_rate),
		cmocka_unit_test(offload_inside_of_other_stages_is_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
