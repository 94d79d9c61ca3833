/* What a program without generations does between its model's calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "close_within.h"
#include "synthetic.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TID = 1000, CALLS = 10 };

/* Ten calls of 50 ms after 2 s of imports, one every 200 ms; between them a line of the program, whose source is not at hand, runs
 * for `made_ms`, of which it has a core for so many percent. */
static struct sb_model *model_of_line(
	struct synthetic *s, uint64_t made_ms, double utilization, uint32_t core_percent)
{
	const struct sb_builder_sample sample = {
		.tid = TID, .weight_us = 50000, .cpu_us_and_one = core_percent * 500 + 1
	};
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = TID, .duration_ns = 50 * MS };
	uint32_t made, line = 34, schema;

	synthetic_open(s);
	made = sb_builder_name(s->b, "encode.main", NULL);
	sb_builder_code_file(s->b, made, "/srv/encode.py");
	g.name = sb_builder_name(s->b, "VJEPA2Model", NULL);
	schema = synthetic_gpu(s, 0);
	synthetic_stage(s, 0, 2 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	for (uint64_t i = 0; i < CALLS; i++) {
		uint64_t at = 2 * SECOND + i * 200 * MS;

		synthetic_stage(s, at, at + 50 * MS, "VJEPA2Model", 0);
		g.start_ns = (int64_t)at;
		g.launch_ns = (int64_t)at;
		sb_builder_gpu(s->b, &g);
		for (uint64_t k = 1; k <= made_ms / 50 && i + 1 < CALLS; k++)
			sb_builder_stack_sample(
				s->b, at + 50 * MS + k * 50 * MS - MS, &sample, &made, &line, 1);
	}
	for (uint64_t t = 0; t <= 40; t++)
		synthetic_gpu_sample(s, schema, t * 100 * MS, 300, utilization, 300);
	return synthetic_model(s, 4 * SECOND);
}

static struct sb_model *model_of_calls(struct synthetic *s, uint64_t made_ms, double utilization)
{
	return model_of_line(s, made_ms, utilization, 100);
}

static void a_line_that_may_only_sleep_is_possible(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	(void)state;
	f = finding(model_of_line(&s, 150, 25, 10), "python_between_steps");
	assert_non_null(f);
	assert_string_equal(f->priority, "medium");
	assert_string_equal(f->confidence, "possible");
	assert_non_null(strstr(f->evidence, "the source is not at hand"));
	synthetic_done(&s);
	f = finding(model_of_line(&s, 150, 25, 100), "python_between_steps"); /* it computes */
	assert_string_equal(f->priority, "high");
	assert_string_equal(f->confidence, "likely");
	synthetic_done(&s);
}

static void what_prepares_the_input_has_its_line(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	(void)state;
	f = finding(model_of_calls(&s, 150, 25), "python_between_steps");
	assert_non_null(f);
	assert_string_equal(f->where.file, "/srv/encode.py");
	assert_int_equal(f->where.line, 34);
	assert_true(f->saves_s > 1.2 && f->saves_s < 1.5); /* nine times 150 ms */
	assert_string_equal(s.model->summary.bound_by, "cpu"); /* not launching */
	assert_string_equal(s.model->summary.bound_reason, "the GPU waits for Python for 73 % of the time");
	synthetic_done(&s);
}

/* Twelve calls of a loop like V-JEPA's: line 3 makes the input, line 4 calls the model, which the CPU leaves 50 ms before
 * the GPU, line 5 reads the result. Once, for a second, line 4 is in no stage. once_ms 0: never. */
