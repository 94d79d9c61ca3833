/* The server's side: one task is out at a time, the others wait here, so that a
 * worker that dies takes one answer with it and no more. */
#include "serve/worker.h"
#include "serve/worker_wire.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct sb_worker {
	struct sb_worker_options options;
	pid_t pid; /* 0: none */
	int fd;
	struct sb_worker_task *todo, **todo_end; /* the first is out when out is set */
	struct sb_worker_task *done, **done_end;
	size_t todo_count;
	bool out;
	double out_since_s; /* 0: not known yet */
	struct sb_buf in; /* what has come of the reply */
	char reading[SB_WORKER_TEXT_MAX + 1];
	char *bad[SB_WORKER_BAD_MAX];
	size_t bad_count;
	uint64_t restarts;
};

const char *sb_run_state_text(enum sb_run_state state)
{
	static const char *const texts[SB_RUN_STATES] = { "unknown", "live", "ended", "killed" };

	return texts[state < SB_RUN_STATES ? state : SB_RUN_UNKNOWN];
}

void sb_worker_task_free(struct sb_worker_task *task)
{
	if (!task)
		return;
	sb_buf_done(&task->body);
	sb_buf_done(&task->timeline);
	free(task->key);
	free(task->target);
	free(task->id);
	free(task->other);
	free(task);
}

/* ---- the process ---- */

static int spawn_with(struct sb_worker *w, int theirs)
{
	char number[16], variable[64];
	char *argv[] = { (char *)"strobe", (char *)"serve", NULL };
	char **env;
	size_t count = 0;
	int err;

	while (environ[count])
		count++;
	env = calloc(count + 2, sizeof *env);
	if (!env)
		return ENOMEM;
	snprintf(number, sizeof number, "%d", theirs);
	snprintf(variable, sizeof variable, "%s=%s", SB_WORKER_FD, number);
	env[0] = variable;
	memcpy(env + 1, environ, count * sizeof *env);
	err = posix_spawn(&w->pid, "/proc/self/exe", NULL, NULL, argv, env);
	free(env);
	return err;
}

static int start_process(struct sb_worker *w)
{
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return sb_fail_errno("cannot start the process that reads runs");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	fcntl(ends[1], F_SETFD, 0);
	err = spawn_with(w, ends[1]);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		w->pid = 0;
		errno = err;
		return sb_fail_errno("cannot start the process that reads runs");
	}
	w->fd = ends[0];
	return 0;
}

