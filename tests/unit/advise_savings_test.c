/* What a finding says can be saved, by sampled lines of the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TID = 1000, OTHER = 2000, VIDEOS = 40, LONG_MS = 25, BUSY_MS = 24 };

/* Videos of 25 ms, one after the other, each a step that begins with the model's call of 10 ms. gpu_ms: how long the GPU works
 * for that call; 0: not known. */
static void put_videos_at(struct synthetic *s, uint64_t gpu_ms, uint64_t start_real_ns)
{
	synthetic_open_at(s, start_real_ns);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		uint64_t at = i * LONG_MS * MS;

		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(s, at, "step", STROBE_ROLE_STEP);
		synthetic_stage(s, at, at + 10 * MS, "transformer", 0);
		synthetic_end(s, at + LONG_MS * MS);
		synthetic_end(s, at + LONG_MS * MS);
		if (gpu_ms)
			sb_builder_gpu(s->b,
				&(struct sb_builder_gpu){ .name = sb_builder_name(s->b, "transformer", NULL),
					.kind = SB_GPU_ZONE,
					.start_ns = at,
					.duration_ns = gpu_ms * MS,
					.launch_ns = at,
					.launch_tid = TID });
	}
}

static void put_videos(struct synthetic *s, uint64_t gpu_ms)
{
	put_videos_at(s, gpu_ms, 0);
}

/* Samples of 50 ms, the first at `first_ms`, every `each_ms`. inner: the library's function it is in; may be NULL. */
static void see(struct synthetic *s, uint32_t tid, const char *function, const char *inner, uint64_t first_ms,
	uint64_t each_ms)
{
	uint32_t own = sb_builder_name(s->b, function, NULL);
	uint32_t leaf = inner ? sb_builder_name(s->b, inner, NULL) : own;
	const uint32_t names[] = { leaf, own }, lines[] = { inner ? 900 : 41, 41 };
	struct sb_builder_sample sample = { .tid = tid, .weight_us = 50000 };

	sb_builder_code_file(s->b, own, "/srv/pipe.py");
	if (inner)
		sb_builder_code_file(s->b, leaf, "/x/site-packages/torch/cuda/memory.py");
	for (uint64_t at = first_ms; at < VIDEOS * LONG_MS; at += each_ms)
		sb_builder_stack_sample(s->b, at * MS, &sample, names, lines, inner ? 2 : 1);
}

static void samples_reach_back_over_short_generations(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, 0);
	see(&s, TID, "pipe.on_step", NULL, 70, 50);
	m = synthetic_model(&s, VIDEOS * LONG_MS * MS);
	assert_int_equal(m->lines.count, 1);
	assert_near(
		m->lines.all[0].generation_s, 0.945, 1e-9); /* up to 970 ms, without the first video's 25 */
	synthetic_done(&s);
}

static void a_comprehension_counts_with_the_function_around_it(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, 0);
	see(&s, TID, "pipe.run.<locals>.on_step", NULL, 70, 100);
	see(&s, TID, "pipe.run.<locals>.on_step.<locals>.<genexpr>", NULL, 120, 100);
	f = finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "python_between_steps");
	assert_non_null(f);
	assert_near(f->saves_s, 0.945, 1e-9);
	synthetic_done(&s);
}

/* Without a GPU's events all of its time; behind a GPU that works all but a millisecond of the 25 it only waits there. */
static void python_behind_a_busy_gpu_costs_nothing(void **state)
{
	struct synthetic s;

	put_videos(&s, BUSY_MS);
	see(&s, TID, "pipe.on_step", NULL, 70, 50);
	assert_null(finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "python_between_steps"));
	synthetic_done(&s);
	put_videos(&s, 10);
	see(&s, TID, "pipe.on_step", NULL, 70, 50);
	assert_non_null(finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "python_between_steps"));
	synthetic_done(&s);
}

