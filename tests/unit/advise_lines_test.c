/* The rules that blame a line: what the sampled stacks and a GPU trace say together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/python/source.h"
#include "synthetic.h"

#include <stdlib.h>
#include <unistd.h>

enum { TID = 1000, VIDEOS = 5, STEPS = 4 };

static void launched(struct synthetic *s, const char *name, enum sb_gpu_kind kind, uint64_t launch,
	uint64_t at, uint64_t took, uint64_t bytes)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, name, NULL),
				     .kind = kind,
				     .start_ns = at,
				     .duration_ns = took,
				     .launch_ns = launch,
				     .launch_tid = TID,
				     .stream = 7,
				     .bytes = bytes });
}

static void work(struct synthetic *s, const char *name, enum sb_gpu_kind kind, uint64_t at, uint64_t took,
	uint64_t bytes)
{
	launched(s, name, kind, at, at, took, bytes);
}

/* Five videos of a second, of four steps of 250 ms; three steps of the second are traced and half of each is idle. */
static void put_videos(struct synthetic *s, uint64_t copy_bytes, uint64_t copies_a_step, uint64_t copy_ns)
{
	synthetic_open(s);
	sb_builder_meta_string(s->b, SB_META_SETTING, "gpu_trace", "steps:3");
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++)
			synthetic_step(
				s, i * SECOND + k * 250 * MS, i * SECOND + (k + 1) * 250 * MS, (int64_t)k, 0);
		synthetic_end(s, (i + 1) * SECOND);
	}
	for (uint64_t k = 0; k < 3; k++) {
		uint64_t at = SECOND + k * 250 * MS;

		work(s, "gemm", SB_GPU_KERNEL, at + MS, 124 * MS, 0);
		for (uint64_t c = 0; c < copies_a_step; c++)
			work(s, "Memcpy DtoH", SB_GPU_COPY_D2H, at + 130 * MS + c * copy_ns, copy_ns,
				copy_bytes);
	}
	synthetic_gpu_trace(s, SECOND, 1750 * MS);
}

/* `count` samples of 50 ms in a line of on_step that waits, in steps after the first video. */
static const char *pipe_file = "/srv/pipe.py";

static void see_waits(struct synthetic *s, uint64_t count)
{
	uint32_t inner = sb_builder_name(s->b, "cuda.synchronize", NULL),
		 own = sb_builder_name(s->b, "pipe.on_step", NULL);
	const uint32_t names[] = { inner, own }, lines[] = { 900, 41 };
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };

	sb_builder_code_file(s->b, inner, "/x/site-packages/torch/cuda/__init__.py");
	sb_builder_code_file(s->b, own, pipe_file);
	for (uint64_t i = 0; i < count; i++)
		sb_builder_stack_sample(
			s->b, 2 * SECOND + (i + 1) * 250 * MS - 10 * MS, &sample, names, lines, 2);
}

/* Its line 41 exports; what ran as line 41 in January waited. */
static void a_file_that_changed_since_the_run_gives_no_text(void **state)
{
	const struct sb_run later = { .start_real_ns = UINT64_MAX };
	char file[] = "/tmp/strobe-XXXXXX.py";
	int fd = mkstemps(file, 3);
	struct synthetic s;
	struct sb_model *m;

	assert_true(fd >= 0);
	for (int i = 0; i < 41; i++)
		assert_int_equal(write(fd, "export_to_video(frames)\n", 24), 24);
	close(fd);
	pipe_file = file;
	put_videos(&s, 1, 2, 1000);
	see_waits(&s, 12);
	m = synthetic_model(&s, VIDEOS * SECOND); /* of 2026-01-01 */
	assert_int_equal(m->lines.count, 1);
	assert_true(m->lines.all[0].changed);
	assert_null(m->lines.all[0].text);
	assert_true(sb_source_changed(&(struct sb_run){ 0 }, file));
	assert_false(sb_source_changed(&later, file));
	assert_string_equal(sb_source_line(&later, m, file, 41), "export_to_video(frames)");
	pipe_file = "/srv/pipe.py";
	synthetic_done(&s);
	unlink(file);
}

