/* What the results that are written cost, and what a thread for it would save. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <string.h>

enum { TID = 1000, WORKER = 1001 };

/* Frames are saved after the pipeline has returned: in no stage, in no generation. So many samples of a tenth of a second
 * after `videos` videos of a second, all of them on one thread. */
static const struct sb_advice *said_on(struct synthetic *s, uint32_t tid, const char *id, const char *inner,
	uint64_t videos, uint64_t samples)
{
	struct sb_builder_sample sample = { .tid = tid, .weight_us = 100000 };
	uint32_t names[2], lines[] = { 500, 88 };

	synthetic_open(s);
	if (tid != TID)
		s->main = sb_builder_thread(s->b, tid, "worker");
	for (uint64_t i = 0; i < videos; i++)
		synthetic_stage(s, i * SECOND, (i + 1) * SECOND, "video", STROBE_ROLE_GENERATION);
	names[0] = sb_builder_name(s->b, inner, NULL);
	names[1] = sb_builder_name(s->b, "main.save_all", NULL);
	sb_builder_code_file(s->b, names[0], "/x/site-packages/PIL/ImageFile.py");
	sb_builder_code_file(s->b, names[1], "/srv/main.py");
	for (uint64_t i = 0; i < samples; i++)
		sb_builder_stack_sample(s->b, videos * SECOND + (i + 1) * 100 * MS, &sample, names, lines, 2);
	return finding(synthetic_model(s, (videos + 3) * SECOND), id);
}

static const struct sb_advice *said_of(
	struct synthetic *s, const char *id, const char *inner, uint64_t videos, uint64_t samples)
{
	return said_on(s, TID, id, inner, videos, samples);
}

static const struct sb_advice *said_of_saving(struct synthetic *s, uint64_t videos, uint64_t samples)
{
	return said_of(s, "slow_export", "ImageFile._encode_tile", videos, samples);
}

/* Pictures that are read are no export, though Pillow reads and writes them in the same files. */
static void pictures_that_are_read_between_the_generations_are_no_export(void **state)
{
	static const char *const reads[] = { "ImageFile.ImageFile.load", "ImageFile._safe_read",
		"PngImagePlugin.PngImageFile.load_read" };

	for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
		struct synthetic s;

		assert_null(said_of(&s, "slow_export", reads[i], 5, 20));
		assert_int_equal(finding(s.model, "between_generations")->where.line, 88);
		synthetic_done(&s);
	}
}

/* The last video is followed by none that its export could run beside. */
static void writing_between_the_generations_is_a_slow_export(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_of_saving(&s, 5, 20);

	assert_non_null(f);
	assert_string_equal(f->where.file, "/srv/main.py");
	assert_int_equal(f->where.line, 88);
	assert_near(f->saves_s, 2 * 4 / 5., 1e-6);
	assert_string_equal(f->basis, "estimated");
	assert_string_equal(f->priority, "high");
	assert_non_null(strstr(f->evidence, "all but the last of 5"));
	synthetic_done(&s);
	assert_near(said_of_saving(&s, 2, 20)->saves_s, 1, 1e-6);
	synthetic_done(&s);
}

/* A service: a worker makes the videos and saves them. */
static void a_worker_that_writes_between_its_generations_is_a_slow_export(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_on(&s, WORKER, "slow_export", "ImageFile._encode_tile", 5, 20);

	assert_non_null(f);
	assert_int_equal(f->where.line, 88);
	assert_near(f->saves_s, 2 * 4 / 5., 1e-6);
	synthetic_done(&s);
}

/* There is no next one: only less work at the export itself saves anything. */
static void the_export_of_a_single_generation_is_not_sent_to_a_thread(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_of_saving(&s, 1, 20);

	assert_non_null(f);
	assert_near(f->saves_s, 2, 1e-6);
	assert_string_equal(f->basis, "bounded");
	assert_string_equal(f->priority, "high");
	assert_null(strstr(f->suggestion, "thread"));
	assert_null(strstr(f->evidence, "the last"));
	assert_null(strstr(f->issue, "between"));
	synthetic_done(&s);
}

