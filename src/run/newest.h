/* The newest run of a folder, and of the folders where runs are when none is named. */
#ifndef SB_RUN_NEWEST_H
#define SB_RUN_NEWEST_H

#include <stddef.h>

/* Where runs may be when no folder was given: ours, and those of compat's sessions and of the profiling flags. Ends with
 * NULL. */
extern const char *const sb_run_roots[];

/* A folder of runs becomes its newest run. Any other folder stays as it is, and so does one whose newest
 * runs are the nodes of one job. */
void sb_newest_take(const char *folder, char *out_path, size_t size);

/* last~<back>. */
int sb_newest_resolve(unsigned long back, char *out_path, size_t size);

#endif
