/* Lines between the steps that wait for the GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/hot.h"
#include "synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { TID = 1000, VIDEOS = 5, STEPS = 4 };
#define LATER (8000000000ull * SECOND) /* after the sources below were written */

/* Four steps a second with a pause after each, `long_ms` after the second of the third video; half of the GPU's samples
 * say it idles. The main thread waits in the pauses, which are stages where the framework is known. */
static struct sb_model *with_pauses(struct synthetic *s, uint64_t pause_ms, uint64_t long_ms, bool stages)
{
	uint32_t inner, own, gpu;
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };
	uint64_t at = 0;

	synthetic_open(s);
	inner = sb_builder_name(s->b, "cuda.synchronize", NULL);
	own = sb_builder_name(s->b, "pipe.run", NULL);
	sb_builder_code_file(s->b, inner, "/x/site-packages/torch/cuda/__init__.py");
	sb_builder_code_file(s->b, own, "/srv/pipe.py");
	gpu = synthetic_gpu(s, 0);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++) {
			uint64_t pause = (i == 2 && k == 1 ? long_ms : pause_ms) * MS;

			synthetic_step(s, at, at + 150 * MS, (int64_t)k, 0);
			at += 150 * MS;
			for (uint64_t t = 40 * MS; k + 1 < STEPS && t < pause; t += 50 * MS)
				sb_builder_stack_sample(s->b, at + t, &sample, (uint32_t[]){ inner, own },
					(uint32_t[]){ 900, 41 }, 2);
			if (stages && k + 1 < STEPS)
				synthetic_stage(s, at, at + pause, "between_steps", 0);
			at += pause;
			synthetic_gpu_sample(s, gpu, at, 1000, k % 2 ? 100 : 0, 300);
		}
		synthetic_end(s, at);
	}
	return synthetic_model(s, at);
}

static void a_wait_in_every_pause_between_steps_is_a_hidden_sync(void **state)
{
	struct synthetic s;

	for (int stages = 0; stages < 2; stages++) {
		const struct sb_advice *f = finding(with_pauses(&s, 60, 60, stages), "hidden_sync");

		assert_non_null(f);
		assert_non_null(strstr(f->issue, "a line between the steps waits for the GPU"));
		assert_int_equal(f->where.line, 41);
		synthetic_done(&s);
	}
}

/* The program launched something there, once: it is not what the steps wait for. */
static void a_wait_in_one_long_pause_is_none(void **state)
{
	struct synthetic s;

	for (int stages = 0; stages < 2; stages++) {
		struct sb_model *m = with_pauses(&s, 1, 600, stages);

		assert_int_equal(m->lines.count, 1); /* it was seen */
		assert_null(finding(m, "hidden_sync"));
		assert_null(finding(m, "python_between_steps"));
		synthetic_done(&s);
	}
}

static void on_gpu(
	struct synthetic *s, const char *name, uint64_t launch_ns, uint64_t begin_ns, uint64_t end_ns)
{
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE,
		.launch_tid = TID,
		.name = sb_builder_name(s->b, name, NULL),
		.launch_ns = launch_ns,
		.start_ns = begin_ns,
		.duration_ns = end_ns - begin_ns };

	sb_builder_gpu(s->b, &g);
}

/* A model that is fetched in the first step of each video (150 ms; none: 0) and works 100 ms a step, of which the CPU is in it
 * for 50 and then reads a value; what it waits for is the rest of the step's work. Half of the GPU's samples say it idles. */
static struct sb_model *with_reads(struct synthetic *s, uint64_t moves_ms)
{
	uint32_t inner, own, gpu;
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 25000 };
	uint64_t at = 0;

	synthetic_open(s);
	inner = sb_builder_name(s->b, "cuda.synchronize", NULL);
	own = sb_builder_name(s->b, "pipe.run", NULL);
	sb_builder_code_file(s->b, inner, "/x/site-packages/torch/cuda/__init__.py");
	sb_builder_code_file(s->b, own, "/srv/pipe.py");
	gpu = synthetic_gpu(s, 0);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++) {
			uint64_t moves = k ? 0 : moves_ms * MS, left = at + moves + 50 * MS,
				 done = left + 50 * MS;

			synthetic_begin(s, at, "step", STROBE_ROLE_STEP);
			synthetic_begin(s, at, "transformer", STROBE_ROLE_FORWARD);
			if (moves) {
				synthetic_stage(
					s, at, at + moves, "offload:transformer", STROBE_ROLE_OFFLOAD);
				on_gpu(s, "offload:transformer", at + 1000, at, at + moves);
			}
			synthetic_end(s, left);
			synthetic_end(s, left);
			on_gpu(s, "transformer", at + 500, at, done);
			synthetic_stage(s, left, done, "between_steps", 0);
			for (uint64_t t = 10 * MS; t < 50 * MS; t += 25 * MS)
				sb_builder_stack_sample(s->b, left + t, &sample, (uint32_t[]){ inner, own },
					(uint32_t[]){ 900, 41 }, 2);
			synthetic_gpu_sample(s, gpu, done, 1000, k % 2 ? 100 : 0, 300);
			at = done;
		}
		synthetic_end(s, at);
	}
	return synthetic_model(s, at);
}

