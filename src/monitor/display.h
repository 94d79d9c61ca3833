/* The live display: the newest samples as whole lines of text. */
#ifndef SB_MONITOR_DISPLAY_H
#define SB_MONITOR_DISPLAY_H

#include "base/buf.h"

/* Appends what begins a new line on a terminal, file or pipe that the program writes to as well: it may
 * be inside a line, and nothing that it wrote is erased. */
void sb_display_lead(struct sb_buf *out, int fd);
/* "=== Profiling Metrics (label) ===", then a line per GPU, then the CPU's. */
void sb_display_format(struct sb_buf *out, const char *label);

#endif
