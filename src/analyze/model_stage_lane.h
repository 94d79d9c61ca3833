/* The report model: which stage the main thread was in, part by part of the run. For the timeline of a job; a run's own
 * report has the zones themselves. */
#ifndef SB_ANALYZE_MODEL_STAGE_LANE_H
#define SB_ANALYZE_MODEL_STAGE_LANE_H

#include <stddef.h>
#include <stdint.h>

#define SB_STAGE_LANE_BINS 240u
#define SB_STAGE_LANE_NAMES 32u
#define SB_STAGE_LANE_NONE 255 /* in no stage for most of it */

struct sb_stage_lane {
	const char **names;
	size_t name_count; /* at most SB_STAGE_LANE_NAMES; 0: no zones */
	uint8_t *bins; /* SB_STAGE_LANE_BINS equal parts of the run: a name's number, or SB_STAGE_LANE_NONE */
};

#endif
