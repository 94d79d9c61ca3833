/* Several sessions in one folder: which of the recordings that were opened belong to the run. The others
 * are closed. */
#ifndef SB_RUN_SESSIONS_H
#define SB_RUN_SESSIONS_H

#include "run/run.h"

/* Of the recordings from the first-th on: the newest session and everything recorded along with it. Those
 * left out are named in a warning. */
int sb_run_keep_newest(struct sb_run *run, uint32_t first);
/* One rank, where the recordings of several lie together. attempt 0: the one that counts. */
int sb_run_keep_rank(struct sb_run *run, uint32_t first, int32_t rank, uint32_t attempt);

#endif
