/* Memory: snapshots of allocators, alloc and free events, what each stage peaked at and kept, and VRAM,
 * RAM, swap and page cache side by side. memory.c collects and lists snapshots, stages.c assigns peaks to
 * stages, timeline.c puts VRAM and RAM side by side; open_stages.c knows which stage was open when. */
#ifndef SB_ANALYZE_MEMORY_MEMORY_H
#define SB_ANALYZE_MEMORY_MEMORY_H

#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_memory;

/* A stage's row in the memory panel, once that is filled; NULL: no memory, or too many. */
struct sb_memory_stage *sb_memory_stage_row(struct sb_model *model, const char *name);
/* Once the peaks of stages are known: whether each gave back what it took, and the largest first. */
void sb_memory_stages_judge(struct sb_memory_panel *panel);

#endif
