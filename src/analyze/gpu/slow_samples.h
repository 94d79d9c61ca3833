/* Python's samples of slow moments: where the thread that stepped was, in the slow one and in the normal one. */
#ifndef SB_ANALYZE_GPU_SLOW_SAMPLES_H
#define SB_ANALYZE_GPU_SLOW_SAMPLES_H

#include "analyze/analysis.h"
#include "base/map.h"
#include "base/vec.h"

struct sb_slow_samples {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_vec all; /* of every side of every moment, of every thread */
	struct sb_map files; /* function -> index of texts */
	struct sb_vec texts; /* const char *, the model's */
	bool no_memory;
};

/* One side of a moment and the thread that explains it. */
struct sb_slow_thread {
	uint32_t side;
	uint32_t process;
	uint32_t track; /* UINT32_MAX: no step or generation is known, the main thread of the process */
};

/* An SB_EVENT_CODE_FILE. */
void sb_slow_samples_file(struct sb_slow_samples *s, const struct sb_event *e);
/* An SB_EVENT_STACK inside that side, which began at begin_ns: of the time since the last look it has what lies inside. */
void sb_slow_samples_take(
	struct sb_slow_samples *s, uint32_t side, int64_t begin_ns, const struct sb_event *e);
/* The functions that took longer, the largest first, at most `most`: those of the program, by what they called. A function
 * counts from least_s on. */
size_t sb_slow_samples_parts(struct sb_slow_samples *s, const struct sb_slow_thread *slow,
	const struct sb_slow_thread *normal, double least_s, struct sb_slow_part *out, size_t most);
void sb_slow_samples_done(struct sb_slow_samples *s); /* s may be zeroed */

#endif
