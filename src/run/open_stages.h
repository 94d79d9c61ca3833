/* Which stage was open when: the longest stage calls of a run, in bounded memory. */
#ifndef SB_RUN_OPEN_STAGES_H
#define SB_RUN_OPEN_STAGES_H

#include "run/events.h"
#include "base/vec.h"

struct sb_open_stage {
	int64_t begin_ns, end_ns;
	uint32_t name, depth, role, track;
};

struct sb_open_stages {
	struct sb_vec all; /* struct sb_open_stage */
	int64_t least_ns; /* shorter ones are left out; rises when there are too many */
	bool sorted, failed;
};

void sb_open_stages_done(struct sb_open_stages *s); /* s may be zeroed */
/* Leaves out what strobe itself does inside the program. */
void sb_open_stages_add(struct sb_open_stages *s, const struct sb_zone *z);

/* The innermost stage open at each of the times, NULL: none. Times ascend. */
void sb_open_stages_at(
	struct sb_open_stages *s, const int64_t *t_ns, size_t count, const struct sb_open_stage **out_stages);
/* The innermost stage that fills most of [from, to]; NULL: none. */
const struct sb_open_stage *sb_open_stages_over(struct sb_open_stages *s, int64_t from_ns, int64_t to_ns);
struct sb_open_stages_gaps { /* the parts of a time in which no stage is open */
	int64_t all_ns;
	int64_t lead_ns; /* before the first stage */
	int64_t last_ns; /* the last moment in one; meaningless where all_ns is 0 */
};
struct sb_open_stages_gaps sb_open_stages_gaps(struct sb_open_stages *s, int64_t from_ns, int64_t to_ns);
/* The stage in which a value rose that was read at both times: the innermost that is open at the second, unless another one
 * fills more of the time between them. NULL: none, or stages fill less than half of that time. */
const struct sb_open_stage *sb_open_stages_rose(struct sb_open_stages *s, int64_t from_ns, int64_t to_ns);

#endif
