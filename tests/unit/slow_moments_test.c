/* A slow moment is explained by the thread that ran it, with file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "advise/next.h"
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

static void collected(struct synthetic *s, uint64_t t_ns, double duration_s)
{
	const struct strobe_attr attr = {
		.key = "duration_s", .type = STROBE_TYPE_FLOAT, .value.f = duration_s
	};

	sb_builder_event(s->b, t_ns, "garbage collection", 0, &attr, 1);
}

/* It stops the sampler, too: no function says where the time went. */
static void a_garbage_collection_is_a_cause(void **state)
{
	const struct sb_slow_moment *moment;
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_step(&s, 8 * SECOND, 8 * SECOND + 90 * MS, 1, 0);
	synthetic_step(&s, 10 * SECOND, 12 * SECOND, 2, 0);
	collected(&s, 8 * SECOND + 50 * MS, 0.002);
	collected(&s, 11 * SECOND + 950 * MS, 1.8);
	collected(&s, 14 * SECOND, 1.5);
	caught(&s);
	moment = moment_of(&s);
	assert_non_null(strstr(moment->words, "longer, Python collected garbage for 1.80 s"));
	assert_int_equal(sb_report_text(s.model, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "+ 1.80 s   garbage  garbage collection, 1 in both"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* Beside a function that was sampled while it began. */
static void a_garbage_collection_outside_all_stages_is_a_cause(void **state)
{
	struct synthetic s;
	struct names n;

	(void)state;
	synthetic_open(&s);
	n = name_all(&s);
	steps(&s);
	sampled(&s, MAIN, &n.callback, (const uint32_t[]){ 41 }, 1, 1);
	collected(&s, 10200 * MS, 1.8);
	caught(&s);
	assert_string_equal(moment_of(&s)->words, "Python collected garbage for 1.80 s");
	synthetic_done(&s);
}

static void a_pause_that_nothing_explains_says_so(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	steps(&s);
	caught(&s);
	assert_string_equal(
		moment_of(&s)->words, "the pause after the step took 1.90 s longer, outside all zones");
	synthetic_done(&s);
}

static void say(struct synthetic *s, const char *key, const char *text)
{
	const struct strobe_attr attr = TEXT(key, text);

	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

/* Begins at t_ns, as does the first of a row; the slowest lasts from `from` to `to`. */
static void row_at(
	struct synthetic *s, uint64_t t_ns, uint32_t count, uint64_t end_ns, uint64_t from, uint64_t to)
{
	char text[200];

	snprintf(text, sizeof text, "step %llu %u %llu clock %llu %llu %llu %llu",
		(unsigned long long)sb_builder_ticks_at(s->b, t_ns), count,
		(unsigned long long)sb_builder_ticks_at(s->b, end_ns),
		(unsigned long long)sb_builder_ticks_at(s->b, from),
		(unsigned long long)sb_builder_ticks_at(s->b, to),
		(unsigned long long)(sb_builder_ticks_at(s->b, 100 * MS) - sb_builder_ticks_at(s->b, 0)),
		(unsigned long long)(sb_builder_ticks_at(s->b, to) -
				     sb_builder_ticks_at(s->b, from + 100 * MS)));
	say(s, SB_RUN_SLOW_ROW, text);
}

static void displaced_at(struct synthetic *s, uint64_t t_ns)
{
	char text[64];

	snprintf(text, sizeof text, "step %llu", (unsigned long long)sb_builder_ticks_at(s->b, t_ns));
	say(s, SB_RUN_SLOW_DISPLACED, text);
}

/* Of each the first is said first, the row later and more than once; all of the report is of its slowest step. */
static void steps_slow_in_a_row_are_one_moment(void **state)
{
	const struct sb_slow_moment *moment;
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_step(&s, 8 * SECOND, 8 * SECOND + 90 * MS, 1, 0);
	synthetic_step(&s, 10 * SECOND, 12 * SECOND, 2, 0);
	synthetic_step(&s, 12 * SECOND, 15 * SECOND, 3, 0);
	synthetic_step(&s, 15 * SECOND, 15 * SECOND + 400 * MS, 4, 0);
	synthetic_step(&s, 15 * SECOND + 400 * MS, 15 * SECOND + 490 * MS, 5, 0);
	caught(&s);
	row_at(&s, 10 * SECOND, 2, 15 * SECOND, 12 * SECOND, 15 * SECOND);
	row_at(&s, 10 * SECOND, 3, 15 * SECOND + 400 * MS, 12 * SECOND, 15 * SECOND);
	moment = &synthetic_model(&s, 20 * SECOND)->slow_moments.all[0];
	assert_int_equal(s.model->slow_moments.count, 1);
	assert_int_equal(moment->step, 3);
	assert_true(fabs(moment->duration_s - 3) < 1e-6);
	assert_string_equal(moment->judged_by, "clock");
	assert_int_equal(moment->row.count, 3);
	assert_int_equal(moment->row.first_step, 2);
	assert_int_equal(moment->row.last_step, 4);
	assert_true(fabs(moment->row.duration_s - 5.4) < 1e-6);
	assert_string_equal(moment->row.words, "steps 2-4 (3 in a row; slowest 30.0 x)");
	assert_int_equal(sb_report_text(s.model, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out),
		"  slow: steps 2-4 (3 in a row; slowest 30.0 x), the slowest, step_index 3: at "));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* What was asked for ends before its step does; the rest of it is still to come, and nothing took longer. */
static void what_was_asked_for_is_beside_a_normal_one(void **state)
{
	const struct sb_slow_moment *moment;
	char text[160];
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	steps(&s);
	snprintf(text, sizeof text, "asked - %llu %llu %llu %llu 0 a customer called",
		(unsigned long long)sb_builder_ticks_at(s.b, 10 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s.b, 10 * SECOND + 20 * MS),
		(unsigned long long)sb_builder_ticks_at(s.b, 8 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s.b, 8 * SECOND + 90 * MS));
	say(&s, SB_RUN_SLOW_MOMENT, text);
	moment = &synthetic_model(&s, 20 * SECOND)->slow_moments.all[0];
	assert_string_equal(moment->why, "a customer called");
	assert_int_equal(moment->step, 2);
	assert_true(fabs(moment->normal_s - 0.09) < 1e-6);
	assert_null(moment->words);
	synthetic_done(&s);
}

/* Its steps have numbers; it has none. */
static void a_slow_generation_is_no_step(void **state)
{
	char text[160];
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_begin(&s, 10 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_step(&s, 10 * SECOND + 10 * MS, 10 * SECOND + 100 * MS, 7, 0);
	synthetic_end(&s, 12 * SECOND);
	snprintf(text, sizeof text, "generation clock %llu %llu 0 0 1",
		(unsigned long long)sb_builder_ticks_at(s.b, 10 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s.b, 12 * SECOND));
	say(&s, SB_RUN_SLOW_MOMENT, text);
	assert_int_equal(synthetic_model(&s, 20 * SECOND)->slow_moments.count, 1);
	assert_int_equal(s.model->slow_moments.all[0].step, -1);
	synthetic_done(&s);
}

static void a_row_without_numbers_says_how_many(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	caught(&s);
	row_at(&s, 10 * SECOND, 3, 14 * SECOND, 10 * SECOND, 12 * SECOND);
	assert_string_equal(synthetic_model(&s, 20 * SECOND)->slow_moments.all[0].row.words,
		"3 steps in a row (slowest 20.0 x)");
	synthetic_done(&s);
}

/* The pause after a step makes it longer, and is no row. */
static void one_that_grew_is_no_row(void **state)
{
	const struct sb_slow_moment *moment;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	caught(&s);
	row_at(&s, 10 * SECOND, 1, 15 * SECOND, 10 * SECOND, 15 * SECOND);
	moment = &synthetic_model(&s, 20 * SECOND)->slow_moments.all[0];
	assert_null(moment->row.words);
	assert_true(fabs(moment->duration_s - 5) < 1e-6);
	synthetic_done(&s);
}

static void what_gave_way_is_not_listed(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	caught_at(&s, 10 * SECOND);
	caught_at(&s, 14 * SECOND);
	displaced_at(&s, 10 * SECOND);
	displaced_at(&s, 11 * SECOND); /* none that is known */
	caught_at(&s, 17 * SECOND);
	assert_int_equal(synthetic_model(&s, 20 * SECOND)->slow_moments.count, 2);
	assert_true(fabs(s.model->slow_moments.all[0].t_s - 14) < 1e-6);
	assert_true(fabs(s.model->slow_moments.all[1].t_s - 17) < 1e-6);
	synthetic_done(&s);
}

static void lines_that_strobe_did_not_write_are_passed_over(void **state)
{
	static const char *const rows[] = { "", "step", "step 1 2 3", "step 0 3 9 clock 1 2 3",
		"step 18446744073709551615 3 18446744073709551615 clock 18446744073709551615 "
		"18446744073709551615 1 1" };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		say(&s, SB_RUN_SLOW_ROW, rows[i]);
		say(&s, SB_RUN_SLOW_DISPLACED, rows[i]);
	}
	say(&s, SB_RUN_SLOW_MOMENT, "step clock 9223372036854775807 18446744073709551615 0 0 0");
	say(&s, SB_RUN_SLOW_MOMENT, "step clock 20 10 0 0 0");
	caught(&s);
	row_at(&s, 10 * SECOND, 3, 12 * SECOND, 9 * SECOND, 11 * SECOND); /* the slowest before the first */
	row_at(&s, 10 * SECOND, 3, 11 * SECOND, 10 * SECOND, 12 * SECOND); /* or after the last */
	assert_int_equal(synthetic_model(&s, 20 * SECOND)->slow_moments.count, 1);
	assert_int_equal(s.model->slow_moments.all[0].row.count, 0);
	assert_true(fabs(s.model->slow_moments.all[0].duration_s - 2) < 1e-6);
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
	assert_true(found && found->cause);
	assert_string_equal(found->where.file, "/srv/pipe.py");
	assert_int_equal(found->where.line, 41);
	assert_null(s.model->summary.next_command);
	s.model->advice.all[0] = *found;
	s.model->advice.count = 1;
	s.model->advice.all[0].priority = "low"; /* one that costs little has its cause, too */
	sb_next_find(s.model);
	assert_null(s.model->summary.next_command);
	s.model->advice.all[0].id = "gpu_gaps";
	sb_next_find(s.model);
	assert_non_null(s.model->summary.next_command);
	synthetic_done(&s);
}

/* Behind sixty letters of namespaces stands what tells it from others. */
static void a_kernel_that_took_longer_has_its_short_name(void **state)
{
	static const char gelu[] =
		"void at::native::vectorized_elementwise_kernel<4, "
		"at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
		"at::native::GeluType)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() "
		"const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)";
	const struct sb_text_options wide = { .columns = 120 };
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	steps(&s);
	synthetic_kernel(&s, gelu, 8 * SECOND + MS, 50 * MS);
	synthetic_kernel(&s, gelu, 10 * SECOND + MS, 1900 * MS);
	synthetic_gpu_trace(&s, 7 * SECOND, 13 * SECOND);
	caught(&s);
	assert_non_null(strstr(
		moment_of(&s)->words, ": vectorized_elementwise GeluCUDAKernelImpl<bf16> 1.85 s more"));
	assert_int_equal(sb_report_text(s.model, &wide, &out), 0);
	assert_non_null(strstr(
		sb_buf_text(&out), "kernel   vectorized_elementwise GeluCUDAKernelImpl<bf16>, 1 in both"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_that_took_longer_has_its_short_name),
		cmocka_unit_test(a_thread_that_waits_beside_the_step_explains_nothing),
		cmocka_unit_test(a_wait_of_the_thread_that_steps_is_named_with_its_caller),
		cmocka_unit_test(a_step_of_another_thread_is_explained_by_that_thread),
		cmocka_unit_test(a_slow_stage_is_named_with_the_line_it_was_at),
		cmocka_unit_test(a_garbage_collection_is_a_cause),
		cmocka_unit_test(a_garbage_collection_outside_all_stages_is_a_cause),
		cmocka_unit_test(a_pause_that_nothing_explains_says_so),
		cmocka_unit_test(what_was_asked_for_is_beside_a_normal_one),
		cmocka_unit_test(steps_slow_in_a_row_are_one_moment),
		cmocka_unit_test(a_slow_generation_is_no_step),
		cmocka_unit_test(a_row_without_numbers_says_how_many),
		cmocka_unit_test(one_that_grew_is_no_row),
		cmocka_unit_test(what_gave_way_is_not_listed),
		cmocka_unit_test(lines_that_strobe_did_not_write_are_passed_over),
		cmocka_unit_test(a_caught_cause_needs_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