/* Sixteen times a step Python asks for a value while a kernel of 7 ms runs, and launches nothing until it comes. */
static void put_reads(struct synthetic *s, uint64_t reads)
{
	for (uint64_t k = 0; k < 3; k++)
		for (uint64_t c = 0; c < reads; c++) {
			uint64_t at = SECOND + k * 250 * MS + 126 * MS + c * 7500000;

			launched(s, "gemm", SB_GPU_KERNEL, at, at, 1, 0);
			launched(s, "Memcpy DtoH", SB_GPU_COPY_D2H, at + 1000, at + 7 * MS, 1000, 1);
		}
}

/* Values that come at once, in a program that the GPU waits for: reading them is not what it waits for. */
static void values_that_come_at_once_are_no_hidden_sync_and_explain_no_gap(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, 1, 2, 1000);
	m = synthetic_model(&s, VIDEOS * SECOND);
	assert_null(finding(m, "hidden_sync"));
	assert_non_null(finding(m, "gpu_gaps"));
	synthetic_done(&s);
}

/* Five videos of four steps of 20 ms; in the second three steps are traced: 600 kernels of 3 us, one every 30 us, and a
 * value is read at the end. */
static struct sb_model *launch_bound(struct synthetic *s)
{
	synthetic_open(s);
	sb_builder_meta_string(s->b, SB_META_SETTING, "gpu_trace", "steps:3");
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * 100 * MS, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++)
			synthetic_step(
				s, (i * 100 + k * 20) * MS, (i * 100 + (k + 1) * 20) * MS, (int64_t)k, 0);
		synthetic_end(s, (i + 1) * 100 * MS);
	}
	for (uint64_t k = 0; k < 3; k++) {
		uint64_t begin = (100 + k * 20) * MS;

		for (uint64_t c = 0; c < 600; c++)
			launched(s, "gemm", SB_GPU_KERNEL, begin + c * 30000, begin + c * 30000 + 8000, 3000,
				0);
		launched(s, "Memcpy DtoH", SB_GPU_COPY_D2H, begin + 18100000, begin + 18130000, 2000, 4);
		launched(s, "Memcpy DtoH", SB_GPU_COPY_D2H, begin + 18200000, begin + 18230000, 2000, 4);
	}
	synthetic_gpu_trace(s, 100 * MS, 160 * MS);
	return synthetic_model(s, VIDEOS * 100 * MS);
}

static void a_launch_bound_run_is_told_that_python_launches_too_slowly(void **state)
{
	struct synthetic s;
	struct sb_model *m = launch_bound(&s);
	const struct sb_advice *f = finding(m, "gpu_gaps");

	assert_null(finding(m, "hidden_sync"));
	assert_null(finding(m, "small_kernels"));
	assert_non_null(f);
	if (!strstr(f->cause, "launching: Python takes 30.0 us from one kernel to the next, for 600 kernels"))
		fail_msg("%s", f->cause);
	assert_non_null(strstr(f->suggestion, "CUDA graphs"));
	assert_near(m->gpu.launch_interval_s, 30e-6, 30e-6 / 60);
	assert_int_equal(sb_model_stage(m, "video")->gpu_read_count, 6);
	assert_near(sb_model_stage(m, "video")->gpu_read_s, 6 * 32e-6, 1e-9);
	synthetic_done(&s);
}

/* A wait that keeps the GIL is hardly ever sampled. */
static void values_read_back_in_each_step_are_a_hidden_sync_though_few_samples_hit_it(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	struct sb_model *m;

	put_videos(&s, 0, 0, 0);
	put_reads(&s, 16);
	see_waits(&s, 2);
	m = synthetic_model(&s, VIDEOS * SECOND);
	f = finding(m, "hidden_sync");
	assert_non_null(f);
	assert_non_null(strstr(f->issue, "16 values"));
	assert_string_equal(f->where.file, "/srv/pipe.py");
	assert_int_equal(f->where.line, 41);
	assert_near(f->saves_s, 1.9,
		0.12); /* the waits of sixteen steps, 1.79 s, and at most the idle half of them */
	synthetic_done(&s);
}

static void few_samples_alone_are_no_hidden_sync(void **state)
{
	struct synthetic s;

	put_videos(&s, 0, 0, 0);
	see_waits(&s, 2);
	assert_null(finding(synthetic_model(&s, VIDEOS * SECOND), "hidden_sync"));
	synthetic_done(&s);
}

