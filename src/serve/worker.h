/* A process of its own that reads recordings, so that a bad file never ends the
 * server and a large one never makes it wait. The server sends it tasks
 * through a socket. A worker that dies or takes too long is replaced; the file it
 * was reading is named and not read again. */
#ifndef SB_SERVE_WORKER_H
#define SB_SERVE_WORKER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set for the worker's process: the number of its socket. */
#define SB_WORKER_FD "STROBE_SERVE_WORKER_FD"
#define SB_WORKER_QUEUE_MAX 64u
#define SB_WORKER_BAD_MAX 16u

enum sb_worker_task_kind {
	SB_TASK_LISTING,
	SB_TASK_REPORT,
	SB_TASK_DIFF,
	SB_TASK_METRICS,
	SB_TASK_OPENMETRICS,
	SB_TASK_KINDS
};

enum sb_run_state { SB_RUN_UNKNOWN, SB_RUN_LIVE, SB_RUN_ENDED, SB_RUN_KILLED, SB_RUN_STATES };
const char *sb_run_state_text(enum sb_run_state state); /* "live", "ended", "killed", "unknown" */

struct sb_worker_task {
	enum sb_worker_task_kind kind;
	char *key; /* what is asked for; those who wait for it have the same */
	char *target; /* the folder that is served */
	char *id; /* REPORT: the run; DIFF: the base; else "" */
	char *other; /* DIFF: the new one; else "" */
	/* the answer */
	int status; /* 200, or why not: 404, 500 */
	char message[512]; /* why not, in words */
	enum sb_run_state state; /* REPORT */
	bool aggregate; /* REPORT: a job was asked for, so that the body is its aggregate */
	struct sb_buf body; /* JSON, or the metrics' text */
	struct sb_buf timeline; /* REPORT: packed where this build can */
	struct sb_worker_task *next;
};

/* ---- the server's side ---- */

struct sb_worker;
struct sb_worker_options {
	const char *target;
	double task_limit_s; /* for one task */
	uint64_t memory_bytes; /* address space; 0: no limit */
	size_t answer_bytes; /* the longest answer */
	/* A line about a worker that had to be replaced. May be NULL. */
	void (*log)(void *self, const char *line);
	void *log_self;
};

/* Starts the process and returns at once. */
int sb_worker_start(const struct sb_worker_options *options, struct sb_worker **out_worker);
void sb_worker_stop(struct sb_worker *w); /* ends the process, whatever it does; takes NULL */
/* Readable when there is something to take; changes when the process is replaced. */
int sb_worker_fd(const struct sb_worker *w);
/* Queues a task; the texts are copied. */
int sb_worker_ask(struct sb_worker *w, enum sb_worker_task_kind kind, const char *key, const char *id,
	const char *other);
/* Reads what has come, replaces a worker that died or is overdue. Call it when
 * the descriptor is readable, and every second. */
void sb_worker_step(struct sb_worker *w, double now_s);
/* The next finished task, NULL: none. The caller frees it. */
struct sb_worker_task *sb_worker_take(struct sb_worker *w);
void sb_worker_task_free(struct sb_worker_task *task); /* takes NULL */
uint64_t sb_worker_restarts(const struct sb_worker *w); /* how often it was replaced */

/* ---- the worker's side ---- */

struct sb_worker_link;
/* Tells the server what is about to be read. False: a worker died of it before, do not read it. */
bool sb_worker_reading(struct sb_worker_link *link, const char *path);
/* Does one task: fills its answer. */
typedef void sb_worker_do(void *self, struct sb_worker_task *task, struct sb_worker_link *link);
/* Does tasks until the server ends. To be called first thing in a process that has SB_WORKER_FD. */
int sb_worker_serve(sb_worker_do *work, void *self);

#endif
