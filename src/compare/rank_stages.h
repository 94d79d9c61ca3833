/* Which stage each rank was in, on the clock of the lanes. */
#ifndef SB_COMPARE_RANK_STAGES_H
#define SB_COMPARE_RANK_STAGES_H

#include "compare/rank_lanes.h"

#define SB_RANK_STAGES_MAX 26u /* names, the last one of them for all that come after */

/* Fills stage_names and stages of *letters; neither where no rank's stages are known. '.' the rank was not running,
 * '-' in no stage, '?' not known, 'a' + a name's number. */
int sb_rank_stages_of(
	const struct sb_aggregate *a, const struct sb_rank_lanes *lanes, struct sb_lane_letters *letters);

#endif