/* Utilisation is a share of samples in which a kernel ran: it reads 100 % though the GPU runs dry in every step. Where it reads
 * less, the time at the line is work of the GPU all the same. */
static void synchronize_at(double utilization)
{
	struct synthetic s;
	const struct sb_advice *f;
	uint32_t gpu;

	synthetic_open(&s);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++)
			synthetic_step(&s, i * SECOND + k * 250 * MS, i * SECOND + (k + 1) * 250 * MS,
				(int64_t)k, 0);
		synthetic_end(&s, (i + 1) * SECOND);
		synthetic_gpu_sample(&s, gpu, i * SECOND + 500 * MS, 1000, utilization, 300);
	}
	see_waits(&s, 12);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "hidden_sync");
	assert_non_null(f);
	assert_int_equal(f->where.line, 41);
	assert_true(isnan(f->saves_s));
	assert_non_null(strstr(f->evidence, "--gpu-trace=steps:3"));
	synthetic_done(&s);
}

static void a_synchronize_in_the_steps_is_named_without_a_trace(void **state)
{
	synchronize_at(100);
	synchronize_at(40);
}

static void copies_are_placed_at_the_line_that_makes_them(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	put_videos(&s, 32000000, 1, 110 * MS);
	see_waits(&s, 4);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "copies");
	assert_non_null(f);
	assert_int_equal(f->where.line, 41);
	assert_non_null(strstr(f->cause, "on_step (pipe.py:41)"));
	synthetic_done(&s);
}

/* A step copies for 110 ms: 1.76 s in the 16 warm steps, told from the traced part. The samples saw Python wait for four times
 * 50 ms, which is less. */
static void copies_save_what_they_take_in_all_the_steps(void **state)
{
	struct synthetic s;

	put_videos(&s, 32000000, 1, 110 * MS);
	see_waits(&s, 4);
	assert_near(finding(synthetic_model(&s, VIDEOS * SECOND), "copies")->saves_s, 1.76, 0.05);
	synthetic_done(&s);
}

static void collections_of_the_first_generation_are_not_of_the_warm_ones(void **state)
{
	struct strobe_attr took = { "duration_s", STROBE_TYPE_FLOAT, { .f = 0.4 } };
	struct synthetic s;
	const struct sb_advice *f;

	put_videos(&s, 0, 0, 0);
	for (uint64_t i = 0; i < VIDEOS; i++)
		sb_builder_event(s.b, i * SECOND + 500 * MS, "garbage collection", 0, &took, 1);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "garbage_collection");
	assert_non_null(f);
	assert_near(f->value, 40, 1e-6);
	assert_near(f->saves_s, 1.6, 1e-6);
	synthetic_done(&s);
}

/* Videos with a line between the model's calls that was sampled so often, on two cores that so many threads want. */
static const char *blamed_at(uint64_t samples, double load, double collection_s)
{
	static const char *const cpu[] = { "load1_count", "process_percent" }, *const cores[] = { "a_percent",
		"b_percent" };
	const double values[] = { load, 40 }, used[] = { 100, 100 };
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 60000 };
	struct strobe_attr took = { "duration_s", STROBE_TYPE_FLOAT, { .f = collection_s } };
	static char cause[200];
	const struct sb_advice *f;
	struct synthetic s;
	uint32_t own, schema;

	put_videos(&s, 0, 0, 0);
	own = sb_builder_name(s.b, "pipe.on_step", NULL);
	sb_builder_code_file(s.b, own, "/srv/pipe.py");
	for (uint64_t i = 0; i < samples; i++)
		sb_builder_stack_sample(
			s.b, SECOND + (i + 1) * 120 * MS, &sample, &own, (const uint32_t[]){ 41 }, 1);
	schema = sb_builder_schema(s.b, "cpu", -1, cpu, 2);
	for (uint64_t i = 0; i < VIDEOS; i++)
		sb_builder_sample(s.b, schema, i * SECOND, values, 2);
	schema = sb_builder_schema(s.b, "cpu_core", -1, cores, 2);
	sb_builder_sample(s.b, schema, SECOND, used, 2);
	for (uint64_t i = 0; collection_s > 0 && i < VIDEOS; i++)
		sb_builder_event(s.b, i * SECOND + 500 * MS, "garbage collection", 0, &took, 1);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "python_between_steps");
	snprintf(cause, sizeof cause, "%s", f && f->cause ? f->cause : "");
	synthetic_done(&s);
	return cause;
}

