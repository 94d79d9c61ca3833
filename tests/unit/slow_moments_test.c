/* A slow moment is explained by the thread that ran it, with file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/run_keys.h"
#include "report/text.h"
#include "synthetic.h"

enum { MAIN = 1000, OTHER = 77 };

/* A slow step of 2 s with the pause after it, beside a normal one from 8 to 8.1 s. */
static void caught_at(struct synthetic *s, uint64_t t_ns)
{
	char text[160];
	struct strobe_attr attr = TEXT(SB_RUN_SLOW_MOMENT, text);

	snprintf(text, sizeof text, "step pause %llu %llu %llu %llu %llu",
		(unsigned long long)sb_builder_ticks_at(s->b, t_ns),
		(unsigned long long)sb_builder_ticks_at(s->b, t_ns + 2 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s->b, 8 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s->b, 8 * SECOND + 100 * MS),
		(unsigned long long)(sb_builder_ticks_at(s->b, 100 * MS) - sb_builder_ticks_at(s->b, 0)));
	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

static void caught(struct synthetic *s)
{
	caught_at(s, 10 * SECOND);
}

static void steps(struct synthetic *s)
{
	synthetic_step(s, 8 * SECOND, 8 * SECOND + 90 * MS, 1, 0);
	synthetic_step(s, 10 * SECOND, 10 * SECOND + 90 * MS, 2, 0);
}

/* Samples of 50 ms from 10.1 s on, leaf first. */
static void sampled(struct synthetic *s, uint32_t tid, const uint32_t *names, const uint32_t *lines,
	uint32_t frame_count, uint64_t count)
{
	const struct sb_builder_sample sample = { .tid = tid, .weight_us = 50000 };

	for (uint64_t i = 0; i < count; i++)
		sb_builder_stack_sample(s->b, (10100 + 50 * i) * MS, &sample, names, lines, frame_count);
}

struct names {
	uint32_t wait, monitor, callback;
};

static struct names name_all(struct synthetic *s)
{
	struct names n = { sb_builder_name(s->b, "threading.Condition.wait", NULL),
		sb_builder_name(s->b, "_monitor.TMonitor.run", NULL),
		sb_builder_name(s->b, "pipe.on_step", NULL) };

	sb_builder_code_file(s->b, n.wait, "/usr/lib/python3.11/threading.py");
	sb_builder_code_file(s->b, n.monitor, "/srv/lib/python3.11/site-packages/tqdm/_monitor.py");
	sb_builder_code_file(s->b, n.callback, "/srv/pipe.py");
	return n;
}

static const struct sb_slow_moment *moment_of(struct synthetic *s)
{
	const struct sb_model *m = synthetic_model(s, 20 * SECOND);

	assert_int_equal(m->slow_moments.count, 1);
	assert_non_null(m->slow_moments.all[0].words);
	return &m->slow_moments.all[0];
}

static const struct sb_slow_part *first_function(const struct sb_slow_moment *moment)
{
	for (size_t i = 0; i < moment->part_count; i++)
		if (!strcmp(moment->parts[i].kind, "function"))
			return &moment->parts[i];
	return NULL;
}

static void a_thread_that_waits_beside_the_step_explains_nothing(void **state)
{
	const uint32_t lines[] = { 359, 60 };
	const struct sb_slow_moment *moment;
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct names n;

	(void)state;
	synthetic_open(&s);
	n = name_all(&s);
	steps(&s);
	sb_builder_thread(s.b, OTHER, "tqdm_monitor");
	sampled(&s, OTHER, (const uint32_t[]){ n.wait, n.monitor }, lines, 2, 36);
	sampled(&s, MAIN, &n.callback, (const uint32_t[]){ 41 }, 1, 30);
	caught(&s);
	moment = moment_of(&s);
	assert_string_equal(moment->words, "on_step (pipe.py:41) took 1.50 s longer");
	assert_string_equal(first_function(moment)->file, "/srv/pipe.py");
	assert_int_equal(first_function(moment)->line, 41);
	assert_int_equal(sb_report_text(s.model, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "function on_step (pipe.py:41), 30 instead of 0"));
	for (size_t i = 0; i < moment->part_count; i++)
		assert_null(strstr(moment->parts[i].name, "Condition.wait"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void a_wait_of_the_thread_that_steps_is_named_with_its_caller(void **state)
{
	const uint32_t lines[] = { 359, 43 };
	const struct sb_slow_moment *moment;
	struct synthetic s;
	struct names n;

	(void)state;
	synthetic_open(&s);
	n = name_all(&s);
	steps(&s);
	sampled(&s, MAIN, (const uint32_t[]){ n.wait, n.callback }, lines, 2, 30);
	caught(&s);
	moment = moment_of(&s);
	assert_string_equal(
		moment->words, "on_step (pipe.py:43), in threading.Condition.wait took 1.50 s longer");
	assert_string_equal(first_function(moment)->inside, "threading.Condition.wait");
	synthetic_done(&s);
}

/* As in a server: the main thread waits for the one that makes the videos. */
static void a_step_of_another_thread_is_explained_by_that_thread(void **state)
{
	const uint32_t lines[] = { 359, 60 };
	struct synthetic s;
	struct names n;

	(void)state;
	synthetic_open(&s);
	n = name_all(&s);
	s.main = sb_builder_thread(s.b, OTHER, "worker");
	steps(&s);
	sampled(&s, OTHER, &n.callback, (const uint32_t[]){ 41 }, 1, 30);
	sampled(&s, MAIN, (const uint32_t[]){ n.wait, n.monitor }, lines, 2, 36);
	caught(&s);
	assert_string_equal(moment_of(&s)->words, "on_step (pipe.py:41) took 1.50 s longer");
	synthetic_done(&s);
}

/* The stage says where; its line says what to open. */
static void a_slow_stage_is_named_with_the_line_it_was_at(void **state)
{
	struct synthetic s;
	struct names n;

	(void)state;
	synthetic_open(&s);
	n = name_all(&s);
	steps(&s);
	synthetic_stage(&s, 10 * SECOND + 95 * MS, 11 * SECOND + 700 * MS, "between_steps", 0);
	sampled(&s, MAIN, &n.callback, (const uint32_t[]){ 41 }, 1, 30);
	caught(&s);
	assert_string_equal(moment_of(&s)->words,
		"between_steps took 1.60 s longer, 1 instead of 0 calls, at on_step (pipe.py:41)");
	synthetic_done(&s);
}

/* What was caught has its cause: the report does not say beside it that none was found. */
static void a_caught_cause_needs_no_trace(void **state)
{
	const struct sb_advice *found;
	struct synthetic s;
	struct names n;
	uint32_t gpu;

	(void)state;
	synthetic_open(&s);
	n = name_all(&s);
	synthetic_begin(&s, 7 * SECOND, "video", STROBE_ROLE_GENERATION);
	steps(&s);
	synthetic_step(&s, 14 * SECOND, 14 * SECOND + 90 * MS, 3, 0);
	synthetic_end(&s, 17 * SECOND);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t t = 7; t < 17; t++)
		synthetic_gpu_sample(&s, gpu, t * SECOND, 1000, 50, 100);
	sampled(&s, MAIN, &n.callback, (const uint32_t[]){ 41 }, 1, 30);
	caught(&s);
	caught_at(&s, 14 * SECOND);
	found = finding(synthetic_model(&s, 20 * SECOND), "slow_steps");
	assert_non_null(found);
	assert_non_null(found->cause);
	assert_string_equal(found->where.file, "/srv/pipe.py");
	assert_int_equal(found->where.line, 41);
	assert_null(s.model->summary.next_command);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_waits_beside_the_step_explains_nothing),
		cmocka_unit_test(a_wait_of_the_thread_that_steps_is_named_with_its_caller),
		cmocka_unit_test(a_step_of_another_thread_is_explained_by_that_thread),
		cmocka_unit_test(a_slow_stage_is_named_with_the_line_it_was_at),
		cmocka_unit_test(a_caught_cause_needs_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
