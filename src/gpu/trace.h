/*
 * The GPU trace: when it begins and ends. Opt-in, bounded in time or steps, and
 * it releases CUPTI afterwards. A thread of its own reads what CUPTI delivers.
 */
#ifndef SB_GPU_TRACE_H
#define SB_GPU_TRACE_H

#include "gpu/collector.h"
#include "record/trace_spec.h"

#include <stdbool.h>

extern struct sb_collector sb_gpu_trace_collector; /* its thread answers SIGUSR2, too */

/* text: the setting gpu_trace; "" when no trace is wanted. */
void sb_gpu_trace_session_started(const char *text);
void sb_gpu_trace_session_stops(void); /* ends it and writes what is left */
void sb_gpu_trace_forget(void); /* in a forked child */

/* Called when the program has just initialised CUDA. */
void sb_gpu_trace_cuda_started(void);

bool sb_gpu_trace_watches(void); /* true: it watches for slow moments in this session */
bool sb_gpu_trace_runs(void);

/* By a signal: as strobe_gpu_trace_start(), and says which steps are not traced for it. */
void sb_gpu_trace_start_instead(const char *text);

#endif
