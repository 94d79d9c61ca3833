/* Memory: snapshots of allocators, alloc and free events, what each stage
 * peaked at and kept, and VRAM, RAM, swap and page cache side by side.
 *
 * memory.c takes notes and lists snapshots, memory_stages.c puts peaks down to
 * stages, memory_timeline.c sets VRAM and RAM side by side; stage_spans.c knows
 * which stage was open when. */
#ifndef SB_ANALYZE_MEMORY_H
#define SB_ANALYZE_MEMORY_H

#include "analyze/model.h"

extern const struct sb_analysis sb_analysis_memory;

/* MB in samples and reports of memory are 2^20 bytes, as torch and nvidia-smi
 * print them. */
#define SB_MB 1048576.0
#define SB_GB (1024 * SB_MB)

#endif
