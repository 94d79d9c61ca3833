/* `stage_log`: each zone prints its line as it ends, "[3b] RAFT optical flow (12 iters): 95.32s". While it is on
 * every event takes the slow path, which asks here; off, the fast path knows nothing of it. */
#ifndef SB_RECORD_STAGE_LOG_H
#define SB_RECORD_STAGE_LOG_H

#include "format/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_stage_log;

/* As the setting says; before the session's first word. */
void sb_stage_log_open(const char *setting);
/* In force in this process? */
bool sb_stage_log_on(void);

/* The calling thread's zones: *log is made when it is first needed. Only while it is on. */
void sb_stage_log_event(struct sb_stage_log **log, enum sb_kind kind, uint32_t id, uint64_t ticks);
void sb_stage_log_attr(struct sb_stage_log *log, uint32_t key, int64_t value);

#endif
