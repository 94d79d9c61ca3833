/* What lies between two generations, and between two steps: named by its line, and called what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <stdio.h>
#include <string.h>

enum { TID = 1000, WORKER = 2000, VIDEOS = 5, STEPS = 4 };
#define APART (1500 * MS) /* from one video's begin to the next one's */
#define STEP (250 * MS) /* from one step's begin to the next one's */

/* Videos of a second, half a second apart; after each step a stage of 100 ms in none, where it has a name. */
static void add_videos(struct synthetic *s, uint64_t step_ns, const char *between_steps)
{
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * APART, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++) {
			uint64_t at = i * APART + k * STEP;

			synthetic_begin(s, at, "step", STROBE_ROLE_STEP);
			synthetic_stage(s, at, at + step_ns - 10 * MS, "transformer", 0);
			synthetic_end(s, at + step_ns);
			if (between_steps)
				synthetic_stage(s, at + 110 * MS, at + 210 * MS, between_steps, 0);
		}
		synthetic_end(s, i * APART + SECOND);
	}
}

static void put_videos(struct synthetic *s, uint64_t step_ns, const char *between_steps)
{
	synthetic_open(s);
	add_videos(s, step_ns, between_steps);
}

/* The same on a thread of their own. */
static void put_videos_of_a_worker(struct synthetic *s)
{
	synthetic_open(s);
	s->main = sb_builder_thread(s->b, WORKER, "worker");
	add_videos(s, STEP, NULL);
}

/* Samples of 50 ms: `inner` in a library, called from a line of the program, `per` of them from `at` on, in each video. */
static void see_on(struct synthetic *s, uint32_t tid, const char *inner, const char *file, const char *own,
	uint32_t line, uint64_t at, uint64_t per)
{
	struct sb_builder_sample sample = { .tid = tid, .weight_us = 50000 };
	uint32_t names[3] = { sb_builder_name(s->b, inner, NULL), sb_builder_name(s->b, own, NULL),
		sb_builder_name(s->b, "pipeline_wan.__call__", NULL) };
	const uint32_t lines[] = { 9, line, 600 };

	sb_builder_code_file(s->b, names[0], file);
	sb_builder_code_file(s->b, names[1], "/srv/main.py");
	sb_builder_code_file(s->b, names[2], "/x/site-packages/diffusers/pipeline_wan.py");
	for (uint64_t i = 0; i < VIDEOS; i++)
		for (uint64_t k = 0; k < per; k++)
			sb_builder_stack_sample(s->b, i * APART + at + (k + 1) * 50 * MS, &sample, names,
				lines, at < SECOND ? 3 : 2);
}

static void see(struct synthetic *s, const char *inner, const char *file, const char *own, uint32_t line,
	uint64_t at, uint64_t per)
{
	see_on(s, TID, inner, file, own, line, at, per);
}

static void see_generations(struct synthetic *s)
{
	see(s, "linear.forward", "/x/site-packages/torch/nn/linear.py", "main.run", 7, 0, 1);
}

/* Memory read in each video: 150 MB more every time. */
static void grow(struct synthetic *s)
{
	static const char *const process[] = { "rss_mb" };
	uint32_t schema = sb_builder_schema(s->b, "process", -1, process, 1);

	for (uint64_t i = 0; i < VIDEOS; i++)
		for (uint64_t k = 1; k < 4; k++)
			sb_builder_sample(s->b, schema, i * APART + k * 400 * MS,
				(double[]){ 1000 + (double)(150 * i) }, 1);
}

static void assert_leak_beside(const char *inner, const char *file, bool folded)
{
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, STEP, NULL);
	see_generations(&s);
	see(&s, inner, file, "main.main", 21, SECOND, 9);
	grow(&s);
	m = synthetic_model(&s, VIDEOS * APART);
	f = finding(m, "between_generations");
	assert_non_null(f);
	assert_true(!finding(m, "memory_leak") == folded);
	assert_int_equal(f->explain_count && !strcmp(f->explains[0], "memory_leak"), folded);
	assert_true(!strstr(f->evidence, "memory grows by") == !folded);
	synthetic_done(&s);
}