/* The GPU works for 16 ms of the 25, of which the step waits through six: nine of the line's fifteen are the line's. */
static void of_a_line_that_the_gpu_is_behind_at_first_the_rest_is_counted(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, 16);
	see(&s, TID, "pipe.on_step", NULL, 70, 50);
	f = finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "python_between_steps");
	assert_non_null(f);
	assert_int_equal(f->where.line, 41);
	assert_near(f->saves_s, (VIDEOS - 1) * 0.009, 1e-3); /* what no stage had work in */
	assert_non_null(strstr(f->evidence, "for 40 % of 'step' the GPU was still at earlier work"));
	synthetic_done(&s);
}

/* What it is ranked by. No saving is stated without a trace: the allocations that follow are not seen. */
static double emptying_costs(uint64_t gpu_ms)
{
	const struct sb_advice *f;
	struct synthetic s;
	double cost_s;

	put_videos(&s, gpu_ms);
	see(&s, TID, "pipe.on_step", "memory.empty_cache", 70, 50);
	f = finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "allocator_thrash");
	assert_non_null(f);
	assert_true(isnan(f->saves_s));
	assert_null(f->basis);
	assert_non_null(strstr(f->evidence, "--gpu-trace=steps:3"));
	cost_s = f->rank_s;
	synthetic_done(&s);
	return cost_s;
}

/* A step that empties the cache at line 2, and then asks for memory at line 3. */
static void what_is_asked_for_again_is_part_of_what_emptying_the_cache_costs(void **state)
{
	static const char source[] = "def on_step():\n"
				     "    torch.cuda.empty_cache()\n"
				     "    parts = [torch.empty(n) for n in sizes]\n";
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };
	char path[] = "/tmp/askXXXXXX.py";
	int fd = mkstemps(path, 3);
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;
	uint32_t name;

	assert_int_equal(write(fd, source, sizeof source - 1), sizeof source - 1);
	close(fd);
	put_videos_at(&s, 0, 8000000000ull * SECOND);
	name = sb_builder_name(s.b, "pipe.on_step", NULL);
	sb_builder_code_file(s.b, name, path);
	for (uint64_t at = 70, line = 2; at < VIDEOS * LONG_MS; at += 50, line = 5 - line)
		sb_builder_stack_sample(
			s.b, at * MS, &sample, &name, (const uint32_t[]){ (uint32_t)line }, 1);
	m = synthetic_model(&s, VIDEOS * LONG_MS * MS);
	unlink(path);
	assert_null(finding(m, "python_between_steps"));
	f = finding(m, "allocator_thrash");
	assert_non_null(f);
	assert_int_equal(f->where.line, 2);
	assert_near(f->rank_s, 0.945, 1e-9); /* both lines: all samples of the warm videos */
	assert_non_null(strstr(f->evidence, "asked for again in on_step"));
	assert_string_equal(f->explains[0], "python_between_steps");
	synthetic_done(&s);
}

/* It waits for the GPU, which works all but a millisecond of the 25. */
static void emptying_the_cache_behind_a_busy_gpu_costs_what_the_gpu_idles(void **state)
{
	assert_near(emptying_costs(BUSY_MS), (VIDEOS - 1) * 0.001, 1e-6);
	assert_near(emptying_costs(0), 0.945, 1e-6); /* not known: all of its time */
	assert_near(emptying_costs(10), 0.945, 1e-6); /* the GPU keeps up: Python is late for all of it */
}

static void a_thread_that_polls_an_event_holds_the_gil(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	put_videos(&s, 0);
	see(&s, OTHER, "pipe.watch", "threading.Event.is_set", 70, 50);
	f = finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "gil_contention");
	assert_non_null(f);
	assert_non_null(strstr(f->cause, "watch (pipe.py:41)"));
	synthetic_done(&s);

	put_videos(&s, 0);
	see(&s, OTHER, "pipe.watch", "threading.Event.wait", 70, 50);
	assert_null(finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "gil_contention"));
	synthetic_done(&s);
}

/* What is said of a thread that was in one line all the while: of each four looks at it so many that found it waiting for the
 * GIL, and the others running, or with the GIL in the pipeline. */
