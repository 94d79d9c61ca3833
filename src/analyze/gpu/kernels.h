/* Kernels by name, and rows of the report made of them. */
#ifndef SB_ANALYZE_GPU_KERNELS_H
#define SB_ANALYZE_GPU_KERNELS_H

#include "analyze/model.h"
#include "run/run.h"

struct sb_gpu_tally {
	uint64_t count;
	int64_t total_ns, min_ns, max_ns, bytes;
};
void sb_gpu_tally_count(struct sb_gpu_tally *t, int64_t duration_ns, int64_t bytes);

struct sb_gpu_kernels {
	const struct sb_run *run;
	const struct sb_gpu_tally *all; /* by run name */
	uint32_t room;
	int64_t total_ns; /* of all kernels */
};
/* The largest into model.gpu. */
int sb_gpu_kernels_fill(const struct sb_gpu_kernels *kernels, struct sb_model *model);
/* Kernels by what a function makes of their names, NULL: left out; at most 16 kinds. */
struct sb_gpu_row *sb_gpu_kernels_by_kind(const struct sb_gpu_kernels *kernels, struct sb_model *model,
	const char *(*kind_of)(const char *), size_t *out_count);

#endif
