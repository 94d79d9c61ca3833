/* Of each path: its warm calls, and how long weights moved in its calls. */
#ifndef SB_ANALYZE_STAGES_CALL_SUMS_H
#define SB_ANALYZE_STAGES_CALL_SUMS_H

#include "analyze/warm_calls.h"

struct sb_call_sum { /* calls of one kind */
	uint64_t count, gpu_span_count;
	int64_t total_ns, gpu_span_ns;
	int64_t moves_ns; /* weights moved in them and their parts: the GPU's time, where that is known */
};

struct sb_path_calls {
	struct sb_call_sum of[SB_CALL_KINDS];
	int64_t open_moves_ns; /* in the call that is open, by what has ended inside it */
};

struct sb_call_sums {
	struct sb_warm_calls warm;
	struct sb_path_calls *all; /* by path */
	uint32_t path_room;
};

/* Called as zones end. moved_ns: of a zone that moves weights, how long it keeps the GPU waiting. False: no memory. */
bool sb_call_sums_take(
	struct sb_call_sums *c, const struct sb_run *run, const struct sb_zone *z, int64_t moved_ns);
void sb_call_sums_done(struct sb_call_sums *c);

#endif
