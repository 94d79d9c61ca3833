/* memory_log.json: the snapshots and the memory over time, as a file of its own. */
#ifndef SB_REPORT_MEMORY_LOG_H
#define SB_REPORT_MEMORY_LOG_H

#include "analyze/model.h"
#include "base/buf.h"

/* What docs/memory_log.schema.json says. Returns 0 or STROBE_ENOMEM. */
int sb_report_memory_log(const struct sb_model *model, struct sb_buf *out);
extern const struct sb_fields sb_memory_log_fields;

#endif
