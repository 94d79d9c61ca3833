/* Which inputs `strobe aggregate` has: rank folders, recordings, reports. */
#ifndef CLI_AGGREGATE_FIND_H
#define CLI_AGGREGATE_FIND_H

#include "run/job.h"

#include <stdbool.h>
#include <stddef.h>

struct aggregate_inputs {
	char **paths; /* each one rank */
	size_t count;
	struct sb_job_attempt *attempts; /* of jobs that were started more than once */
	size_t attempt_count;
	char **given; /* folders already looked through, without links: among runs "last" is one of them */
	size_t given_count;
};

/* Adds the runs that a path means:
 *  - a folder with rank_<N>/ folders: each of them, as a run or as its report
 *  - a folder whose recordings belong to several ranks: each rank
 *  - a run folder, a recording, a report: itself
 *  - last, last~1: the same for that run
 *  - a folder of such folders (jobs of several sizes): all of theirs
 * Of a job that was started again, the last complete attempt counts.
 * Returns 0 or a negative STROBE_E; finding nothing is no failure here. */
int aggregate_find(struct aggregate_inputs *inputs, const char *path);
void aggregate_inputs_done(struct aggregate_inputs *inputs);

#endif
