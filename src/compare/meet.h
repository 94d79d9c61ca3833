/* Which calls of which ranks are one collective: the same group, the same number in it. */
#ifndef SB_COMPARE_MEET_H
#define SB_COMPARE_MEET_H

#include "compare/align.h"

/* One rank's part in it. */
struct sb_meet_part {
	const struct sb_fact_collective *call;
	uint32_t rank; /* index of the rank */
};

/* Parts of one collective lie side by side, in the order of ranks. */
struct sb_meet {
	struct sb_meet_part *parts;
	size_t part_count;
	struct sb_met {
		size_t first, count;
	} * all;
	size_t count;
};

/* Those that at least two ranks were in. Linear in the calls; only the different collectives are sorted. */
int sb_meet_match(const struct sb_align_rank *ranks, size_t count, struct sb_meet *out_meet);
void sb_meet_done(struct sb_meet *m); /* m may be zeroed */

#endif