/* A copy of the pipeline for each request is what grows; a file that is written is not. */
static void memory_without_a_place_is_of_the_line_that_copies_a_pipeline(void **state)
{
	assert_leak_beside("copy.deepcopy", "/usr/lib/python3.11/copy.py", true);
	assert_leak_beside("json.dumps", "/usr/lib/python3.11/json/__init__.py", false);
}

static void work_between_the_generations_is_named_with_its_line(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, STEP, NULL);
	see_generations(&s);
	see(&s, "fromnumeric.sort", "/x/site-packages/numpy/fromnumeric.py", "main.grade", 41, SECOND, 9);
	m = synthetic_model(&s, VIDEOS * APART);
	f = finding(m, "between_generations");
	assert_non_null(f);
	assert_string_equal(f->cause, "grade (main.py:41), in fromnumeric.sort");
	assert_string_equal(f->where.file, "/srv/main.py");
	assert_int_equal(f->where.line, 41);
	assert_near(f->saves_s, 2.25, 1e-6);
	assert_string_equal(f->basis, "estimated");
	assert_string_equal(f->priority, "high");
	assert_non_null(strstr(f->issue, "between the generations"));
	assert_int_equal(f->explain_count, 1);
	assert_string_equal(f->explains[0], "unattributed");
	assert_null(finding(m, "unattributed"));
	synthetic_done(&s);
}

/* The main thread waits all the while. */
/* Videos of a second whose GPU takes so much longer, and a synchronize() that lasts half a second after each. */
static const struct sb_advice *said_of_waiting(struct synthetic *s, uint64_t later_ns)
{
	struct sb_builder_gpu gpu = { .kind = SB_GPU_ZONE, .launch_tid = TID };

	put_videos(s, STEP, NULL);
	gpu.name = sb_builder_name(s->b, "video", NULL);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		gpu.start_ns = gpu.launch_ns = i * APART;
		gpu.duration_ns = SECOND + later_ns;
		sb_builder_gpu(s->b, &gpu);
	}
	see_generations(s);
	see(s, "cuda.synchronize", "/x/site-packages/torch/cuda/__init__.py", "main.main", 41, SECOND, 9);
	return finding(synthetic_model(s, VIDEOS * APART), "between_generations");
}

static void waiting_for_a_generation_that_the_gpu_is_still_at_is_no_loss(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	assert_null(said_of_waiting(&s, 450 * MS));
	synthetic_done(&s);
	f = said_of_waiting(&s, 0);
	assert_non_null(f);
	assert_near(f->saves_s, 2.25, 1e-6);
	synthetic_done(&s);
	f = said_of_waiting(&s, 150 * MS);
	assert_non_null(f);
	assert_near(f->saves_s, 1.5, 1e-6); /* a third less */
	synthetic_done(&s);
}

static void work_between_the_generations_of_a_worker_is_named(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos_of_a_worker(&s);
	see_on(&s, WORKER, "linear.forward", "/x/site-packages/torch/nn/linear.py", "main.run", 7, 0, 1);
	see_on(&s, WORKER, "fromnumeric.sort", "/x/site-packages/numpy/fromnumeric.py", "main.grade", 41,
		SECOND, 9);
	see(&s, "threading.Thread.join", "/usr/lib/python3.11/threading.py", "main.main", 60, 0, 30);
	f = finding(synthetic_model(&s, VIDEOS * APART), "between_generations");
	assert_non_null(f);
	assert_string_equal(f->cause, "grade (main.py:41), in fromnumeric.sort");
	assert_near(f->saves_s, 2.25, 1e-6);
	synthetic_done(&s);
}

/* The main thread makes what the worker waits for; what it does while one is made costs nothing. */
static void work_of_the_thread_that_hands_generations_over_is_named(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos_of_a_worker(&s);
	see_on(&s, WORKER, "linear.forward", "/x/site-packages/torch/nn/linear.py", "main.run", 7, 0, 1);
	see_on(&s, WORKER, "queue.Queue.get", "/usr/lib/python3.11/queue.py", "main.serve", 12, SECOND, 9);
	see(&s, "json.loads", "/usr/lib/python3.11/json/__init__.py", "main.answer", 70, 0, 19);
	see(&s, "fromnumeric.sort", "/x/site-packages/numpy/fromnumeric.py", "main.prepare", 51, SECOND, 9);
	f = finding(synthetic_model(&s, VIDEOS * APART), "between_generations");
	assert_non_null(f);
	assert_string_equal(f->cause, "prepare (main.py:51), in fromnumeric.sort");
	assert_near(f->saves_s, 2.25, 1e-6);
	synthetic_done(&s);
}

