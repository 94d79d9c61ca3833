/*
 * The GPU trace: when it begins and ends. Opt-in, bounded in time or steps, and
 * it lets go of CUPTI afterwards. A thread of its own reads what CUPTI delivers.
 */
#ifndef SB_GPU_TRACE_H
#define SB_GPU_TRACE_H

#include <stdbool.h>
#include <stdint.h>

enum sb_trace_bound { SB_TRACE_ALL, SB_TRACE_STEPS, SB_TRACE_SECONDS };

struct sb_trace_spec {
	enum sb_trace_bound bound;
	double seconds;
	uint32_t steps;
	uint32_t skip; /* steps to let pass first: warm-up */
};

/* "" or "all"; "steps:3" (after one step of warm-up), "steps:3@10" (after ten);
 * "seconds:5". */
int sb_trace_spec_parse(const char *text, struct sb_trace_spec *out_spec);

/* text: the setting gpu_trace; "" when no trace is wanted. */
void sb_gpu_trace_session_started(const char *text);
void sb_gpu_trace_session_stops(void);
void sb_gpu_trace_forget(void);

/* The program's CUDA has just been initialised. */
void sb_gpu_trace_cuda_started(void);

/* Makes SIGUSR2 begin or end a trace, unless the program uses that signal. */
void sb_gpu_trace_listen(void);

#endif
