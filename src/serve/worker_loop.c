/* The worker's side: blocking reads and writes, one task after the other. */
#include "serve/worker.h"
#include "serve/worker_wire.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct sb_worker_link {
	int fd;
	char *bad; /* of the task in hand */
	size_t bad_size;
};

static bool get(int fd, void *to, size_t size)
{
	for (size_t have = 0; have < size;) {
		ssize_t n = read(fd, (char *)to + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return true;
}

static bool put(int fd, const void *from, size_t size)
{
	for (size_t have = 0; have < size;) {
		ssize_t n = send(fd, (const char *)from + have, size - have, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return true;
}

static char *get_text(int fd, uint32_t size)
{
	char *text = size <= SB_WORKER_TEXT_MAX * SB_WORKER_BAD_MAX ? malloc((size_t)size + 1) : NULL;

	if (!text || !get(fd, text, size)) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	return text;
}

bool sb_worker_reading(struct sb_worker_link *link, const char *path)
{
	struct sb_worker_reply reply = { .magic = SB_WORKER_MAGIC };
	char message[sizeof reply + SB_WORKER_TEXT_MAX];
	size_t size = strlen(path);

	for (size_t at = 0; at < link->bad_size; at += strlen(link->bad + at) + 1)
		if (!strcmp(link->bad + at, path))
			return false;
	reply.reading_size = (uint32_t)(size < SB_WORKER_TEXT_MAX ? size : SB_WORKER_TEXT_MAX);
	memcpy(message, &reply, sizeof reply);
	memcpy(message + sizeof reply, path, reply.reading_size);
	put(link->fd, message, sizeof reply + reply.reading_size);
	return true;
}

static bool give(int fd, const struct sb_worker_task *task)
{
	struct sb_worker_reply reply = { .magic = SB_WORKER_MAGIC,
		.status = task->status,
		.state = task->state,
		.aggregate = task->aggregate,
		.message_size = strlen(task->message),
		.body_size = task->body.size,
		.timeline_size = task->timeline.size };

	return put(fd, &reply, sizeof reply) && put(fd, task->message, reply.message_size) &&
	       put(fd, task->body.data, task->body.size) && put(fd, task->timeline.data, task->timeline.size);
}

/* The child of a server that ends has nothing to live for, and no business with
 * more memory than its share. */
static void set_limits(uint64_t memory_bytes)
{
	struct rlimit none = { 0, 0 }, memory = { memory_bytes, memory_bytes };

	setrlimit(RLIMIT_CORE, &none);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
	if (memory_bytes)
		setrlimit(RLIMIT_AS, &memory);
#endif
	(void)memory;
}

static struct sb_worker_task *get_task(struct sb_worker_link *link, uint64_t *out_memory_bytes)
{
	struct sb_worker_request r;
	struct sb_worker_task *task;

	if (!get(link->fd, &r, sizeof r) || r.magic != SB_WORKER_MAGIC || r.kind >= SB_TASK_KINDS)
		return NULL;
	task = calloc(1, sizeof *task);
	if (!task)
		return NULL;
	task->kind = (enum sb_worker_task_kind)r.kind;
	task->target = get_text(link->fd, r.target_size);
	task->id = task->target ? get_text(link->fd, r.id_size) : NULL;
	task->other = task->id ? get_text(link->fd, r.other_size) : NULL;
	free(link->bad);
	link->bad = task->other ? get_text(link->fd, r.bad_size) : NULL;
	link->bad_size = link->bad ? r.bad_size : 0;
	if (!link->bad) {
		sb_worker_task_free(task);
		return NULL;
	}
	*out_memory_bytes = r.memory_bytes;
	return task;
}

int sb_worker_serve(sb_worker_do *work, void *self)
{
	const char *number = getenv(SB_WORKER_FD);
	struct sb_worker_link link = { .fd = number ? atoi(number) : -1 };
	struct sb_worker_task *task;
	uint64_t memory_bytes;
	bool limited = false, more = true;

	if (link.fd < 3 || fcntl(link.fd, F_SETFD, FD_CLOEXEC))
		return sb_fail(
			STROBE_EINVAL, "%s names no socket: it is for the server's own use", SB_WORKER_FD);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	signal(SIGINT, SIG_IGN); /* Ctrl-C is the server's */
	while (more && (task = get_task(&link, &memory_bytes))) {
		if (!limited)
			set_limits(memory_bytes);
		limited = true;
		task->status = 200;
		work(self, task, &link);
		more = give(link.fd, task);
		sb_worker_task_free(task);
	}
	free(link.bad);
	return 0;
}
