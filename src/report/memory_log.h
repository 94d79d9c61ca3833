/* memory_log.json: the snapshots and the memory over time, as a file of its own. */
#ifndef SB_REPORT_MEMORY_LOG_H
#define SB_REPORT_MEMORY_LOG_H

#include "analyze/model.h"
#include "base/buf.h"

/* {"snapshots": [{label, timestamp, t_s, device, allocated_mb, reserved_mb,
 * max_allocated_mb, peak_mb}], "timeline": {...}}. Returns 0 or STROBE_ENOMEM. */
int sb_report_memory_log(const struct sb_model *model, struct sb_buf *out);

#endif