/* The wait status; the process is gone afterwards in any case. */
static int end_process(struct sb_worker *w)
{
	int status = 0;

	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	if (w->pid > 0) {
		kill(w->pid, SIGKILL);
		while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	w->pid = 0;
	sb_buf_clear(&w->in);
	return status;
}

/* ---- tasks ---- */

static void finish(struct sb_worker *w)
{
	struct sb_worker_task *task = w->todo;

	w->todo = task->next;
	if (!w->todo)
		w->todo_end = &w->todo;
	w->todo_count--;
	w->out = false;
	w->reading[0] = '\0';
	task->next = NULL;
	*w->done_end = task;
	w->done_end = &task->next;
}

static void fail_job(struct sb_worker *w, const char *message)
{
	struct sb_worker_task *task = w->todo;

	task->status = 500;
	snprintf(task->message, sizeof task->message, "%.*s", (int)sizeof task->message - 1, message);
	sb_buf_done(&task->body);
	sb_buf_done(&task->timeline);
	finish(w);
}

static void remember_bad(struct sb_worker *w)
{
	char *copy = w->reading[0] && w->bad_count < SB_WORKER_BAD_MAX ? strdup(w->reading) : NULL;

	if (copy)
		w->bad[w->bad_count++] = copy;
}

/* The worker is lost: says why and with which file. Metrics are asked for again,
 * as they are about every other run too. */
static void lose(struct sb_worker *w, const char *why)
{
	char line[900];
	bool again;

	if (w->reading[0])
		snprintf(line, sizeof line,
			"the process that reads runs %s while reading '%.400s', which is left alone "
			"until the server restarts",
			why, w->reading);
	else
		snprintf(line, sizeof line, "the process that reads runs %s", why);
	again = w->out && w->reading[0] && w->bad_count < SB_WORKER_BAD_MAX &&
		w->todo->kind != SB_TASK_REPORT && w->todo->kind != SB_TASK_DIFF;
	remember_bad(w);
	w->restarts++;
	if (w->options.log)
		w->options.log(w->options.log_self, line);
	if (again) {
		w->out = false;
		w->reading[0] = '\0';
	} else if (w->out) {
		fail_job(w, line);
	}
}

static void died(struct sb_worker *w)
{
	int status = end_process(w);
	char why[80];

	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		snprintf(why, sizeof why, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof why, "ended");
	lose(w, why);
}

/* Small enough for the socket's buffer: it is empty when a task goes out. */
static bool send_job(struct sb_worker *w)
{
	const struct sb_worker_task *task = w->todo;
	struct sb_worker_request r = { .magic = SB_WORKER_MAGIC,
		.kind = task->kind,
		.target_size = (uint32_t)strlen(w->options.target),
		.id_size = (uint32_t)strlen(task->id),
		.other_size = (uint32_t)strlen(task->other),
		.memory_bytes = w->options.memory_bytes };
	struct sb_buf out = { 0 };
	bool sent;

	for (size_t i = 0; i < w->bad_count; i++)
		r.bad_size += (uint32_t)strlen(w->bad[i]) + 1;
	sb_buf_add(&out, &r, sizeof r);
	sb_buf_puts(&out, w->options.target);
	sb_buf_puts(&out, task->id);
	sb_buf_puts(&out, task->other);
	for (size_t i = 0; i < w->bad_count; i++)
		sb_buf_add(&out, w->bad[i], strlen(w->bad[i]) + 1);
	sent = !sb_buf_failed(&out) && send(w->fd, out.data, out.size, MSG_NOSIGNAL) == (ssize_t)out.size;
	sb_buf_done(&out);
	return sent;
}

static void send_next(struct sb_worker *w)
{
	if (!w->todo || w->out)
		return;
	if (w->fd < 0 && start_process(w)) {
		fail_job(w, sb_error_message());
		return;
	}
	w->out = true;
	w->out_since_s = 0;
	if (!send_job(w))
		died(w);
}

/* ---- replies ---- */

static size_t reply_size(const struct sb_worker_reply *r)
{
	return sizeof *r + r->reading_size + r->message_size + r->body_size + r->timeline_size;
}

static bool makes_sense(const struct sb_worker *w, const struct sb_worker_reply *r)
{
	return r->magic == SB_WORKER_MAGIC && r->reading_size <= SB_WORKER_TEXT_MAX &&
	       r->state < SB_RUN_STATES && r->message_size < sizeof w->todo->message &&
	       r->body_size <= w->options.answer_bytes && r->timeline_size <= w->options.answer_bytes &&
	       w->out;
}

static void take_reply(struct sb_worker *w, const struct sb_worker_reply *r)
{
	const char *at = w->in.data + sizeof *r;
	struct sb_worker_task *task = w->todo;

	if (r->reading_size) {
		memcpy(w->reading, at, r->reading_size);
		w->reading[r->reading_size] = '\0';
		return;
	}
	task->status = r->status;
	task->state = (enum sb_run_state)r->state;
	task->aggregate = r->aggregate != 0;
	memcpy(task->message, at, r->message_size);
	task->message[r->message_size] = '\0';
	sb_buf_add(&task->body, at + r->message_size, r->body_size);
	sb_buf_add(&task->timeline, at + r->message_size + r->body_size, r->timeline_size);
	if (sb_buf_failed(&task->body) || sb_buf_failed(&task->timeline))
		fail_job(w, "no memory for the answer");
	else
		finish(w);
}

/* False: the worker says what it never would. */
static bool take_replies(struct sb_worker *w)
{
	while (w->in.size >= sizeof(struct sb_worker_reply)) {
		struct sb_worker_reply r;
		size_t size;

		memcpy(&r, w->in.data, sizeof r);
		if (!makes_sense(w, &r))
			return false;
		size = reply_size(&r);
		if (w->in.size < size)
			return true;
		take_reply(w, &r);
		memmove(w->in.data, w->in.data + size, w->in.size - size);
		w->in.size -= size;
	}
	if (!w->in.size && w->in.capacity > (1u << 20))
		sb_buf_done(&w->in);
	return true;
}

static void read_replies(struct sb_worker *w)
{
	const size_t step = 1u << 18;
	ssize_t got = 1;

	while (w->fd >= 0 && sb_buf_reserve(&w->in, step)) {
		got = recv(w->fd, w->in.data + w->in.size, step, 0);
		if (got <= 0)
			break;
		w->in.size += (size_t)got;
		if (!take_replies(w)) {
			end_process(w);
			lose(w, "made no sense or gave too long an answer");
			return;
		}
	}
	if (w->fd >= 0 && (!got || (got < 0 && errno != EAGAIN && errno != EINTR)))
		died(w);
}

/* ---- life ---- */

void sb_worker_step(struct sb_worker *w, double now_s)
{
	char why[80];

	if (w->fd >= 0)
		read_replies(w);
	if (w->out && w->out_since_s <= 0)
		w->out_since_s = now_s;
	if (w->out && now_s - w->out_since_s >= w->options.task_limit_s) {
		end_process(w);
		snprintf(why, sizeof why, "took more than %.0f s", w->options.task_limit_s);
		lose(w, why);
	}
	send_next(w);
	if (w->out && w->out_since_s <= 0)
		w->out_since_s = now_s;
}

int sb_worker_start(const struct sb_worker_options *options, struct sb_worker **out_worker)
{
	struct sb_worker *w = calloc(1, sizeof *w);
	int err;

	if (!w)
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	w->options = *options;
	w->fd = -1;
	w->todo_end = &w->todo;
	w->done_end = &w->done;
	err = start_process(w);
	if (err) {
		sb_worker_stop(w);
		return err;
	}
	*out_worker = w;
	return 0;
}

static void free_all(struct sb_worker_task *task)
{
	while (task) {
		struct sb_worker_task *next = task->next;

		sb_worker_task_free(task);
		task = next;
	}
}

void sb_worker_stop(struct sb_worker *w)
{
	if (!w)
		return;
	end_process(w);
	free_all(w->todo);
	free_all(w->done);
	for (size_t i = 0; i < w->bad_count; i++)
		free(w->bad[i]);
	sb_buf_done(&w->in);
	free(w);
}

int sb_worker_fd(const struct sb_worker *w)
{
	return w->fd;
}

uint64_t sb_worker_restarts(const struct sb_worker *w)
{
	return w->restarts;
}

int sb_worker_ask(struct sb_worker *w, enum sb_worker_task_kind kind, const char *key, const char *id,
	const char *other)
{
	struct sb_worker_task *task;

	if (w->todo_count >= SB_WORKER_QUEUE_MAX)
		return sb_fail(STROBE_EIO, "too much is being asked for at once; ask again");
	task = calloc(1, sizeof *task);
	if (!task)
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	task->kind = kind;
	task->key = strdup(key);
	task->id = strdup(id ? id : "");
	task->other = strdup(other ? other : "");
	if (!task->key || !task->id || !task->other) {
		sb_worker_task_free(task);
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	}
	*w->todo_end = task;
	w->todo_end = &task->next;
	w->todo_count++;
	send_next(w);
	return 0;
}

struct sb_worker_task *sb_worker_take(struct sb_worker *w)
{
	struct sb_worker_task *task = w->done;

	if (!task)
		return NULL;
	w->done = task->next;
	if (!w->done)
		w->done_end = &w->done;
	task->next = NULL;
	return task;
}
