/* Where the CPU runs ahead: it has left a stage and the GPU is still at what was launched in it. That time is this
 * stage's, and not that of the stages in which the CPU waits for it or launches more meanwhile. */
#ifndef SB_ANALYZE_STAGES_BEHIND_H
#define SB_ANALYZE_STAGES_BEHIND_H

#include "base/vec.h"
#include "run/events.h"

struct sb_behind {
	struct sb_vec *tracks; /* of struct sb_late, in order, none at the same time as another */
	uint32_t track_count;
};

struct sb_late {
	int64_t from_ns, to_ns;
	int64_t before_ns; /* the sum of those before it */
	int64_t own_to_ns; /* the rest lies after the generation and is of no stage */
	uint32_t path; /* of the stage whose time it is */
};

/* Called with the zones of a track as they end. out_late_ns: how long the GPU is at it after the zone's end, without what is
 * the zones' before it. False: no memory. */
bool sb_behind_add(struct sb_behind *b, const struct sb_zone *z, int64_t gpu_begin_ns, int64_t gpu_end_ns,
	int64_t *out_late_ns);
/* How long, during a zone, the GPU was at what another one had launched before. */
int64_t sb_behind_in(const struct sb_behind *b, const struct sb_zone *z);
/* The end of a generation: time after it is of no stage until another one's end takes it in. From the latest on, by a place
 * that begins at 0: how much is added to which path's late_ns, or taken from it. False: no more. */
bool sb_behind_settle(
	struct sb_behind *b, const struct sb_zone *z, size_t *place, uint32_t *out_path, int64_t *out_ns);
void sb_behind_done(struct sb_behind *b);

#endif