static void the_gap_between_the_generations_is_said_though_nothing_was_sampled(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, STEP, NULL);
	f = finding(synthetic_model(&s, VIDEOS * APART), "unattributed");
	assert_non_null(f);
	assert_near(f->value, 100 * 2.0 / 7, 1e-6); /* four gaps of half a second in seven seconds */
	assert_non_null(strstr(f->cause, "cause not found"));
	synthetic_done(&s);
}

/* "for clip in loader:" starts processes, and then waits for what they read. */
static void a_line_that_waits_for_input_and_works_is_told_once(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_stage(&s, i * APART, i * APART + SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(
			&s, i * APART + SECOND, i * APART + 1251 * MS, "data_loading", STROBE_ROLE_DATA);
	}
	see_generations(&s);
	see(&s, "dataloader._next_data", "/x/site-packages/torch/dataloader.py", "main.read", 98, SECOND, 5);
	see(&s, "process.start", "/usr/lib/python3.11/multiprocessing/process.py", "main.read", 98, 1250 * MS,
		4);
	m = synthetic_model(&s, VIDEOS * APART);
	assert_null(finding(m, "between_generations"));
	f = finding(m, "input_starved");
	assert_non_null(f);
	assert_int_equal(f->where.line, 98);
	assert_true(f->saves_s > VIDEOS * 0.25); /* waiting alone */
	synthetic_done(&s);
}

/* A service waits for its next request. */
static void a_program_that_waits_for_requests_is_told_nothing(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, STEP, NULL);
	see_generations(&s);
	see(&s, "queue.Queue.get", "/usr/lib/python3.11/queue.py", "main.serve", 12, SECOND, 9);
	m = synthetic_model(&s, VIDEOS * APART);
	assert_null(finding(m, "between_generations"));
	assert_null(finding(m, "unattributed"));
	synthetic_done(&s);
}

/* What an interpreter does on its way out is no function of the program's. */
static void the_end_of_the_interpreter_is_not_blamed(void **state)
{
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };
	struct synthetic s;
	uint32_t name;

	put_videos(&s, STEP, NULL);
	see_generations(&s);
	name = sb_builder_name(s.b, "library._del_library", NULL);
	sb_builder_code_file(s.b, name, "/x/site-packages/torch/library.py");
	for (uint64_t k = 0; k < 40; k++)
		sb_builder_stack_sample(s.b, VIDEOS * APART + (k + 1) * 50 * MS, &sample, &name,
			(const uint32_t[]){ 674 }, 1);
	assert_null(finding(synthetic_model(&s, VIDEOS * APART + 2 * SECOND), "between_generations"));
	synthetic_done(&s);
}

static void what_strobe_does_itself_is_not_blamed(void **state)
{
	struct synthetic s;

	put_videos(&s, STEP, NULL);
	see_generations(&s);
	see(&s, "strobe", "<strobe>", "main.run", 7, SECOND, 9);
	assert_null(finding(synthetic_model(&s, VIDEOS * APART), "between_generations"));
	synthetic_done(&s);
}

/* A preview: the callback decodes after each step, in no step. */
static void a_vae_between_the_steps_is_repeated_work_of_the_callback(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, 100 * MS, "vae_decode");
	see(&s, "vae.WanResidualBlock.forward", "/x/site-packages/diffusers/vae.py", "main.on_step", 24,
		110 * MS, 1);
	f = finding(synthetic_model(&s, VIDEOS * APART), "repeated_work");
	assert_non_null(f);
	assert_non_null(strstr(f->cause, "the VAE decodes in the steps"));
	if (!strstr(f->cause, "on_step (main.py:24)"))
		fail_msg("%s", f->cause);
	assert_int_equal(f->where.line, 24);
	assert_string_equal(f->stage, "vae_decode");
	synthetic_done(&s);
}