static struct sb_model *model_of_reads(struct synthetic *s, uint64_t made_ms, uint64_t once_ms)
{
	char file[] = "/tmp/strobe-XXXXXX.py";
	struct sb_builder_sample sample = { .tid = TID };
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = TID, .duration_ns = 100 * MS };
	uint32_t name, inner[2], lines[] = { 0, 3, 4, 5 }, schema;
	uint64_t at = 2 * SECOND;
	int fd = mkstemps(file, 3);

	assert_true(fd >= 0);
	dprintf(fd, "\n\nbatch = frames.add(i)\nfeatures = model(batch)\nprint(i, float(features.mean()))\n");
	close(fd);
	synthetic_open_at(s, 8000000000ull * SECOND); /* after the file was written */
	name = sb_builder_name(s->b, "encode.<module>", NULL);
	sb_builder_code_file(s->b, name, file);
	inner[0] = sb_builder_name(s->b, "linear.Linear.forward", NULL);
	sb_builder_code_file(s->b, inner[0], "/x/site-packages/torch/nn/modules/linear.py");
	inner[1] = name;
	g.name = sb_builder_name(s->b, "VJEPA2Model", NULL);
	schema = synthetic_gpu(s, 0);
	synthetic_stage(s, 0, 2 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	for (uint64_t i = 0; i < 12; i++) {
		synthetic_begin(s, at, "VJEPA2Model", 0);
		g.start_ns = g.launch_ns = (int64_t)at;
		sb_builder_gpu(s->b, &g);
		sample.weight_us = 40000;
		sb_builder_stack_sample(s->b, at + 45 * MS, &sample, inner, (uint32_t[]){ 90, 4 }, 2);
		synthetic_end(s, at + 50 * MS);
		sample.weight_us = 50000;
		sb_builder_stack_sample(s->b, at + 99 * MS, &sample, &name, &lines[3], 1);
		sample.weight_us = (uint32_t)made_ms * 1000;
		sb_builder_stack_sample(s->b, at + (99 + made_ms) * MS, &sample, &name, &lines[1], 1);
		at += (100 + made_ms) * MS;
		if (i != 4 || !once_ms)
			continue;
		sample.weight_us = (uint32_t)once_ms * 1000;
		sb_builder_stack_sample(s->b, at + once_ms * MS - MS, &sample, &name, &lines[2], 1);
		at += once_ms * MS;
	}
	for (uint64_t t = 0; t <= at / MS / 100; t++)
		synthetic_gpu_sample(s, schema, t * 100 * MS, 300, 40, 300);
	synthetic_model(s, at);
	unlink(file);
	return s->model;
}

static void a_line_has_its_own_time_and_a_read_none_of_the_gpus(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	(void)state;
	f = finding(model_of_reads(&s, 25, 0), "python_between_steps");
	assert_non_null(f);
	assert_int_equal(f->where.line, 3); /* line 5 takes twice as long: it waits for a GPU that works */
	close_within(f->saves_s, 1.425 - 12 * 0.1, 1e-6); /* it takes 11 times 25 ms; the GPU idles less */
	assert_string_equal(s.model->summary.bound_by, "mixed"); /* neither Python nor the GPU */
	assert_non_null(strstr(s.model->summary.bound_reason, "python_between_steps"));
	synthetic_done(&s);
}

static void a_line_that_takes_a_tenth_is_no_finding(void **state)
{
	struct synthetic s;

	(void)state;
	assert_null(finding(model_of_reads(&s, 10, 0), "python_between_steps"));
	synthetic_done(&s);
}

static void what_comes_once_is_left_out(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	(void)state;
	f = finding(model_of_reads(&s, 25, 1000), "python_between_steps");
	assert_non_null(f);
	assert_int_equal(f->where.line, 3);
	close_within(f->saves_s, 0.225, 1e-3);
	assert_non_null(strstr(f->evidence, "is left out, it comes once"));
	assert_string_equal(s.model->summary.bound_by, "mixed");
	synthetic_done(&s);
}

static void a_gpu_that_has_enough_to_do_waits_for_nothing(void **state)
{
	struct synthetic s;

	(void)state;
	assert_null(finding(model_of_calls(&s, 150, 95), "python_between_steps"));
	synthetic_done(&s);
}

static void a_little_between_the_calls_is_no_finding(void **state)
{
	struct synthetic s;

	(void)state;
	assert_null(finding(model_of_calls(&s, 0, 25), "python_between_steps"));
	synthetic_done(&s);
}

/* The same without a GPU: on a CPU that computes the model for 50 ms of every 200, beside line 34 of a file, in a library's
 * function where one is given. */
static const struct sb_advice *said_on_a_cpu(
	struct synthetic *s, const char *called, const char *file, const char *inner, const char *inner_file)
{
	uint32_t names[2], lines[] = { 34, 34 }, depth = 0;

