/* The ranks whose folders lie beside one rank's folder: JOB/rank_1 and JOB/rank_3 beside JOB/rank_2. */
#ifndef SB_RUN_NEIGHBOURS_H
#define SB_RUN_NEIGHBOURS_H

#include <stdint.h>

/* Finds the nearest lower and the nearest higher rank, by names only. -1: there is none, or folder is
 * not called rank_<N>. */
void sb_rank_neighbours(const char *folder, int64_t *out_previous, int64_t *out_next);

#endif
