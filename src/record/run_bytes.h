/* What the recordings of a run take together: the bound of the whole run. */
#ifndef SB_RECORD_RUN_BYTES_H
#define SB_RECORD_RUN_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns by how much, at most `step`, a recording of own_bytes may grow while the run stays
 * within most_bytes (0: no bound); 0: not at all. The last quarter is for recordings that have
 * little or nothing yet. Near the bound processes take turns, and reserve(own, bytes) makes
 * this one's file that much longer before the next looks. Looks at the run's folder: for the
 * thread that may touch files. */
size_t sb_run_bytes_claim(
	uint64_t most_bytes, size_t own_bytes, size_t step, void (*reserve)(void *, size_t), void *own);
/* Leaves a line for `strobe run`: this process has no recording because the run has no room. */
void sb_run_bytes_refused(const char *run_dir);

#endif
