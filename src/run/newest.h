/* The newest run of a folder, and of the folders where runs are when none is named. */
#ifndef SB_RUN_NEWEST_H
#define SB_RUN_NEWEST_H

#include <stddef.h>

/* Where runs may be when no folder was given: ours, and those of compat's sessions and of the profiling flags. Ends with
 * NULL. */
extern const char *const sb_run_roots[];

/* A folder of runs stands for its newest run. Any other folder is left as it is, and one whose newest runs are one job's,
 * of several nodes. */
void sb_newest_take(const char *folder, char *out_path, size_t size);

/* last~<back>. */
int sb_newest_resolve(unsigned long back, char *out_path, size_t size);

#endif