static const char *said_of_looks(struct synthetic *s, unsigned waits, uint32_t others, uint32_t cpu_us)
{
	uint32_t name = sb_builder_name(s->b, "pipe.watch", NULL), line = 41;
	struct sb_builder_sample sample = { .tid = OTHER, .weight_us = 50000, .cpu_us_and_one = cpu_us + 1 };
	const struct sb_advice *f;
	unsigned number = 0;

	sb_builder_code_file(s->b, name, "/srv/pipe.py");
	for (uint64_t at = 70; at < VIDEOS * LONG_MS; at += 50) {
		sample.beside_gil = number++ % 4 < waits ? SB_STACK_STOOD : others;
		sb_builder_stack_sample(s->b, at * MS, &sample, &name, &line, 1);
	}
	f = finding(synthetic_model(s, VIDEOS * LONG_MS * MS), "gil_contention");
	return f ? f->cause : "";
}

static void only_a_thread_that_waits_for_the_gil_is_said_to_hold_it(void **state)
{
	enum { BOTH = SB_STACK_STOOD | SB_STACK_RAN };
	struct synthetic s;

	put_videos(&s, 0);
	assert_string_equal(said_of_looks(&s, 4, 0, 20000), "it holds the GIL: watch (pipe.py:41)");
	synthetic_done(&s);
	put_videos(&s, 0); /* on a crowded machine */
	assert_string_equal(said_of_looks(&s, 1, SB_STACK_RAN, 5000), "it holds the GIL: watch (pipe.py:41)");
	synthetic_done(&s);
	put_videos(&s, 0); /* hashing: it runs while the sampler has the GIL */
	assert_string_equal(said_of_looks(&s, 0, SB_STACK_RAN, 40000), "");
	synthetic_done(&s);
	put_videos(&s, 0); /* the same, and the pipeline has the GIL whenever it is asked */
	assert_string_equal(said_of_looks(&s, 0, BOTH, 40000), "");
	synthetic_done(&s);
	put_videos(&s, 0); /* it waits for something else */
	assert_string_equal(said_of_looks(&s, 4, 0, 100), "");
	synthetic_done(&s);
	put_videos(&s, 0); /* it sleeps, in a function whose name does not say so: no look at all */
	assert_string_equal(said_of_looks(&s, 0, 0, 0), "");
	synthetic_done(&s);
	put_videos(&s, 0); /* an older recording */
	assert_string_equal(said_of_looks(&s, 0, 0, 20000), "it may hold the GIL: watch (pipe.py:41)");
	synthetic_done(&s);
}

static void see_at(struct synthetic *s, uint32_t tid, const char *function, const char *file, uint32_t line)
{
	uint32_t name = sb_builder_name(s->b, function, NULL);
	struct sb_builder_sample sample = { .tid = tid, .weight_us = 50000, .cpu_us_and_one = 1001 };

	sb_builder_code_file(s->b, name, file);
	for (uint64_t at = 70; at < VIDEOS * LONG_MS; at += 50)
		sb_builder_stack_sample(s->b, at * MS, &sample, &name, &line, 1);
}

/* What is said of a step that stands at line 8 while another thread is at that line. */
static void assert_said_beside(uint32_t line, const char *cause)
{
	static const char source[] = "def reload():\n"
				     "    with state.lock:\n"
				     "        data = read()\n"
				     "        time.sleep(1)\n"
				     "    rest(data)\n"
				     "\n"
				     "def on_step():\n"
				     "    with lock:\n";
	char path[] = "/tmp/lockXXXXXX.py";
	int fd = mkstemps(path, 3);
	const struct sb_advice *f;
	struct synthetic s;

	assert_int_equal(write(fd, source, sizeof source - 1), sizeof source - 1);
	close(fd);
	put_videos_at(&s, 0, 8000000000ull * SECOND); /* after the file was written */
	see_at(&s, TID, "pipe.on_step", path, 8);
	see_at(&s, OTHER, "pipe.reload", path, line);
	f = finding(synthetic_model(&s, VIDEOS * LONG_MS * MS), "python_between_steps");
	unlink(path);
	assert_non_null(f);
	assert_non_null(strstr(f->cause, cause));
	assert_true(!strstr(f->cause, "another thread") == !strstr(cause, "another thread"));
	synthetic_done(&s);
}

static void the_thread_that_has_a_lock_is_named(void **state)
{
	assert_said_beside(4, "with lock: waits for a lock that another thread has: reload (");
	assert_said_beside(5, "with lock:"); /* behind the body */
}