	synthetic_open_at(s, 8000000000ull * SECOND); /* after any file was written */
	if (inner) {
		names[depth] = sb_builder_name(s->b, inner, NULL);
		sb_builder_code_file(s->b, names[depth++], inner_file);
	}
	names[depth] = sb_builder_name(s->b, "encode.main", NULL);
	sb_builder_code_file(s->b, names[depth++], file);
	synthetic_stage(s, 0, 2 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	for (uint64_t i = 0; i < CALLS; i++) {
		uint64_t at = 2 * SECOND + i * 200 * MS;

		synthetic_stage(s, at, at + 50 * MS, called, 0);
		for (uint64_t k = 1; k <= 3 && i + 1 < CALLS; k++)
			sb_builder_stack_sample(s->b, at + 50 * MS + k * 50 * MS - MS,
				&(struct sb_builder_sample){ .tid = TID, .weight_us = 50000 }, names, lines,
				depth);
	}
	return finding(synthetic_model(s, 4 * SECOND), "python_between_steps");
}

static void what_prepares_the_input_of_a_model_on_the_cpu_has_its_line(void **state)
{
	static const char own[] = "/srv/encode.py", numpy[] = "/x/site-packages/numpy/lib/arraypad.py";
	struct synthetic s;
	const struct sb_advice *f = said_on_a_cpu(&s, "VJEPA2Model", own, "arraypad.pad", numpy);

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->where.line, 34);
	assert_true(f->saves_s > 1.2 && f->saves_s < 1.5);
	assert_non_null(strstr(f->issue, "between the calls of 'VJEPA2Model'"));
	assert_string_equal(f->explains[0], "unattributed");
	assert_null(finding(s.model, "unattributed"));
	synthetic_done(&s);
	assert_null(said_on_a_cpu(&s, "load:pipeline", own, "arraypad.pad", numpy)); /* no model's call */
	synthetic_done(&s);
	assert_null(said_on_a_cpu(&s, "VJEPA2Model", own, "functional.softmax",
		"/x/site-packages/torch/nn/functional.py")); /* the model may compute there */
	synthetic_done(&s);
}

/* A file whose lines up to the 34th are this text; the caller unlinks it. */
static void write_file(char *file, const char *text)
{
	int fd = mkstemps(file, 3);
	size_t size = strlen(text);

	assert_true(fd >= 0);
	for (int i = 0; i < 34; i++)
		assert_int_equal(write(fd, text, size), size);
	close(fd);
}

/* A client waits at a socket, as a service does: only the line tells which of both it is. */
static void an_answer_that_is_waited_for_has_its_line(void **state)
{
	static const char inner[] = "/usr/lib/python3.12/socket.py";
	char client[] = "/tmp/strobe-XXXXXX.py", service[] = "/tmp/strobe-XXXXXX.py";
	struct synthetic s;
	const struct sb_advice *f;

	(void)state;
	write_file(client, "link.getresponse().read()\n");
	write_file(service, "line = self.link.readline()\n");
	f = said_on_a_cpu(&s, "VJEPA2Model", client, "socket.SocketIO.readinto", inner);
	assert_non_null(f);
	assert_non_null(strstr(f->cause, "link.getresponse().read()"));
	synthetic_done(&s);
	assert_null(said_on_a_cpu(&s, "VJEPA2Model", service, "socket.SocketIO.readinto", inner));
	synthetic_done(&s);
	unlink(client);
	unlink(service);
}

static void torch_that_prepares_a_clip_has_its_line(void **state)
{
	struct synthetic s;

	(void)state;
	assert_non_null(said_on_a_cpu(&s, "VJEPA2Model", "/srv/encode.py", "functional.interpolate",
		"/x/site-packages/torch/nn/functional.py"));
	synthetic_done(&s);
}

