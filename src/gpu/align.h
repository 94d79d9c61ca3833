/* Where a GPU event lies on the CPU's clock: its distance from a base event
 * whose CPU time is known to a few microseconds, renewed every two seconds. */
#ifndef SB_GPU_ALIGN_H
#define SB_GPU_ALIGN_H

#include "gpu/pool.h"

/* Sets event->ticks. The event must have happened and its context be current.
 * Without a base event it is set to fallback_ticks. False: the driver refused
 * the event. */
bool sb_gpu_align_place(const struct sb_cuda *cuda, struct sb_gpu_event *event, uint64_t fallback_ticks);

#endif
