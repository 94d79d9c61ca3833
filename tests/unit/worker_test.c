/* The process that reads: killed, hung or talking rubbish, it is replaced and
 * the file is named. This program is its own worker. */
#include "serve/worker.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char said[1200];
static unsigned said_count;

static void on_log(void *self, const char *line)
{
	snprintf(said, sizeof said, "%s", line);
	said_count++;
}

/* Behaves as the id says. */
static void act(void *self, struct sb_worker_task *task, struct sb_worker_link *link)
{
	bool good = !task->id[0] || sb_worker_reading(link, task->id);

	if (!good)
		snprintf(task->message, sizeof task->message, "left alone");
	task->status = good ? 200 : 500;
	if (good && !strncmp(task->id, "crash", 5))
		raise(SIGSEGV);
	if (good && !strncmp(task->id, "hang", 4))
		for (;;)
			pause();
	if (good && !strncmp(task->id, "huge", 4))
		for (int i = 0; i < 5000; i++)
			sb_buf_puts(&task->body, "more than anybody wants to read. ");
	sb_buf_printf(&task->body, "%s:%s", task->target, task->id);
	task->state = SB_RUN_ENDED;
}

static int set_up(void **state)
{
	struct sb_worker_options o = {
		.target = "/the/runs", .task_limit_s = 60, .answer_bytes = 100000, .log = on_log
	};
	struct sb_worker *w = NULL;

	said[0] = '\0';
	said_count = 0;
	assert_int_equal(sb_worker_start(&o, &w), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	sb_worker_stop(*state);
	return 0;
}

/* Waits for what the other process does; the bound only ends a hang. */
static struct sb_worker_task *next(struct sb_worker *w, double now_s)
{
	for (int i = 0; i < 600; i++) {
		struct pollfd p = { .fd = sb_worker_fd(w), .events = POLLIN };
		struct sb_worker_task *task;

		sb_worker_step(w, now_s);
		task = sb_worker_take(w);
		if (task)
			return task;
		p.fd = sb_worker_fd(w);
		poll(&p, 1, 100);
	}
	return NULL;
}

static struct sb_worker_task *ask(struct sb_worker *w, const char *id)
{
	struct sb_worker_task *task;

	assert_int_equal(sb_worker_ask(w, SB_TASK_REPORT, id, id, ""), 0);
	task = next(w, 1000);
	assert_non_null(task);
	assert_string_equal(task->key, id);
	return task;
}

static void jobs_are_answered_in_order(void **state)
{
	struct sb_worker *w = *state;

	assert_int_equal(sb_worker_ask(w, SB_TASK_REPORT, "a", "one", ""), 0);
	assert_int_equal(sb_worker_ask(w, SB_TASK_REPORT, "b", "two", ""), 0);
	for (int i = 0; i < 2; i++) {
		struct sb_worker_task *task = next(w, 1000);

		assert_non_null(task);
		assert_int_equal(task->status, 200);
		assert_int_equal(task->state, SB_RUN_ENDED);
		assert_string_equal(task->body.data, i ? "/the/runs:two" : "/the/runs:one");
		sb_worker_task_free(task);
	}
	assert_int_equal(sb_worker_restarts(w), 0);
}

static void a_file_that_kills_the_worker_is_named_and_left_alone(void **state)
{
	struct sb_worker *w = *state;
	struct sb_worker_task *task = ask(w, "crash.strobe");

	assert_int_equal(task->status, 500);
	assert_non_null(strstr(task->message, "signal 11"));
	assert_non_null(strstr(task->message, "'crash.strobe'"));
	assert_non_null(strstr(said, "'crash.strobe'"));
	sb_worker_task_free(task);
	task = ask(w, "good.strobe"); /* a new process answers */
	assert_int_equal(task->status, 200);
	sb_worker_task_free(task);
	task = ask(w, "crash.strobe"); /* and does not fall for it again */
	assert_int_equal(task->status, 500);
	assert_string_equal(task->message, "left alone");
	sb_worker_task_free(task);
	assert_int_equal(sb_worker_restarts(w), 1);
	assert_int_equal(said_count, 1);
}

static void metrics_are_tried_again_without_the_bad_file(void **state)
{
	struct sb_worker *w = *state;
	struct sb_worker_task *task;

	assert_int_equal(sb_worker_ask(w, SB_TASK_METRICS, "m", "crash.strobe", ""), 0);
	task = next(w, 1000);
	assert_non_null(task);
	assert_string_equal(task->message, "left alone"); /* the second worker's word */
	sb_worker_task_free(task);
}

static void a_worker_that_hangs_is_replaced(void **state)
{
	struct sb_worker *w = *state;
	struct sb_worker_task *task;

	assert_int_equal(sb_worker_ask(w, SB_TASK_REPORT, "h", "hang.strobe", ""), 0);
	sb_worker_step(w, 1000);
	for (int i = 0; i < 100; i++) { /* until it has said what it reads */
		struct pollfd p = { .fd = sb_worker_fd(w), .events = POLLIN };

		if (poll(&p, 1, 100) > 0)
			break;
	}
	sb_worker_step(w, 1059);
	assert_null(sb_worker_take(w));
	task = next(w, 1060);
	assert_non_null(task);
	assert_int_equal(task->status, 500);
	assert_non_null(strstr(task->message, "took more than 60 s while reading 'hang.strobe'"));
	sb_worker_task_free(task);
	task = ask(w, "good.strobe");
	assert_int_equal(task->status, 200);
	sb_worker_task_free(task);
}

static void an_answer_too_long_is_not_taken(void **state)
{
	struct sb_worker_task *task = ask(*state, "huge.strobe");

	assert_int_equal(task->status, 500);
	assert_int_equal(task->body.size, 0);
	sb_worker_task_free(task);
}

static void too_many_jobs_are_refused(void **state)
{
	struct sb_worker *w = *state;
	unsigned taken = 0;

	while (taken < 1000 && !sb_worker_ask(w, SB_TASK_REPORT, "k", "hang.strobe", ""))
		taken++;
	assert_int_equal(taken, SB_WORKER_QUEUE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jobs_are_answered_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_file_that_kills_the_worker_is_named_and_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			metrics_are_tried_again_without_the_bad_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_worker_that_hangs_is_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_too_long_is_not_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_jobs_are_refused, set_up, tear_down),
	};

	if (getenv(SB_WORKER_FD))
		return sb_worker_serve(act, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
