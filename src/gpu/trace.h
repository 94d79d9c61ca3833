/*
 * The GPU trace: when it begins and ends. Opt-in, bounded in time or steps, and
 * it releases CUPTI afterwards. A thread of its own reads what CUPTI delivers.
 */
#ifndef SB_GPU_TRACE_H
#define SB_GPU_TRACE_H

#include "record/trace_spec.h"

#include <stdbool.h>

/* text: the setting gpu_trace; "" when no trace is wanted. */
void sb_gpu_trace_session_started(const char *text);
void sb_gpu_trace_session_stops(void); /* ends it and writes what is left */
void sb_gpu_trace_forget(void); /* in a forked child */

/* Called when the program has just initialised CUDA. */
void sb_gpu_trace_cuda_started(void);

bool sb_gpu_trace_watches(void); /* true: it watches for slow moments in this session */

/* Makes SIGUSR2 begin or end a trace, unless the program uses that signal: from the start of a session for which a trace or counters
 * were asked for, else when CUDA is seen. */
void sb_gpu_trace_listen(void);

#endif
