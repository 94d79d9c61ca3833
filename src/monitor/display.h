/* The live display: the newest samples as whole lines of text. */
#ifndef SB_MONITOR_DISPLAY_H
#define SB_MONITOR_DISPLAY_H

#include "base/buf.h"

/* Appends what starts a new line on a terminal, file or pipe that the program also writes to, whose last
 * line may be unfinished. Erases nothing that the program wrote. */
void sb_display_lead(struct sb_buf *out, int fd);
/* "=== Profiling Metrics (label) ===", then a line per GPU, then the CPU's. */
void sb_display_format(struct sb_buf *out, const char *label);

#endif
