/*
 * Sampling of the GPU's counters: when it begins and ends, and how its samples are recorded. Opt-in,
 * bounded in time or steps; it releases the hardware afterwards. A thread of its own reads the samples.
 */
#ifndef SB_GPU_COUNTERS_H
#define SB_GPU_COUNTERS_H

#include <stdint.h>

/* text: the setting gpu_counters; "" when none are wanted. */
void sb_gpu_counters_session_started(const char *text);
void sb_gpu_counters_session_stops(void); /* ends it and writes what is left */
void sb_gpu_counters_forget(void); /* in a forked child */

/* After SIGUSR2: begins sampling beside the trace, or ends it, where counters were asked for. */
void sb_gpu_counters_signalled(void);

/* For the watch for slow moments: the first has the held counters of this time written, the second ends the sampling. */
void sb_gpu_counters_keep(uint64_t from_ticks, uint64_t to_ticks);
void sb_gpu_counters_watch_over(void);

/* Called when the program has just initialised CUDA. */
void sb_gpu_counters_cuda_started(void);

#endif
