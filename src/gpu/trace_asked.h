/* A trace that a user asks for with SIGUSR2: from when on the signal is heard, and what it begins or ends. */
#ifndef SB_GPU_TRACE_ASKED_H
#define SB_GPU_TRACE_ASKED_H

#include "record/trace_spec.h"

/* Makes SIGUSR2 begin or end a trace, unless the program uses that signal: from the start of a session for which a trace or counters
 * were asked for, from the program's own asking, else when CUDA is seen. */
void sb_gpu_trace_listen(void);

/* On the trace's thread, often: does what was asked for since the last call. */
void sb_gpu_trace_answer(void);

/* The session stops: from now on the signal does nothing in it. */
void sb_gpu_trace_listen_no_more(void);

/* What (kernels, counters) is not recorded of the steps that this one waited for: a signal came before them. */
void sb_gpu_trace_say_displaced(const char *what, const struct sb_trace_spec *steps, const char *how);

#endif
