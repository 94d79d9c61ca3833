/* The folder that all ranks of a job find without talking to each other. */
#ifndef SB_RECORD_JOBDIR_H
#define SB_RECORD_JOBDIR_H

#include "record/rank.h"

#include <stddef.h>

/* Finds or makes the folder of this start of the job below parent, <stem> for the
 * first attempt, <stem>.2 for the second and so on, and makes a new rank_<N>/ in it.
 * A folder is joined only if it is the user's own and private, was made by the same
 * start of the job (rank.launch, or the launching process) and has no such rank yet.
 * Returns a descriptor of the new rank's folder, the job's folder name and the number
 * of the attempt, or -1 with errno set. */
int sb_jobdir_make_rank(int parent, const char *stem, const struct sb_rank *rank, char *out_name, size_t size,
	int *out_attempt);

#endif
