/* `stage_log`: each zone prints its line as it ends, "[3b] RAFT optical flow (12 iters): 95.32s". While it is on
 * every event takes the slow path, which calls it; while it is off, the fast path is as without it. */
#ifndef SB_RECORD_STAGE_LOG_H
#define SB_RECORD_STAGE_LOG_H

#include "format/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_stage_log;

/* Switches it on or off as the setting says. Before the session's first word. */
void sb_stage_log_open(const char *setting);
/* True if it is on in this process. */
bool sb_stage_log_on(void);

/* Takes an event of the calling thread, whose *log is made when first needed. Only while it is on. */
void sb_stage_log_event(struct sb_stage_log **log, enum sb_kind kind, uint32_t id, uint64_t ticks);
/* Takes a number that the innermost zone has. */
void sb_stage_log_attr(struct sb_stage_log *log, uint32_t key, int64_t value);

#endif
