/* How the ranks and the attempts of a job ended, as lines of its text. */
#ifndef SB_REPORT_RANKS_ENDINGS_H
#define SB_REPORT_RANKS_ENDINGS_H

#include "base/buf.h"
#include "compare/aggregate.h"

/* A line for each rank that failed, is damaged or incomplete. */
void sb_ranks_put_broken(const struct sb_aggregate *a, struct sb_buf *out);
/* A line for each attempt, where there are several. */
void sb_ranks_put_attempts(const struct sb_aggregate *a, struct sb_buf *out);

#endif
