/* Which rank of how many this process is, and of which job: read from what
 * torchrun, Slurm and MPI launchers leave in the environment. */
#ifndef SB_RECORD_RANK_H
#define SB_RECORD_RANK_H

#include <stdbool.h>

struct sb_rank {
	int rank; /* -1: not one of several */
	int local_rank; /* on its machine; -1: not known */
	int world_size; /* 0: not known */
	char job[64]; /* same for all ranks of a job, fit for a file name; "" unknown */
	char launch
		[160]; /* same for all ranks of one start of the job; another start has another, as far as the launcher says */
	bool launch_told; /* launch is an id of the launcher; else the launching process distinguishes two starts (launcher.h) */
	char entry[48]; /* of the environment that says the rank: "RANK=3" */
	const char *launcher; /* "torchrun", "openmpi", "slurm", "pmi"; "" none */
};

/* Never fails: what is missing or nonsense is as if it were not set. The first
 * launcher in the order above that names a rank wins (torchrun inside a Slurm
 * step is torchrun). A world of one is no rank. No allocation, no printing. */
void sb_rank_detect(struct sb_rank *out_rank);

#endif
