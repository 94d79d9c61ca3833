/* GPU spans of zones (from event to event on a stream), and which zone each belongs to: one copy for all visitors of a pass. */
#ifndef SB_RUN_GPU_SPANS_H
#define SB_RUN_GPU_SPANS_H

#include "run/events.h"
#include "base/map.h"

struct sb_gpu_span {
	int64_t launch_ns;
	int64_t begin_ns; /* on the GPU */
	uint64_t duration_ns : 55;
	uint64_t device : 8;
	uint64_t taken : 1; /* by its zone */
};

struct sb_gpu_spans {
	struct sb_gpu_span_list {
		uint32_t name, track; /* of the launch; UINT32_MAX: not known */
		struct sb_gpu_span *all; /* by launch, once one was looked for */
		uint32_t count, room;
		bool unsorted;
	} * lists;
	uint32_t list_count, list_room;
	struct sb_map list_of; /* track << 32 | name */
	uint8_t *has_name; /* by run name id */
	uint32_t name_count;
};

static inline int64_t sb_gpu_span_end_ns(const struct sb_gpu_span *span)
{
	return span->begin_ns + (int64_t)span->duration_ns;
}

/* Of an event of SB_GPU_ZONE. False: no memory. */
bool sb_gpu_spans_add(struct sb_gpu_spans *g, const struct sb_event *e);
/* The zone's own span, which is taken with that; NULL: it has none. Valid until the next one is added. */
const struct sb_gpu_span *sb_gpu_spans_take(struct sb_gpu_spans *g, const struct sb_zone *z);
void sb_gpu_spans_done(struct sb_gpu_spans *g); /* may be used again */

/* Those of the last pass that had a visitor with gpu_spans: with what no zone took. */
const struct sb_gpu_spans *sb_run_gpu_spans(const struct sb_run *run);

#endif
