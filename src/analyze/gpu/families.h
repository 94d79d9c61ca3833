/* Kernels by family, for every path of zones that launched some. */
#ifndef SB_ANALYZE_GPU_FAMILIES_H
#define SB_ANALYZE_GPU_FAMILIES_H

#include "analyze/gpu/kernel_names.h"
#include "analyze/analysis.h"

struct sb_gpu_families;

int sb_gpu_families_new(struct sb_run *run, struct sb_gpu_families **out_families);
void sb_gpu_families_free(struct sb_gpu_families *f); /* takes NULL */

/* Adds a kernel that path launched. flags: SB_GPU_TILED and SB_GPU_FLAT, used if its name does not say
 * what it is. */
int sb_gpu_families_add(
	struct sb_gpu_families *f, uint32_t path, uint32_t name, uint32_t flags, int64_t duration_ns);
/* The number of a kernel's class: family, kind and precision. */
int sb_gpu_families_class(struct sb_gpu_families *f, uint32_t name, uint32_t flags, uint32_t *out_class);
uint32_t sb_gpu_families_class_count(const struct sb_gpu_families *f);
struct sb_kernel_class sb_gpu_families_class_at(const struct sb_gpu_families *f, uint32_t class);
/* model.gpu.families and path_kernels. */
int sb_gpu_families_fill(struct sb_gpu_families *f, struct sb_model *model);

#endif