/* Too short to be sampled; the clock tells, also where there is one video. */
static void a_text_encoded_after_each_step_is_repeated_work_without_a_sample(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, 100 * MS, "text_encode");
	f = finding(synthetic_model(&s, VIDEOS * APART), "repeated_work");
	assert_non_null(f);
	if (!strstr(f->cause, "the text is encoded again in the steps or between them, by 'text_encode'"))
		fail_msg("%s", f->cause);
	assert_string_equal(f->stage, "text_encode");
	synthetic_done(&s);

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, 50 * MS, "text_encode", 0);
	for (uint64_t k = 0; k < STEPS; k++) {
		synthetic_step(&s, (k + 1) * 200 * MS, (k + 1) * 200 * MS + 100 * MS, (int64_t)k, 0);
		synthetic_stage(
			&s, (k + 1) * 200 * MS + 110 * MS, (k + 1) * 200 * MS + 190 * MS, "text_encode", 0);
	}
	synthetic_end(&s, (STEPS + 1) * 200 * MS);
	f = finding(synthetic_model(&s, (STEPS + 1) * 200 * MS), "repeated_work");
	assert_non_null(f);
	assert_non_null(strstr(f->evidence, "in 1 generation with"));
	synthetic_done(&s);
}

/* Prompts that are encoded as often as there are steps, all of them before the steps. */
static void texts_that_are_encoded_before_the_steps_are_no_repeated_work(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	for (uint64_t k = 0; k < STEPS; k++)
		synthetic_stage(&s, k * 100 * MS, (k + 1) * 100 * MS, "text_encode", 0);
	for (uint64_t k = 0; k < STEPS; k++)
		synthetic_step(&s, SECOND + k * 100 * MS, SECOND + (k + 1) * 100 * MS, (int64_t)k, 0);
	synthetic_end(&s, 2 * SECOND);
	assert_null(finding(synthetic_model(&s, 2 * SECOND), "repeated_work"));
	synthetic_done(&s);
}

/* Frame by frame, after the last step: as often, and no step waits for it. */
static void a_vae_after_the_steps_is_no_repeated_work(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(&s, i * APART, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++)
			synthetic_step(
				&s, i * APART + k * 50 * MS, i * APART + (k + 1) * 50 * MS, (int64_t)k, 0);
		for (uint64_t k = 0; k < STEPS; k++)
			synthetic_stage(&s, i * APART + 200 * MS + k * 200 * MS,
				i * APART + 400 * MS + k * 200 * MS, "vae_decode", 0);
		synthetic_end(&s, i * APART + SECOND);
	}
	see(&s, "vae.forward", "/x/site-packages/diffusers/vae.py", "main.decode", 24, 210 * MS, 10);
	assert_null(finding(synthetic_model(&s, VIDEOS * APART), "repeated_work"));
	synthetic_done(&s);
}

/* Outside of every step, and still between two: no export of the result. */
static void what_is_written_between_the_steps_is_no_export(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, 100 * MS, NULL);
	see(&s, "subprocess.run", "/usr/lib/python3.11/subprocess.py", "main.on_step", 38, 110 * MS, 2);
	m = synthetic_model(&s, VIDEOS * APART);
	assert_null(finding(m, "slow_export"));
	f = finding(m, "python_between_steps");
	assert_non_null(f);
	assert_string_equal(f->evidence, "0.40 s in 8 samples, of 4.00 s of generations after the first");
	synthetic_done(&s);
}

/* The stage of a scheduler's step is no model's call: what a scheduler of one's own computes there is between two. */
static void a_scheduler_of_ones_own_is_named_by_its_line(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, 100 * MS, "scheduler_step");
	see(&s, "fromnumeric.median", "/x/site-packages/numpy/fromnumeric.py", "main.step", 52, 110 * MS, 2);
	f = finding(synthetic_model(&s, VIDEOS * APART), "python_between_steps");
	assert_non_null(f);
	assert_int_equal(f->where.line, 52);
	assert_string_equal(f->where.stage, "scheduler_step");
	synthetic_done(&s);
}

