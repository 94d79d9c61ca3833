/* Words of a slow moment that every report has alike. */
#ifndef SB_REPORT_PANELS_SLOW_MOMENTS_H
#define SB_REPORT_PANELS_SLOW_MOMENTS_H

#include "analyze/model.h"
#include "base/buf.h"

/* "slow step, step_index 4 of generation 2: at 22.26 s, 153 ms; a normal one 63.0 ms" */
void sb_slow_moment_title(struct sb_buf *out, const struct sb_slow_moment *s);

#endif
