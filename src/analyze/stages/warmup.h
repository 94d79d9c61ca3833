/* How many iterations at a loop's begin are its warm-up, by their times alone. */
#ifndef SB_ANALYZE_STAGES_WARMUP_H
#define SB_ANALYZE_STAGES_WARMUP_H

#include <stddef.h>

/* seconds: in order; scratch: room for as many. */
size_t sb_warmup_count(const double *seconds, double *scratch, size_t count);

#endif