/* A stage that the program named, and one function in it. */
static void a_stage_that_one_function_takes_names_its_line(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, 100 * MS, "blend");
	see(&s, "fromnumeric.median", "/x/site-packages/numpy/fromnumeric.py", "main.blend", 52, 110 * MS, 2);
	f = finding(synthetic_model(&s, VIDEOS * APART), "stage_dominates");
	assert_non_null(f);
	assert_string_equal(f->stage, "blend");
	assert_int_equal(f->where.line, 52);
	assert_non_null(strstr(f->cause, "most of it was seen at blend (main.py:52)"));
	synthetic_done(&s);
}

static void every_finding_has_a_cause_a_confidence_and_a_basis_of_its_gain(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, 100 * MS, "vae_decode");
	see_generations(&s);
	m = synthetic_model(&s, VIDEOS * APART);
	assert_true(m->advice.count > 0);
	for (size_t i = 0; i < m->advice.count; i++) {
		assert_non_null(m->advice.all[i].cause);
		assert_non_null(m->advice.all[i].confidence);
		assert_int_equal(isnan(m->advice.all[i].saves_s), !m->advice.all[i].basis);
	}
	synthetic_done(&s);
}

/* Five videos of a second with half a second between them, in which a pipeline is loaded; or once, before the first. */
static const char *said_of_loads(bool again)
{
	static char issue[120];
	const struct sb_advice *f;
	struct synthetic s;
	uint64_t t = SECOND;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 5; i++, t += 1500 * MS) {
		if (again || !i)
			synthetic_stage(&s, t - 450 * MS, t - 50 * MS, "load:WanPipeline", STROBE_ROLE_LOAD);
		synthetic_stage(&s, t, t + SECOND, "video", STROBE_ROLE_GENERATION);
	}
	f = finding(synthetic_model(&s, t), "repeated_work");
	snprintf(issue, sizeof issue, "%s", f ? f->issue : "");
	if (f) {
		assert_near(f->saves_s, 4 * 0.4, 1e-6);
		assert_false(f->startup);
	}
	synthetic_done(&s);
	return issue;
}

static void a_pipeline_that_is_loaded_for_every_video_is_named(void **state)
{
	assert_string_equal(
		said_of_loads(true), "'load:WanPipeline' runs again for every generation, 5 times");
	assert_string_equal(said_of_loads(false), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pipeline_that_is_loaded_for_every_video_is_named),
		cmocka_unit_test(a_scheduler_of_ones_own_is_named_by_its_line),
		cmocka_unit_test(a_stage_that_one_function_takes_names_its_line),
		cmocka_unit_test(memory_without_a_place_is_of_the_line_that_copies_a_pipeline),
		cmocka_unit_test(work_between_the_generations_is_named_with_its_line),
		cmocka_unit_test(waiting_for_a_generation_that_the_gpu_is_still_at_is_no_loss),
		cmocka_unit_test(work_between_the_generations_of_a_worker_is_named),
		cmocka_unit_test(work_of_the_thread_that_hands_generations_over_is_named),
		cmocka_unit_test(the_gap_between_the_generations_is_said_though_nothing_was_sampled),
		cmocka_unit_test(a_line_that_waits_for_input_and_works_is_told_once),
		cmocka_unit_test(a_program_that_waits_for_requests_is_told_nothing),
		cmocka_unit_test(the_end_of_the_interpreter_is_not_blamed),
		cmocka_unit_test(what_strobe_does_itself_is_not_blamed),
		cmocka_unit_test(a_vae_between_the_steps_is_repeated_work_of_the_callback),
		cmocka_unit_test(a_text_encoded_after_each_step_is_repeated_work_without_a_sample),
		cmocka_unit_test(texts_that_are_encoded_before_the_steps_are_no_repeated_work),
		cmocka_unit_test(a_vae_after_the_steps_is_no_repeated_work),
		cmocka_unit_test(what_is_written_between_the_steps_is_no_export),
		cmocka_unit_test(every_finding_has_a_cause_a_confidence_and_a_basis_of_its_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
