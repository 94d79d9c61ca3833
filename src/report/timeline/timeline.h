/* The timeline inside a page: lanes of zones, exact where they fit, merged into
 * counted bins where they do not. docs/page.md describes the bytes. */
#ifndef SB_REPORT_TIMELINE_TIMELINE_H
#define SB_REPORT_TIMELINE_TIMELINE_H

#include "run/run.h"
#include "base/buf.h"

/* Appends the timeline's bytes to out, unpacked. One pass over the run; memory
 * and size are bounded whatever the number of zones. */
int sb_timeline_write(struct sb_run *run, struct sb_buf *out);

#endif