/* Neither does what idles while weights move. */
static void a_wait_for_work_that_the_gpu_has_to_do_is_none(void **state)
{
	struct synthetic s;

	for (uint64_t moves_ms = 0; moves_ms <= 150; moves_ms += 150) {
		struct sb_model *m = with_reads(&s, moves_ms);

		assert_int_equal(m->lines.count, 1); /* it was seen */
		assert_null(finding(m, "hidden_sync"));
		synthetic_done(&s);
	}
}

/* Four steps a second: the CPU launches 50 ms of the model's 150 and then stands at the scheduler's .to(device) until the GPU is
 * through with it; the copy itself takes `copies_ms` more on the GPU. */
static struct sb_model *with_uploads(struct synthetic *s, const char *file, uint64_t copies_ms)
{
	uint32_t inner, own, gpu;
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 25000 };
	uint64_t at = 0;

	synthetic_open_at(s, LATER);
	inner = sb_builder_name(s->b, "_tensor.Tensor.to", NULL);
	own = sb_builder_name(s->b, "Scheduler.step", NULL);
	sb_builder_code_file(s->b, inner, "/x/site-packages/torch/_tensor.py");
	sb_builder_code_file(s->b, own, file);
	gpu = synthetic_gpu(s, 0);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++) {
			uint64_t left = at + 50 * MS, done = at + 150 * MS, end = done + copies_ms * MS;

			synthetic_begin(s, at, "step", STROBE_ROLE_STEP);
			synthetic_stage(s, at, left, "transformer", STROBE_ROLE_FORWARD);
			on_gpu(s, "transformer", at + 500, at, done);
			synthetic_stage(s, left, end, "scheduler_step", 0);
			on_gpu(s, "scheduler_step", left + 500, done, end);
			for (uint64_t t = 10 * MS; left + t < end; t += 25 * MS)
				sb_builder_stack_sample(s->b, left + t, &sample, (uint32_t[]){ inner, own },
					(uint32_t[]){ 900, 1 }, 2);
			synthetic_end(s, end);
			synthetic_gpu_sample(s, gpu, end, 1000, k % 2 ? 100 : 0, 300);
			at = end;
		}
		synthetic_end(s, at);
	}
	return synthetic_model(s, at);
}

/* diffusers' UniPC fetches two of its sigmas from the host in every step. */
static void a_copy_costs_what_the_gpu_takes_for_it_and_not_the_wait_for_earlier_work(void **state)
{
	const char source[] = "sigma = self.sigmas[self.step_index].to(device)\n";
	char file[] = "/tmp/strobe-XXXXXX.py";
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;
	int fd = mkstemps(file, 3);

	assert_int_equal(write(fd, source, sizeof source - 1), sizeof source - 1);
	close(fd);
	m = with_uploads(&s, file, 0);
	assert_int_equal(m->lines.count, 1); /* it was seen */
	assert_int_equal(sb_hot_doing(m->lines.all), SB_DOES_COPY);
	assert_null(finding(m, "repeated_work"));
	synthetic_done(&s);
	f = finding(with_uploads(&s, file, 100), "repeated_work");
	assert_non_null(f);
	assert_true(fabs(f->saves_s - (VIDEOS - 1) * STEPS * 0.1) < 0.01);
	assert_int_equal(f->where.line, 1);
	synthetic_done(&s);
	unlink(file);
}

static void a_line_that_only_turns_a_value_into_a_number_waits_for_the_gpu(void **state)
{
	static const char *const waits[] = { "\"sigma\": float(self.scheduler.sigmas[i]),",
		"if bool(flag):", "n = int(x) + int(y[0])" };
	static const char *const computes[] = { "n = int(count(frames))", "x = float(a) + mean(b)",
		"point(x)", "x.float()", "to_int(x)", "x = a[i]" };
	struct sb_line line = { .function = "pipe.run", .file = "/srv/pipe.py", .line = 41 };

	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		line.text = waits[i];
		if (sb_hot_doing(&line) != SB_DOES_WAIT_GPU)
			fail_msg("%s", waits[i]);
	}
	for (size_t i = 0; i < sizeof computes / sizeof *computes; i++) {
		line.text = computes[i];
		if (sb_hot_doing(&line) != SB_DOES_COMPUTE)
			fail_msg("%s", computes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_in_every_pause_between_steps_is_a_hidden_sync),
		cmocka_unit_test(a_wait_in_one_long_pause_is_none),
		cmocka_unit_test(a_wait_for_work_that_the_gpu_has_to_do_is_none),
		cmocka_unit_test(a_copy_costs_what_the_gpu_takes_for_it_and_not_the_wait_for_earlier_work),
		cmocka_unit_test(a_line_that_only_turns_a_value_into_a_number_waits_for_the_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
