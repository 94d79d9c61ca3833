/* Stages that were skipped, and the zones they would have been in. */
#ifndef SB_ANALYZE_STAGES_SKIPS_H
#define SB_ANALYZE_STAGES_SKIPS_H

#include "run/events.h"

struct sb_stage_skip {
	int64_t t_ns;
	uint32_t track;
	uint32_t name;
	uint32_t parent; /* path */
	bool placed;
	char *reason;
};

struct sb_stage_skips {
	struct sb_stage_skip *all; /* as recorded */
	uint32_t count, room;
	uint64_t left_out_count; /* past the most that are kept */
	int64_t first_ns, last_ns; /* of those not placed yet; first > last: none */
	/* private */
	uint32_t *order; /* by track and time: indices of all */
	uint32_t *next; /* of order: the first not placed from here on */
	uint32_t ordered_count, left_count;
};

void sb_stage_skips_init(struct sb_stage_skips *s);
void sb_stage_skips_done(struct sb_stage_skips *s);
void sb_stage_skips_add(struct sb_stage_skips *s, const struct sb_event *e);
/* Zones end inside out: the first around a skipped stage is its parent. */
void sb_stage_skips_place(struct sb_stage_skips *s, const struct sb_zone *z);

/* When all zones were seen: the same stage skipped again at the same place is one row, and only the first is kept. No
 * more can be placed then. False: no memory. */
bool sb_stage_skips_merge(struct sb_stage_skips *s);

static inline bool sb_stage_skips_touch(const struct sb_stage_skips *s, const struct sb_zone *z)
{
	return z->end_ns >= s->first_ns && z->begin_ns <= s->last_ns;
}

#endif