/* The main thread starts a worker and waits; imports took most of what was sampled, at more lines than a report has. */
static void a_loop_of_another_thread_has_its_line(void **state)
{
	enum { WORKER = 1001, IMPORTED = 60 };
	struct synthetic s;
	const struct sb_advice *f;
	uint32_t made, line = 34, imported;

	(void)state;
	synthetic_open(&s);
	made = sb_builder_name(s.b, "jobs.fuse", NULL);
	imported = sb_builder_name(s.b, "program.<module>", NULL);
	sb_builder_code_file(s.b, made, "/srv/jobs.py");
	sb_builder_code_file(s.b, imported, "/srv/program.py");
	synthetic_stage(&s, 0, 12 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	for (uint32_t i = 1; i <= IMPORTED; i++)
		sb_builder_stack_sample(s.b, i * 190 * MS,
			&(struct sb_builder_sample){ .tid = TID, .weight_us = 190000 }, &imported, &i, 1);
	s.main = sb_builder_thread(s.b, WORKER, "worker");
	for (uint64_t i = 0; i < CALLS; i++) {
		uint64_t at = 12 * SECOND + i * 200 * MS;

		synthetic_stage(&s, at, at + 50 * MS, "VideoDiT", 0);
		for (uint64_t k = 1; k <= 3 && i + 1 < CALLS; k++)
			sb_builder_stack_sample(s.b, at + 50 * MS + k * 50 * MS - MS,
				&(struct sb_builder_sample){ .tid = WORKER, .weight_us = 50000 }, &made,
				&line, 1);
	}
	f = finding(synthetic_model(&s, 14 * SECOND), "python_between_steps");
	assert_non_null(f);
	assert_string_equal(f->where.file, "/srv/jobs.py");
	synthetic_done(&s);
}

/* Line 34 sleeps. */
static void a_program_that_polls_is_told_softly(void **state)
{
	char file[] = "/tmp/strobe-XXXXXX.py";
	struct synthetic s;
	const struct sb_advice *f;

	(void)state;
	write_file(file, "time.sleep(0.1)\n");
	f = said_on_a_cpu(&s, "VJEPA2Model", file, NULL, NULL);
	assert_non_null(f);
	assert_non_null(strstr(f->cause, "time.sleep(0.1)"));
	assert_string_equal(f->priority, "low");
	assert_string_equal(f->confidence, "possible");
	synthetic_done(&s);
	unlink(file);
}

/* Ten calls of 50 ms; after each line 34 of a file runs, in which Python collects for 40 ms, then for 100 ms line 33. */
static const struct sb_advice *said_of_collections(
	struct synthetic *s, const char *collecting, const char *idling)
{
	static const uint32_t lines[] = { 34, 33, 33 };
	struct strobe_attr took = { "duration_s", STROBE_TYPE_FLOAT, { .f = 0.04 } };
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };
	char file[] = "/tmp/strobe-XXXXXX.py";
	const struct sb_advice *f;
	int fd = mkstemps(file, 3);
	uint32_t name;

	assert_true(fd >= 0);
	for (int i = 1; collecting && i <= 34; i++)
		dprintf(fd, "%s\n", i == 34 ? collecting : idling);
	close(fd);
	if (!collecting)
		unlink(file);
	synthetic_open_at(s, 8000000000ull * SECOND);
	name = sb_builder_name(s->b, "live.main", NULL);
	sb_builder_code_file(s->b, name, file);
	synthetic_stage(s, 0, 2 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	for (uint64_t i = 0; i < CALLS; i++) {
		uint64_t at = 2 * SECOND + i * 200 * MS;

		synthetic_stage(s, at, at + 50 * MS, "Tower", 0);
		if (i + 1 == CALLS)
			break;
		sb_builder_event(s->b, at + 95 * MS, "garbage collection", 0, &took, 1);
		for (uint64_t k = 0; k < 3; k++)
			sb_builder_stack_sample(
				s->b, at + 99 * MS + k * 50 * MS, &sample, &name, &lines[k], 1);
	}
	f = finding(synthetic_model(s, 4 * SECOND), "garbage_collection");
	unlink(file);
	assert_non_null(f);
	return f;
}

static void a_loop_that_calls_the_collector_is_its_cause(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_of_collections(&s, "gc.collect()", "time.sleep(0.1)");

	(void)state;
	assert_non_null(strstr(f->cause, ":34): gc.collect()"));
	assert_string_equal(f->confidence, "certain");
	assert_non_null(strstr(f->suggestion, "out of the loop"));
	close_within(f->saves_s, 9 * 0.04, 1e-6);
	synthetic_done(&s);
}

static void a_collection_in_time_that_is_slept_saves_nothing(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_of_collections(
		&s, "gc.collect()", "time.sleep(max(0, due - time.monotonic()))");

	(void)state;
	assert_non_null(strstr(f->cause, ":34): gc.collect()"));
	assert_string_equal(f->priority, "low");
	assert_true(isnan(f->saves_s));
	assert_non_null(strstr(f->evidence, "until its next work is due"));
	synthetic_done(&s);
}

static void who_collects_is_not_known_without_the_source(void **state)
{
	struct synthetic s;

	(void)state;
	assert_non_null(strstr(
		said_of_collections(&s, "frames.put(x)", "wait()")->cause, "by itself, over a large heap"));
	assert_null(strstr(finding(s.model, "garbage_collection")->cause, "not known"));
	synthetic_done(&s);
	assert_non_null(
		strstr(said_of_collections(&s, NULL, NULL)->cause, "the program's source is not at hand"));
	synthetic_done(&s);
}

/* Five generations of a second with a stage of the program's own in each, 300 ms; the rest is at line 2 of a file. */
static const struct sb_advice *said_beside_parts(struct synthetic *s, int role, const char *inner_file)
{
	uint32_t names[2], lines[] = { 90, 2 }, first = inner_file ? 0 : 1;

	synthetic_open(s);
	names[0] = sb_builder_name(s->b, "a_library.function", NULL);
	names[1] = sb_builder_name(s->b, "colour.convert", NULL);
	sb_builder_code_file(s->b, names[0], inner_file ? inner_file : "/srv/colour.py");
	sb_builder_code_file(s->b, names[1], "/srv/colour.py");
	for (uint64_t i = 0; i < 5; i++) {
		synthetic_begin(s, i * SECOND, "request", STROBE_ROLE_GENERATION);
		synthetic_stage(s, i * SECOND, i * SECOND + 300 * MS, "encoder", role);
		synthetic_end(s, (i + 1) * SECOND);
		for (uint64_t k = 1; k <= 14; k++)
			sb_builder_stack_sample(s->b, i * SECOND + 300 * MS + k * 50 * MS - MS,
				&(struct sb_builder_sample){ .tid = TID, .weight_us = 50000 }, names + first,
				lines + first, 2 - first);
	}
	return finding(synthetic_model(s, 5 * SECOND), "python_between_steps");
}

static void python_beside_the_parts_of_a_generation_has_its_line(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_beside_parts(&s, 0, NULL);

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->where.line, 2);
	assert_string_equal(
		f->issue, "Python in no stage of the generations takes 70 % of the warm generations");
	assert_true(f->saves_s > 2.5 && f->saves_s < 2.9); /* of the warm four */
	assert_null(finding(s.model, "unattributed"));
	synthetic_done(&s);
	assert_null(said_beside_parts(&s, 0, "/x/site-packages/torch/functional.py")); /* may be the model */
	synthetic_done(&s);
	assert_null(said_beside_parts(&s, STROBE_ROLE_EXPORT, NULL)); /* so may all that is no export */
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_prepares_the_input_has_its_line),
		cmocka_unit_test(a_line_has_its_own_time_and_a_read_none_of_the_gpus),
		cmocka_unit_test(a_line_that_takes_a_tenth_is_no_finding),
		cmocka_unit_test(what_comes_once_is_left_out),
		cmocka_unit_test(a_line_that_may_only_sleep_is_possible),
		cmocka_unit_test(a_gpu_that_has_enough_to_do_waits_for_nothing),
		cmocka_unit_test(a_little_between_the_calls_is_no_finding),
		cmocka_unit_test(what_prepares_the_input_of_a_model_on_the_cpu_has_its_line),
		cmocka_unit_test(an_answer_that_is_waited_for_has_its_line),
		cmocka_unit_test(torch_that_prepares_a_clip_has_its_line),
		cmocka_unit_test(a_loop_of_another_thread_has_its_line),
		cmocka_unit_test(python_beside_the_parts_of_a_generation_has_its_line),
		cmocka_unit_test(a_program_that_polls_is_told_softly),
		cmocka_unit_test(a_loop_that_calls_the_collector_is_its_cause),
		cmocka_unit_test(a_collection_in_time_that_is_slept_saves_nothing),
		cmocka_unit_test(who_collects_is_not_known_without_the_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