/* In the generations: what the warm ones spend is what all but the last one do. */
static void export_inside_the_generations_is_weighed_without_the_last(void **state)
{
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 100000 };
	struct synthetic s;
	const struct sb_advice *f;
	uint32_t name;

	for (uint64_t videos = 2; videos <= 5; videos += 3) {
		synthetic_open(&s);
		name = sb_builder_name(s.b, "main.save_all", NULL);
		sb_builder_code_file(s.b, name, "/srv/main.py");
		for (uint64_t i = 0; i < videos; i++) {
			synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
			synthetic_stage(&s, i * SECOND + 500 * MS, (i + 1) * SECOND - MS, "export_video", 0);
			synthetic_end(&s, (i + 1) * SECOND);
			for (uint64_t k = 0; k < 4; k++)
				sb_builder_stack_sample(s.b, i * SECOND + (600 + k * 100) * MS, &sample,
					&name, (const uint32_t[]){ 88 }, 1);
		}
		f = finding(synthetic_model(&s, videos * SECOND), "slow_export");
		assert_non_null(f);
		assert_near(f->saves_s, 0.4 * (double)(videos - 1), 1e-6);
		assert_non_null(
			strstr(f->issue, videos == 2 ? "% of the generations" : "% of the warm generations"));
		synthetic_done(&s);
	}
}

/* Five videos whose step is launched in 100 ms and takes the GPU `gpu_ms`; the rest of the second is an export, at a line whose
 * text is not at hand. */
static const struct sb_advice *export_beside_the_gpu(struct synthetic *s, uint64_t gpu_ms)
{
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 100000 };
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = TID, .duration_ns = gpu_ms * MS };
	uint32_t name;

	synthetic_open(s);
	name = sb_builder_name(s->b, "main.export", NULL);
	g.name = sb_builder_name(s->b, "denoise", NULL);
	sb_builder_code_file(s->b, name, "/srv/main.py");
	for (uint64_t i = 0; i < 5; i++) {
		synthetic_begin(s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(s, i * SECOND, i * SECOND + 100 * MS, "denoise", STROBE_ROLE_STEP);
		synthetic_stage(s, i * SECOND + 100 * MS, (i + 1) * SECOND, "export", 0);
		synthetic_end(s, (i + 1) * SECOND);
		g.launch_ns = g.start_ns = i * SECOND + 1000;
		sb_builder_gpu(s->b, &g);
		for (uint64_t k = 2; k <= 10; k++)
			sb_builder_stack_sample(s->b, i * SECOND + k * 100 * MS - MS, &sample, &name,
				(const uint32_t[]){ 88 }, 1);
	}
	return finding(synthetic_model(s, 5 * SECOND), "slow_export");
}

static void a_wait_for_the_gpu_in_an_export_is_no_slow_export_without_the_source_either(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	assert_null(export_beside_the_gpu(&s, 980));
	synthetic_done(&s);
	f = export_beside_the_gpu(&s, 550);
	assert_non_null(f);
	assert_near(f->saves_s, 4 * 0.45, 0.02);
	assert_non_null(strstr(f->evidence, "for 50 % of 'export' the GPU was still at earlier work"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_for_the_gpu_in_an_export_is_no_slow_export_without_the_source_either),
		cmocka_unit_test(writing_between_the_generations_is_a_slow_export),
		cmocka_unit_test(a_worker_that_writes_between_its_generations_is_a_slow_export),
		cmocka_unit_test(pictures_that_are_read_between_the_generations_are_no_export),
		cmocka_unit_test(the_export_of_a_single_generation_is_not_sent_to_a_thread),
		cmocka_unit_test(export_inside_the_generations_is_weighed_without_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
