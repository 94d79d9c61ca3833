/* GPU spans of zones (from event to event on a stream), and which zone each belongs to. */
#ifndef SB_ANALYZE_GPU_SPANS_H
#define SB_ANALYZE_GPU_SPANS_H

#include "run/events.h"

struct sb_gpu_spans {
	struct sb_gpu_span {
		uint32_t name, track;
		int64_t launch_ns;
		int64_t begin_ns, end_ns; /* on the GPU */
		bool taken;
	} * all;
	uint32_t count, room;
	bool sorted; /* by name, track and launch */
	uint8_t *has_name; /* by run name id */
	uint32_t name_count;
};

/* Of an event of SB_GPU_ZONE. False: no memory. */
bool sb_gpu_spans_add(struct sb_gpu_spans *g, const struct sb_event *e);
/* The zone's own span, which is taken with that; NULL: it has none. Valid until the next one is added. */
const struct sb_gpu_span *sb_gpu_spans_take(struct sb_gpu_spans *g, const struct sb_zone *z);
void sb_gpu_spans_sort(struct sb_gpu_spans *g);
void sb_gpu_spans_done(struct sb_gpu_spans *g);

#endif
