/*
 * Contexts of the watched program that GPU zones were seen in, each with a pool
 * of timing events. Events are created in the program's own context and reused;
 * taking, sharing and releasing them is lock-free.
 */
#ifndef SB_GPU_POOL_H
#define SB_GPU_POOL_H

#include "gpu/driver.h"
#include "gpu/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SB_GPU_CONTEXTS_MAX 16u
#define SB_GPU_EVENTS_MAX 8192u /* per context */
#define SB_GPU_USE_SHIFT 16
#define SB_GPU_REFERENCES ((UINT64_C(1) << SB_GPU_USE_SHIFT) - 1)

struct sb_gpu_context;

struct sb_gpu_event {
	sb_cu_event handle;
	struct sb_gpu_context *context;
	_Atomic uint64_t state; /* times taken << SB_GPU_USE_SHIFT | references */
	/* The resolving thread's: where on the CPU's clock this event lies. */
	uint64_t placed_use; /* the use it was placed for, 0: not placed */
	int64_t ticks;
	uint64_t unused[3]; /* fills the cache line: the next event is another thread's */
};

/* A position on both clocks: the event `base` happened at CPU time `ticks`. */
struct sb_gpu_base {
	sb_cu_stream stream;
	sb_cu_event events[2]; /* the one in use, and one for the next alignment */
	int current;
	bool valid;
	uint64_t ticks;
	uint64_t width_ticks; /* how far off ticks can be */
	uint64_t renewed_ticks; /* when it was last attempted */
};

struct sb_gpu_context {
	_Atomic(sb_cu_context) handle; /* NULL: not in use */
	unsigned long long id;
	int device;
	_Atomic bool dead; /* the program destroyed it, and its events with it */
	struct sb_ring free;
	struct sb_gpu_event *events;
	_Atomic uint32_t event_count;
	struct sb_gpu_base base;
};

/* The entry of the current context, made when first needed; NULL: no context, or too many.
 * The context must be current on the calling thread. */
struct sb_gpu_context *sb_gpu_context_of(const struct sb_cuda *cuda, sb_cu_context handle);
struct sb_gpu_context *sb_gpu_context_at(uint32_t index); /* NULL past the last */

/* Marks a context as gone. Its events are forgotten, not destroyed. */
void sb_gpu_context_lost(struct sb_gpu_context *context);
extern _Atomic uint32_t sb_gpu_contexts_lost; /* counts them: as long as it stays, no context became dead */

/* Forgets all of them: after a fork, and in tests. */
void sb_gpu_contexts_forget(void);

/* Up to `most` free events of the context. Returns how many; 0: the pool is exhausted. */
uint32_t sb_gpu_events_take(const struct sb_cuda *cuda, struct sb_gpu_context *context,
	struct sb_gpu_event **out_events, uint32_t most);
void sb_gpu_event_return(struct sb_gpu_event *event); /* gives back one that was taken and not begun */

void sb_gpu_event_release(struct sb_gpu_event *event); /* the last reference frees it for the next use */
/* Identifies the present use of an event that the caller has a reference to. */
static inline uint64_t sb_gpu_event_use(struct sb_gpu_event *event)
{
	return atomic_load_explicit(&event->state, memory_order_relaxed) & ~SB_GPU_REFERENCES;
}

/* A new use of a taken event, referenced once. Returns the use, which changes here and nowhere else. A plain
 * store: without a reference no other thread writes it. */
static inline uint64_t sb_gpu_event_begin(struct sb_gpu_event *event)
{
	uint64_t use = sb_gpu_event_use(event) + SB_GPU_REFERENCES + 1;

	atomic_store_explicit(&event->state, use + 1, memory_order_release);
	return use;
}

/* Another reference, if the event still is in that use. */
bool sb_gpu_event_share(struct sb_gpu_event *event, uint64_t use);

/* Creates up to `count` more events. The context must be current. */
void sb_gpu_pool_grow(const struct sb_cuda *cuda, struct sb_gpu_context *context, uint32_t count);

#endif
