/*
 * The events that one thread puts on streams: the context they belong to, a few
 * free ones to take, and when the last event can be used once more.
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
	uint64_t share_ticks; /* how long an event may be used again */
	uint64_t quickest_ticks; /* the fastest put so far; 0: none */
	uint32_t put_count;
	struct sb_gpu_last last;
	struct sb_gpu_context *spare_context;
	uint32_t spare_count;
	struct sb_gpu_event *spares[SB_GPU_SPARES];
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

/* The thread's current context; NULL when there is none, or no room for it. */
struct sb_gpu_context *sb_gpu_marker_context(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, uint64_t now_ticks);

/*
 * Puts an event onto the stream and returns it, with a reference for the caller. NULL, with
 * the reason counted, when there can be none. The last event is returned once more when
 * the program had less time since then than a launch takes: this thread cannot have put
 * anything onto the stream in between.
 */
struct sb_gpu_event *sb_gpu_marker_put(struct sb_gpu_marker *m, const struct sb_cuda *cuda,
	struct sb_gpu_context *c, sb_cu_stream stream, struct sb_gpu_arrival arrival);

/* The thread goes back to the program. */
void sb_gpu_marker_leave(struct sb_gpu_marker *m);

#endif
