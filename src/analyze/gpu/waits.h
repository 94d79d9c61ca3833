/* Calls that waited for a GPU, by kind. */
#ifndef SB_ANALYZE_GPU_WAITS_H
#define SB_ANALYZE_GPU_WAITS_H

#include "analyze/gpu/kernels.h"
#include "run/events.h"

#define SB_GPU_WAITS_MAX 16u

struct sb_gpu_waits {
	uint32_t names[SB_GPU_WAITS_MAX]; /* run names */
	struct sb_gpu_tally tallies[SB_GPU_WAITS_MAX]; /* the last one holds what found no place of its own */
	uint32_t count;
};

void sb_gpu_waits_add(struct sb_gpu_waits *w, const struct sb_event *e);
void sb_gpu_waits_fill(const struct sb_gpu_waits *w, const struct sb_run *run, struct sb_model *model);

#endif
