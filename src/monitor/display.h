/* The live display: the newest samples as whole lines of text. */
#ifndef SB_MONITOR_DISPLAY_H
#define SB_MONITOR_DISPLAY_H

#include "base/buf.h"

/* "=== Profiling Metrics (label) ===", then a line per GPU, then the CPU's. */
void sb_display_format(struct sb_buf *out, const char *label);

#endif