static void a_line_is_blamed_on_a_crowded_machine_only_if_it_is_sampled_often(void **state)
{
	assert_string_equal(blamed_at(6, 1, 0), "on_step (pipe.py:41)");
	assert_string_equal(blamed_at(6, 16, 0), ""); /* a thread that waits for a core is found anywhere */
	assert_string_equal(blamed_at(14, 16, 0), "on_step (pipe.py:41)");
}

static void time_of_collections_is_not_the_next_lines(void **state)
{
	assert_string_equal(blamed_at(30, 1, 0.2), "on_step (pipe.py:41)");
	assert_string_equal(blamed_at(30, 1, 0.95), "");
}

/* A line that takes all of the warm videos, sampled every 60 ms: a sample's weight also covers what was before its video. */
static void a_share_of_the_generations_is_never_above_all_of_them(void **state)
{
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 60000 };
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;
	uint32_t own;

	synthetic_open(&s);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(&s, i * SECOND + 500 * MS, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(&s, i * SECOND + 510 * MS, "step", STROBE_ROLE_STEP);
		synthetic_stage(&s, i * SECOND + 510 * MS, i * SECOND + 511 * MS, "transformer", 0);
		synthetic_end(&s, (i + 1) * SECOND);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	own = sb_builder_name(s.b, "pipe.on_step", NULL);
	sb_builder_code_file(s.b, own, "/srv/pipe.py");
	for (uint64_t i = 0; i < VIDEOS; i++)
		for (uint64_t k = 0; k < 9; k++)
			sb_builder_stack_sample(s.b, i * SECOND + (515 + k * 60) * MS, &sample, &own,
				(const uint32_t[]){ 41 }, 1);
	m = synthetic_model(&s, VIDEOS * SECOND);
	f = finding(m, "python_between_steps");
	assert_non_null(f);
	assert_non_null(
		strstr(f->issue, "takes 99 % of the warm generations")); /* 15 ms and eight times 60 of 500 */
	assert_near(m->lines.all[0].generation_s, 4 * 0.495, 1e-9);
	synthetic_done(&s);
}

/* Five videos of one long step each, all of it in one line; parts: the step has the model's call as a stage; a GPU that
 * works for a third of the time; behind: it is at the model's call for nearly all of the step. */
static bool blames_python_in_steps(bool parts, bool gpu, bool behind)
{
	static const char *const columns[] = { "utilization_percent" };
	const double used[] = { 33 };
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };
	struct synthetic s;
	uint32_t own;
	bool blamed;

	synthetic_open(&s);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(&s, i * SECOND, "step", STROBE_ROLE_STEP);
		if (parts)
			synthetic_stage(&s, i * SECOND, i * SECOND + 10 * MS, "transformer", 0);
		synthetic_end(&s, (i + 1) * SECOND);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	for (uint64_t i = 0; behind && i < VIDEOS; i++)
		sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .kind = SB_GPU_ZONE,
					    .launch_tid = TID,
					    .name = sb_builder_name(s.b, "transformer", NULL),
					    .launch_ns = i * SECOND + 1000,
					    .start_ns = i * SECOND,
					    .duration_ns = 950 * MS });
	own = sb_builder_name(s.b, "main.<module>", NULL);
	sb_builder_code_file(s.b, own, "/srv/main.py");
	for (uint64_t i = 1; i < VIDEOS * 20; i++)
		sb_builder_stack_sample(
			s.b, i * 50 * MS + 20 * MS, &sample, &own, (const uint32_t[]){ 41 }, 1);
	for (uint64_t i = 0; gpu && i < VIDEOS; i++)
		sb_builder_sample(s.b, sb_builder_schema(s.b, "gpu", 0, columns, 1), i * SECOND, used, 1);
	blamed = finding(synthetic_model(&s, VIDEOS * SECOND), "python_between_steps") != NULL;
	synthetic_done(&s);
	return blamed;
}

