/*
 * The events that one thread puts on streams: the context they belong to, a few
 * free ones at hand, and when the last event serves once more.
 */
#ifndef SB_GPU_MARKER_H
#define SB_GPU_MARKER_H

#include "gpu/pool.h"

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
	struct sb_gpu_context *context; /* last seen, and its handle */
	sb_cu_context handle;
	uint64_t checked_ticks; /* when it was last known to be the same one */
	uint64_t check_ticks; /* how long it then stays the same */
	uint64_t share_ticks; /* how long an event may serve */
	uint64_t quickest_ticks; /* the fastest put so far; 0: none */
	uint32_t put_count;
	struct sb_gpu_last last;
	struct sb_gpu_context *spare_context;
	uint32_t spare_count;
	struct sb_gpu_event *spares[SB_GPU_SPARES];
};

/* The thread comes from the program: when, and how long it takes to launch anything
 * from there, at the least, in puts as quick as the quickest. */
struct sb_gpu_arrival {
	uint64_t ticks;
	uint32_t launch_puts;
};
/* Anything that goes onto a stream takes about as long to put there as an event... */
#define SB_GPU_PUTS_FROM_C 1u
/* ...and a kernel twice that, even when nothing but the interpreter's call comes on top. */
#define SB_GPU_PUTS_FROM_INTERPRETER 2u

void sb_gpu_marker_init(struct sb_gpu_marker *m);
void sb_gpu_marker_done(struct sb_gpu_marker *m); /* gives the spares back */

/* The thread's current context; NULL when there is none, or no room for it. */
struct sb_gpu_context *sb_gpu_marker_context(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, uint64_t now_ticks);

/*
 * An event that says what the stream has reached now, with a reference for the
 * caller. NULL, having counted why, when there can be none. It is the last event once
 * more when the program had less time since then than it takes to launch anything:
 * nothing can have got onto the stream from this thread in between.
 */
struct sb_gpu_event *sb_gpu_marker_put(struct sb_gpu_marker *m, const struct sb_cuda *cuda,
	struct sb_gpu_context *c, sb_cu_stream stream, struct sb_gpu_arrival arrival);

/* The thread goes back to the program. */
void sb_gpu_marker_leave(struct sb_gpu_marker *m);

#endif
