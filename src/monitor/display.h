/* The live display: the newest samples as whole lines of text. */
#ifndef SB_MONITOR_DISPLAY_H
#define SB_MONITOR_DISPLAY_H

#include "base/buf.h"

/* What brings a shared terminal, file or pipe to the beginning of a line, without
 * taking back anything that a program wrote there: it may be inside a line. */
void sb_display_lead(struct sb_buf *out, int fd);
/* "=== Profiling Metrics (label) ===", then a line per GPU, then the CPU's. */
void sb_display_format(struct sb_buf *out, const char *label);

#endif
