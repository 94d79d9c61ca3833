/* Memory: snapshots of allocators, alloc and free events, what each stage peaked at and kept, and VRAM,
 * RAM, swap and page cache side by side. memory.c collects and lists snapshots, stages.c assigns peaks to
 * stages, timeline.c puts VRAM and RAM side by side; open_stages.c knows which stage was open when. */
#ifndef SB_ANALYZE_MEMORY_MEMORY_H
#define SB_ANALYZE_MEMORY_MEMORY_H

#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_memory;

/* Once the peaks of stages are known: whether each gave back what it took, and the largest first. */
void sb_memory_stages_judge(struct sb_memory_panel *panel);

#endif
