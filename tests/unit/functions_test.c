/* Sampled stacks: shares, recursion, the innermost stage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include "report/text.h"

enum { TID = 77 };

static const struct sb_function *find(const struct sb_model *m, const char *name)
{
	for (size_t i = 0; i < m->functions.count; i++)
		if (!strcmp(m->functions.all[i].name, name))
			return &m->functions.all[i];
	return NULL;
}

/* 8 samples in decode (called by main, itself recursive) inside "vae" inside
 * "video", 2 in main outside of any stage. */
static void record(struct synthetic *s)
{
	uint32_t decode = sb_builder_name(s->b, "pipe.decode", NULL),
		 top = sb_builder_name(s->b, "pipe.main", NULL);
	const uint32_t deep[] = { decode, decode, top }, shallow[] = { top }, lines[] = { 12, 20, 99 };

	s->main = sb_builder_thread(s->b, TID, "main");
	synthetic_begin(s, 0, "video", 0);
	synthetic_stage(s, 1 * SECOND, 9 * SECOND, "vae", 0);
	synthetic_end(s, 10 * SECOND);
	for (uint64_t i = 0; i < 8; i++)
		sb_builder_stack(s->b, (i + 1) * SECOND + 500 * MS, TID, 0, deep, lines, 3);
	for (uint64_t i = 0; i < 2; i++)
		sb_builder_stack(s->b, (11 + i) * SECOND, TID, 0, shallow, lines, 1);
	sb_builder_code_file(s->b, decode, "/srv/pipe.py");
}

static void functions_are_ranked_by_their_own_samples(void **state)
{
	const struct sb_function *decode, *top;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	record(&s);
	m = synthetic_model(&s, 13 * SECOND);
	assert_int_equal(m->functions.sample_count, 10);
	decode = find(m, "pipe.decode");
	top = find(m, "pipe.main");
	assert_non_null(decode);
	assert_non_null(top);
	assert_ptr_equal(decode, &m->functions.all[0]);
	assert_int_equal(decode->self_count, 8);
	assert_int_equal(decode->total_count, 8); /* recursion counts once */
	assert_int_equal(decode->line, 12);
	assert_string_equal(decode->file, "/srv/pipe.py");
	assert_int_equal(top->self_count, 2);
	assert_int_equal(top->total_count, 10);
	synthetic_done(&s);
}

static void a_sample_belongs_to_the_innermost_stage(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	record(&s);
	m = synthetic_model(&s, 13 * SECOND);
	assert_string_equal(find(m, "pipe.decode")->stage, "vae");
	assert_null(find(m, "pipe.main")->stage);
	synthetic_done(&s);
}

static void without_stacks_there_is_no_panel(void **state)
{
	struct sb_text_options options = { 0 };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "vae", 0);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->functions.count, 0);
	assert_int_equal(sb_report_text(m, &options, &out), 0);
	assert_null(strstr(sb_buf_text(&out), "Functions"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* 3000 samples of one function, one of another without a line. */
static void a_small_share_is_not_nothing_and_an_unknown_line_is_left_out(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;
	const uint32_t line = 12, none = 0;
	uint32_t often, once;

	synthetic_open(&s);
	s.main = sb_builder_thread(s.b, TID, "main");
	often = sb_builder_name(s.b, "often", NULL);
	once = sb_builder_name(s.b, "once", NULL);
	for (uint64_t i = 0; i < 3000; i++)
		sb_builder_stack(s.b, i * MS, TID, 0, &often, &line, 1);
	sb_builder_stack(s.b, 3000 * MS, TID, 0, &once, &none, 1);
	assert_int_equal(sb_report_text(synthetic_model(&s, 4 * SECOND), NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "100.0 % 100.0 %  often:12 "));
	assert_non_null(strstr(sb_buf_text(&out), "< 0.1 % < 0.1 %  once "));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void sampled(struct synthetic *s, uint32_t tid, const char *function, const char *file,
	uint64_t from_ms, uint64_t count)
{
	const struct sb_builder_sample sample = { .tid = tid, .weight_us = 10000 };
	uint32_t name = sb_builder_name(s->b, function, NULL), line = 359;

	if (file)
		sb_builder_code_file(s->b, name, file);
	for (uint64_t i = 0; i < count; i++)
		sb_builder_stack_sample(s->b, (from_ms + 10 * i) * MS, &sample, &name, &line, 1);
}

#define WAITS "threading.Condition.wait", "/usr/lib/python3.11/threading.py"

static void waits_of_threads_beside_the_work_are_listed_apart(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_thread(s.b, TID, "tqdm_monitor");
	sampled(&s, TID, WAITS, 0, 60);
	sampled(&s, TID, "thread._worker", "/usr/lib/python3.11/concurrent/futures/thread.py", 700, 20);
	sampled(&s, 1000, "pipe.main", "/srv/pipe.py", 0, 40);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->functions.count, 1);
	assert_string_equal(m->functions.all[0].name, "pipe.main");
	assert_near(m->functions.all[0].self_ratio, 1, 1e-9);
	assert_int_equal(m->functions.sample_count, 120);
	assert_int_equal(m->functions.waiting_count, 80);
	assert_string_equal(m->functions.waiting[0].name, "threading.Condition.wait");
	assert_near(m->functions.waiting[0].self_ratio, 0.75, 1e-9);
	assert_int_equal(sb_report_text(m, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "shares of the time that 40 sampled stacks stand for"));
	assert_non_null(strstr(sb_buf_text(&out),
		"80 more of threads that only waited, left out: threading.Condition.wait,\n"
		"  thread._worker\n"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void waits_of_the_main_thread_or_inside_a_stage_are_work(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sampled(&s, 1000, WAITS, 0, 10);
	s.main = sb_builder_thread(s.b, TID, "exporter");
	synthetic_stage(&s, 200 * MS, 400 * MS, "export", 0);
	sampled(&s, TID, WAITS, 210, 10);
	sampled(&s, TID, WAITS, 500, 10);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(find(m, "threading.Condition.wait")->self_count, 20);
	assert_int_equal(m->functions.waiting_count, 10);
	synthetic_done(&s);
}

/* As in a server: another thread makes the videos. */
static void a_main_thread_that_waits_for_the_one_that_generates_only_waits(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sampled(&s, 1000, WAITS, 0, 60);
	s.main = sb_builder_thread(s.b, TID, "worker");
	synthetic_stage(&s, 0, 600 * MS, "video", STROBE_ROLE_GENERATION);
	sampled(&s, TID, "pipe.step", "/srv/pipe.py", 0, 40);
	m = synthetic_model(&s, SECOND);
	assert_string_equal(m->functions.all[0].name, "pipe.step");
	assert_int_equal(m->functions.waiting_count, 60);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_ranked_by_their_own_samples),
		cmocka_unit_test(a_sample_belongs_to_the_innermost_stage),
		cmocka_unit_test(without_stacks_there_is_no_panel),
		cmocka_unit_test(waits_of_threads_beside_the_work_are_listed_apart),
		cmocka_unit_test(waits_of_the_main_thread_or_inside_a_stage_are_work),
		cmocka_unit_test(a_main_thread_that_waits_for_the_one_that_generates_only_waits),
		cmocka_unit_test(a_small_share_is_not_nothing_and_an_unknown_line_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
