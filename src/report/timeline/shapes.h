/* The shapes that kernels were launched with, each once. */
#ifndef SB_REPORT_TIMELINE_SHAPES_H
#define SB_REPORT_TIMELINE_SHAPES_H

#include "base/json.h"
#include "base/map.h"
#include "format/gpu_shape.h"

struct sb_timeline_shapes {
	struct sb_gpu_shape *all;
	uint32_t count, capacity;
	struct sb_map number_of; /* by a hash of the shape */
};

void sb_timeline_shapes_done(struct sb_timeline_shapes *shapes);
/* Its number + 1; 0: not known, or there are too many. */
uint64_t sb_timeline_shapes_number(struct sb_timeline_shapes *shapes, const struct sb_gpu_shape *shape);
/* [[grid x, y, z, block x, y, z, registers, shared bytes], ...] */
void sb_timeline_shapes_write(const struct sb_timeline_shapes *shapes, struct sb_json *j);

#endif
