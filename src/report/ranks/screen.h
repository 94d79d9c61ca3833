/* The ranks of a run in the few lines that end `strobe run`. */
#ifndef SB_REPORT_RANKS_SCREEN_H
#define SB_REPORT_RANKS_SCREEN_H

#include "base/buf.h"
#include "compare/aggregate.h"

/* Lines of at most 80 columns; folder: what to name in the commands that tell more. */
void sb_ranks_screen(const struct sb_aggregate *a, const char *folder, struct sb_buf *out);
/* A line on what the ranks made; none where they count nothing. */
void sb_ranks_put_made(const struct sb_aggregate *a, struct sb_buf *out);

#endif
