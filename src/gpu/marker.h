/*
 * The events that one thread puts on streams: the context they belong to, a few
 * free ones to take, and when the last event can be used once more.
 */
#ifndef SB_GPU_MARKER_H
#define SB_GPU_MARKER_H

#include "gpu/pool.h"
#include "record/clock.h"

#define SB_GPU_SPARES 8u

/* What the thread put last. */
struct sb_gpu_last {
	struct sb_gpu_event *event; /* NULL: nothing that could be shared */
	uint64_t use;
	sb_cu_stream stream;
	uint64_t put_ticks;
	uint64_t left_ticks; /* when the thread went back to the program */
};

struct sb_gpu_marker {
	/* In the order of use, so that a zone touches few cache lines. */
	struct sb_gpu_context *context; /* last seen */
	uint64_t trusted_ticks; /* when the driver last said that it is the thread's */
	uint64_t trust_ticks; /* how long it then is taken for it */
	uint64_t share_ticks; /* how long an event may be used again */
	uint64_t quickest_ticks; /* the fastest put so far; 0: none */
	struct sb_gpu_last last;
	uint32_t put_count;
	uint32_t trusted_lost; /* sb_gpu_contexts_lost then */
	uint32_t spare_count;
	bool roams; /* the thread changes between contexts: the driver is asked each time */
	struct sb_gpu_event *spares[SB_GPU_SPARES]; /* of the context */
	sb_cu_context handle; /* of the context; NULL: none seen */
	uint64_t checked_ticks; /* when it was last known to be the same one */
	uint64_t check_ticks; /* how long it then stays the same */
};

/* When the thread came from the program, and the least time that a launch takes from there,
 * counted in the quickest put so far. */
struct sb_gpu_arrival {
	uint64_t ticks;
	uint32_t launch_puts;
};
/* Anything that goes onto a stream takes about as long to put there as an event... */
#define SB_GPU_PUTS_FROM_C 1u
/* ...and a kernel twice that, even when nothing but the interpreter's call comes on top. */
#define SB_GPU_PUTS_FROM_INTERPRETER 2u

void sb_gpu_marker_init(struct sb_gpu_marker *m); /* of the calling thread */
void sb_gpu_marker_done(struct sb_gpu_marker *m); /* gives the spares back */

/* Asks the driver for the thread's current context; NULL when there is none, or no room for it. */
struct sb_gpu_context *sb_gpu_marker_ask(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, uint64_t now_ticks);

/* The thread's current context. For a millisecond it is taken for the one that the driver named last: an event that
 * does not belong there is refused, and sb_gpu_marker_put() asks then. */
static inline struct sb_gpu_context *sb_gpu_marker_context(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, uint64_t now_ticks)
{
	bool trusted = now_ticks - m->trusted_ticks < m->trust_ticks &&
		       atomic_load_explicit(&sb_gpu_contexts_lost, memory_order_relaxed) == m->trusted_lost;

	return __builtin_expect(trusted, 1) ? m->context : sb_gpu_marker_ask(m, cuda, now_ticks);
}

/* The thread goes back to the program. */
static inline void sb_gpu_marker_leave(struct sb_gpu_marker *m, uint64_t now_ticks)
{
	m->last.left_ticks = now_ticks;
}

/* What putting an event will touch is on its way into the cache: the resolving thread had it last. */
static inline void sb_gpu_marker_prefetch(const struct sb_gpu_marker *m)
{
	if (m->spare_count)
		__builtin_prefetch(m->spares[m->spare_count - 1], 1);
}

/*
 * Puts an event onto the stream, in the context that sb_gpu_marker_context() said, and returns
 * it, with a reference for the caller. NULL, with the reason counted, when there can be none; not counted where the
 * thread turns out to be in no context, and m->context is NULL then. Where it turns out to be in another one, the
 * event is of that one. The last event is returned once more when
 * the program had less time since then than a launch takes: this thread cannot have put
 * anything onto the stream in between.
 */
struct sb_gpu_event *sb_gpu_marker_put(struct sb_gpu_marker *m, const struct sb_cuda *cuda,
	sb_cu_stream stream, struct sb_gpu_arrival arrival);

#endif