/* Where neither a part of the step nor its kernels tell the model's call apart, the line may be that call. */
static void a_line_of_a_step_without_parts_is_not_between_the_models_calls(void **state)
{
	assert_true(blames_python_in_steps(true, false, false));
	assert_true(blames_python_in_steps(true, true, false));
	assert_false(blames_python_in_steps(false, false, false));
	assert_false(blames_python_in_steps(false, true, false));
	assert_false(blames_python_in_steps(true, true, true));
}

/* Answers of ten tokens that a service makes. A criterion of the program's (line 13), or none, has transformers decode them
 * between the calls; the line that asks for the answer (30) stands below the model's calls, and below what transformers does
 * itself. */
static const struct sb_advice *said_of_answers(struct synthetic *s, bool criterion)
{
	static const struct {
		const char *function, *file;
		uint32_t line;
	} frames[] = { { "tokenization.Tokenizer._decode", "/x/site-packages/transformers/tokenization.py",
			       9 },
		{ "main.StopWords.__call__", "/srv/main.py", 13 },
		{ "utils.GenerationMixin._sample", "/x/site-packages/transformers/generation/utils.py",
			3280 },
		{ "module.Module._call_impl", "/x/site-packages/torch/nn/modules/module.py", 1790 },
		{ "main.answer", "/srv/main.py", 30 },
		{ "server.Server.serve", "/x/site-packages/uvicorn/server.py", 80 } };
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };
	uint32_t names[6], lines[6];

	synthetic_open(s);
	for (uint32_t i = 0; i < 6; i++) {
		names[i] = sb_builder_name(s->b, frames[i].function, NULL);
		sb_builder_code_file(s->b, names[i], frames[i].file);
		lines[i] = frames[i].line;
	}
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * SECOND, "generate", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < 10; k++) {
			uint64_t at = i * SECOND + k * 100 * MS;
			const uint32_t between[] = { names[0], names[criterion ? 1 : 2], names[2], names[4],
				names[5] };
			const uint32_t between_lines[] = { 9, lines[criterion ? 1 : 2], 3280, 30, 80 };

			synthetic_stage(s, at, at + 50 * MS, "decode", STROBE_ROLE_FORWARD);
			sb_builder_stack_sample(s->b, at + 49 * MS, &sample, &names[3], &lines[3], 3);
			sb_builder_stack_sample(s->b, at + 99 * MS, &sample, between, between_lines, 5);
		}
		synthetic_end(s, (i + 1) * SECOND);
	}
	return finding(synthetic_model(s, VIDEOS * SECOND), "python_between_steps");
}

static void what_a_language_model_is_given_is_blamed_and_not_the_framework(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_of_answers(&s, true);

	assert_non_null(f);
	assert_int_equal(f->where.line, 13);
	assert_near(f->saves_s, 4 * 0.5, 1e-6);
	synthetic_done(&s);
	assert_null(said_of_answers(&s, false));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_changed_since_the_run_gives_no_text),
		cmocka_unit_test(values_read_back_in_each_step_are_a_hidden_sync_though_few_samples_hit_it),
		cmocka_unit_test(values_that_come_at_once_are_no_hidden_sync_and_explain_no_gap),
		cmocka_unit_test(a_launch_bound_run_is_told_that_python_launches_too_slowly),
		cmocka_unit_test(few_samples_alone_are_no_hidden_sync),
		cmocka_unit_test(a_synchronize_in_the_steps_is_named_without_a_trace),
		cmocka_unit_test(copies_are_placed_at_the_line_that_makes_them),
		cmocka_unit_test(copies_save_what_they_take_in_all_the_steps),
		cmocka_unit_test(collections_of_the_first_generation_are_not_of_the_warm_ones),
		cmocka_unit_test(a_line_of_a_step_without_parts_is_not_between_the_models_calls),
		cmocka_unit_test(a_line_is_blamed_on_a_crowded_machine_only_if_it_is_sampled_often),
		cmocka_unit_test(time_of_collections_is_not_the_next_lines),
		cmocka_unit_test(what_a_language_model_is_given_is_blamed_and_not_the_framework),
		cmocka_unit_test(a_share_of_the_generations_is_never_above_all_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
