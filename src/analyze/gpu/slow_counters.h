/* What the sampled counters said in a slow moment, GPU by GPU. */
#ifndef SB_ANALYZE_GPU_SLOW_COUNTERS_H
#define SB_ANALYZE_GPU_SLOW_COUNTERS_H

#include "analyze/model.h"
#include "base/vec.h"
#include "run/events.h"

struct sb_slow_counters {
	struct sb_vec devices; /* by the monitors' number */
	uint64_t named; /* a bit each: GPUs that the moment's own zones name; 0: none */
};

/* A row of samples, of a part of the moment. False: no memory. */
bool sb_slow_counters_take(struct sb_slow_counters *c, int device, const struct sb_event *e, double dt_s);
/* Of the GPU that each ran on, of several the busiest: of the normal one the same as of the slow one, if it ran there, too. */
void sb_slow_counters_fill(struct sb_model *model, const struct sb_slow_counters *slow,
	const struct sb_slow_counters *normal, struct sb_slow_moment *out);
void sb_slow_counters_done(struct sb_slow_counters *c);

#endif
