/*
 * The GPU trace: when it begins and ends. Opt-in, bounded in time or steps, and
 * it lets go of CUPTI afterwards. A thread of its own reads what CUPTI delivers.
 */
#ifndef SB_GPU_TRACE_H
#define SB_GPU_TRACE_H

#include "record/trace_spec.h"

#include <stdbool.h>

/* text: the setting gpu_trace; "" when no trace is wanted. */
void sb_gpu_trace_session_started(const char *text);
void sb_gpu_trace_session_stops(void);
void sb_gpu_trace_forget(void);

/* The program's CUDA has just been initialised. */
void sb_gpu_trace_cuda_started(void);

bool sb_gpu_trace_watches(void); /* for slow moments, in this session */

/* Makes SIGUSR2 begin or end a trace, unless the program uses that signal. */
void sb_gpu_trace_listen(void);

#endif
