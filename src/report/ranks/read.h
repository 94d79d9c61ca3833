/* Reads the ranks of a job, several at once, into one aggregate. */
#ifndef SB_REPORT_RANKS_READ_H
#define SB_REPORT_RANKS_READ_H

#include "compare/aggregate.h"

struct sb_ranks_reading {
	/* The facts of one rank, with histograms. Called by several threads. */
	int (*load)(const char *path, struct sb_facts **out_facts);
	size_t threads; /* 0: one per core, at most 8 */
	void (*progress)(void *self, size_t done, size_t total); /* NULL: not told; one call at a time */
	void *self;
};
#define SB_RANKS_THREADS_MAX 16

/* Adds every rank to the aggregate and finishes it. A rank that cannot be read is named in it. */
int sb_ranks_read(
	struct sb_aggregate *a, char *const *paths, size_t count, const struct sb_ranks_reading *how);

/* The attempts of the job, with how each ended; before the ranks are read. */
struct sb_job_attempt;
int sb_ranks_add_attempts(struct sb_aggregate *a, const struct sb_job_attempt *attempts, size_t count);

/* Reads the ranks of a job, and lists its other attempts. *out_aggregate is NULL if the path is one run.
 * For what serves runs. */
int sb_job_read(const char *path, struct sb_aggregate **out_aggregate);

/* The facts of a run, as the loaders of commands and of the server take them. */
int sb_rank_facts(const char *path, struct sb_facts **out_facts);

#endif
