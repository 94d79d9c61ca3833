/* The GPU time of each path of zones, as rows of the report. */
#ifndef SB_ANALYZE_GPU_PATHS_H
#define SB_ANALYZE_GPU_PATHS_H

#include "analyze/gpu/launches.h"
#include "analyze/analysis.h"

#define SB_GPU_ROWS 20u /* at most, of each kind */

/* The largest of rows by their total, as the model's own; count becomes theirs. */
struct sb_gpu_row *sb_gpu_rows_keep(struct sb_model *model, struct sb_gpu_row *rows, size_t *count);
/* In the model's memory. */
const char *sb_gpu_path_name(struct sb_run *run, struct sb_model *model, uint32_t path);
/* top_zones, offload, idle_zones and the busy time of every path. */
void sb_gpu_paths_fill(struct sb_run *run, const struct sb_gpu_launches *launches,
	const struct sb_gpu_times *times, struct sb_model *model);

#endif
