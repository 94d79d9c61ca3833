/*
 * Turns pairs of recorded events into GPU records: a thread asks the driver how far
 * apart they are once both have happened. It polls and never waits for the GPU.
 */
#ifndef SB_GPU_RESOLVE_H
#define SB_GPU_RESOLVE_H

#include "gpu/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* A GPU zone whose events are on their way. Owns a reference to each event. */
struct sb_gpu_pending {
	struct sb_gpu_event *begin;
	struct sb_gpu_event *end;
	uint64_t launch_ticks; /* on the CPU, inside the zone */
	uint32_t name;
	uint32_t stream;
	uint32_t tid;
	uint32_t epoch; /* of the session */
};

/* Makes the queue and starts the thread; a test may call the passes itself instead.
 * Does nothing when already started. */
void sb_gpu_resolve_start(bool with_thread);

void sb_gpu_resolve_prefetch(void); /* what handing one over will touch is on its way into the cache */
/* Hands a zone over. false: no room; the references stay the caller's. */
bool sb_gpu_resolve_submit(const struct sb_gpu_pending *zone);

/* Looks once at every zone that waits. Returns how many still wait. */
uint32_t sb_gpu_resolve_pass(void);

/* Waits briefly for what is in flight, counts the rest as lost, ends the thread. */
void sb_gpu_resolve_stop(void);

void sb_gpu_resolve_forget(void); /* in a forked child */

#endif
