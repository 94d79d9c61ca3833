/* When each rank ran and when it waited for the others, on one clock. */
#ifndef SB_COMPARE_RANK_LANES_H
#define SB_COMPARE_RANK_LANES_H

#include "compare/aggregate.h"

#define SB_LANE_AWAY 255 /* not running then */
#define SB_LANE_UNKNOWN 254 /* its collectives are not known from there on */

struct sb_lane_span {
	double begin_s, end_s;
};

struct sb_rank_lanes {
	double bin_s;
	uint32_t bin_count;
	uint8_t *wait_percent; /* rank by rank, bin_count each: time at collectives, or SB_LANE_... */
	struct sb_lane_span *spans; /* of each rank, since the first part's begin */
};

/* No bins where the ranks' clocks cannot be aligned: a report
 * without a start, or runs that were not at the same time; nor where single
 * collectives are not at hand. After finishing. */
int sb_rank_lanes_of(const struct sb_aggregate *a, uint32_t bin_count, struct sb_rank_lanes *out_lanes);
void sb_rank_lanes_done(struct sb_rank_lanes *lanes);

#endif
