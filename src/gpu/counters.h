/*
 * Sampling of the GPU's counters: when it begins and ends, and its samples into the recording. Opt-in,
 * bounded in time or steps; it lets go of the hardware afterwards. A thread of its own reads the samples.
 */
#ifndef SB_GPU_COUNTERS_H
#define SB_GPU_COUNTERS_H

#include <stdint.h>

/* text: the setting gpu_counters; "" when none are wanted. */
void sb_gpu_counters_session_started(const char *text);
void sb_gpu_counters_session_stops(void);
void sb_gpu_counters_forget(void); /* in a forked child */

/* SIGUSR2 has come: begins sampling beside the trace, or ends it, where counters were asked for. */
void sb_gpu_counters_signalled(void);

/* A watch for slow moments: counters of this time are written, where they are held for it; it is over. */
void sb_gpu_counters_keep(uint64_t from_ticks, uint64_t to_ticks);
void sb_gpu_counters_watch_over(void);

/* The program's CUDA has just been initialised. */
void sb_gpu_counters_cuda_started(void);

#endif
