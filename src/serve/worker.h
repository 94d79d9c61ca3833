/* Builds reports on a thread of its own, so that a large run never makes the
 * server wait. The server asks, and is told through a file descriptor. */
#ifndef SB_SERVE_WORKER_H
#define SB_SERVE_WORKER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_job_kind { SB_JOB_REPORT, SB_JOB_METRICS, SB_JOB_DIFF };

struct sb_job {
	enum sb_job_kind kind;
	char *key; /* what is asked for, to find who waits */
	char *path; /* REPORT: the run; METRICS: the target; DIFF: the base */
	char *other; /* DIFF: the new one; else NULL */
	/* the answer */
	int err;
	char message[512];
	struct sb_buf body; /* JSON, or the metrics' text */
	struct sb_buf timeline; /* REPORT: packed where this build can */
	bool live;
	struct sb_job *next;
};

struct sb_worker;

int sb_worker_start(struct sb_worker **out_worker);
void sb_worker_stop(struct sb_worker *w); /* waits for the job in hand; takes NULL */
/* Readable when jobs are done. */
int sb_worker_fd(const struct sb_worker *w);
/* Queues a job; the texts are copied. */
int sb_worker_ask(
	struct sb_worker *w, enum sb_job_kind kind, const char *key, const char *path, const char *other);
/* The next finished job, NULL: none. The caller frees it. */
struct sb_job *sb_worker_take(struct sb_worker *w);
void sb_job_free(struct sb_job *job); /* takes NULL */

#endif