/* A library that calls itself forty times below the line. */
static void a_line_above_a_deep_library_is_found(void **state)
{
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };
	uint32_t names[42], lines[42], own, deep;
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, 0);
	own = sb_builder_name(s.b, "pipe.on_step", NULL);
	deep = sb_builder_name(s.b, "copy.deepcopy", NULL);
	sb_builder_code_file(s.b, own, "/srv/pipe.py");
	sb_builder_code_file(s.b, deep, "/usr/lib/python3.11/copy.py");
	for (uint32_t i = 0; i < 42; i++) {
		names[i] = i < 41 ? deep : own;
		lines[i] = i < 41 ? 128 : 41;
	}
	for (uint64_t at = 70; at < VIDEOS * LONG_MS; at += 50)
		sb_builder_stack_sample(s.b, at * MS, &sample, names, lines, 42);
	m = synthetic_model(&s, VIDEOS * LONG_MS * MS);
	assert_int_equal(m->lines.count, 1);
	assert_string_equal(m->lines.all[0].function, "pipe.on_step");
	assert_string_equal(m->lines.all[0].inner, "copy.deepcopy");
	synthetic_done(&s);
}

/* max_data_points keeps two of the events; the others collected too. */
static void collections_count_though_their_events_are_thinned(void **state)
{
	struct strobe_attr took = { "duration_s", STROBE_TYPE_FLOAT, { .f = 0.01 } };
	const struct strobe_attr most = { "max_data_points", STROBE_TYPE_INT, { .i = 2 } };
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;

	put_videos(&s, 0);
	sb_builder_meta(s.b, SB_META_SETTING, &most);
	for (uint64_t i = 0; i < VIDEOS; i++)
		sb_builder_event(s.b, (i * LONG_MS + 20) * MS, "garbage collection", 0, &took, 1);
	m = synthetic_model(&s, VIDEOS * LONG_MS * MS);
	assert_true(m->events.count < VIDEOS);
	f = finding(m, "garbage_collection");
	assert_non_null(f);
	assert_near(f->saves_s, (VIDEOS - 1) * 0.01, 1e-9);
	synthetic_done(&s);
}

/* A first step of four seconds, then 39 of a tenth: ten that are left out are none of the first. */
static void steps_that_are_left_out_are_warm_ones(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	struct sb_model *m;
	uint64_t at = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	for (uint64_t k = 0; k < 40; k++) {
		uint64_t end = at + (k ? 100 * MS : 4 * SECOND);

		synthetic_step(&s, at, end, (int64_t)k, 0);
		at = end;
	}
	synthetic_end(&s, at);
	m = synthetic_model(&s, at);
	f = finding(m, "steps_many");
	assert_non_null(f);
	assert_near(f->saves_s, 1, 1e-6);
	assert_non_null(strstr(f->evidence, "40 steps of 0.100 s once warm; 30 would save 1.00 s"));
	assert_string_equal(m->strategies.all[0].knob, "steps");
	assert_near(m->strategies.all[0].gain_s, 1.3, 1e-6); /* 27 of 40 */
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_reach_back_over_short_generations),
		cmocka_unit_test(a_comprehension_counts_with_the_function_around_it),
		cmocka_unit_test(python_behind_a_busy_gpu_costs_nothing),
		cmocka_unit_test(of_a_line_that_the_gpu_is_behind_at_first_the_rest_is_counted),
		cmocka_unit_test(what_is_asked_for_again_is_part_of_what_emptying_the_cache_costs),
		cmocka_unit_test(emptying_the_cache_behind_a_busy_gpu_costs_what_the_gpu_idles),
		cmocka_unit_test(a_thread_that_polls_an_event_holds_the_gil),
		cmocka_unit_test(only_a_thread_that_waits_for_the_gil_is_said_to_hold_it),
		cmocka_unit_test(the_thread_that_has_a_lock_is_named),
		cmocka_unit_test(a_line_above_a_deep_library_is_found),
		cmocka_unit_test(collections_count_though_their_events_are_thinned),
		cmocka_unit_test(steps_that_are_left_out_are_warm_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
