/* A `strobe run` inside the command of another one. */
#ifndef CLI_RUN_OUTER_H
#define CLI_RUN_OUTER_H

#include "base/folder.h"

#include <stdbool.h>
#include <stddef.h>

/* The run folder of the `strobe run` above; "": none. What it set for programs is not meant for this one, and is unset. */
void run_outer_notice(char *out_folder, size_t size);
/* Leaves word of this run in the other's folder, and says so unless quiet. Takes an outer of "". */
void run_outer_tell(const char *outer, const char *folder, const char *absolute, bool quiet);
/* Notes in the recording the runs that were made inside this one: their stages are not ours. True: there were some. */
bool run_outer_say_inner(const char *run_dir, const struct sb_folder *id);

#endif
