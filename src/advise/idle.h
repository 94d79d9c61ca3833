/* How long the GPU has nothing to do in the warm generations, and whether launching is what keeps it waiting. */
#ifndef SB_ADVISE_IDLE_H
#define SB_ADVISE_IDLE_H

#include "analyze/model.h"

#include <stdbool.h>

/* Its idle time in the warm steps, added up; NAN: no steps were traced. */
double sb_idle_in_steps_s(const struct sb_model *model);
/* The share of the warm generations in which it works, 0 to 1: the kernels of the traced calls for all calls, or of a trace
 * of everything what it saw. NAN: not traced. */
double sb_idle_busy_ratio(const struct sb_model *model);
/* The same of copies. */
double sb_idle_copy_ratio(const struct sb_model *model);
/* True if the process computes for all of the warm time: the GPU then waits for launches, or for Python between them. */
bool sb_idle_is_launching(const struct sb_model *model);

#endif
