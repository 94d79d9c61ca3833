/* What each stage took of each generation where the CPU runs ahead of the GPU: its calls in it, without what they waited for
 * the work of others, with what the GPU did for it later. Only of runs with GPU spans. */
#ifndef SB_ANALYZE_STAGES_SHARES_H
#define SB_ANALYZE_STAGES_SHARES_H

#include "analyze/model_stages.h"
#include "base/vec.h"
#include "run/events.h"

/* Of a track since its last generation's end, by path. */
struct sb_stage_shares {
	struct sb_share_track {
		struct sb_share_sum {
			int64_t called_ns, behind_ns, late_ns; /* see struct sb_stage_share */
			bool seen;
		} * sums;
		uint32_t path_count;
		struct sb_vec paths; /* uint32_t: those that were seen */
	} * tracks;
	uint32_t track_count;
	struct sb_vec all; /* struct sb_stage_share, by path, as generations ended */
};

/* The sum of a path, to add to; NULL: no memory. */
struct sb_share_sum *sb_stage_share_of(struct sb_stage_shares *s, uint32_t track, uint32_t path);
/* The end of a generation: takes what lies below its path. False: no memory. */
bool sb_stage_shares_end(struct sb_stage_shares *s, const struct sb_run *run, const struct sb_zone *z);
/* By row instead of by path, into the model; row_of: by path, -1: none. False: no memory. */
bool sb_stage_shares_take(
	struct sb_stage_shares *s, const int64_t *row_of, uint32_t path_count, struct sb_model *model);
void sb_stage_shares_done(struct sb_stage_shares *s);

#endif
