/* Which stage was open when: the longest stage calls of a run, in bounded memory. */
#ifndef SB_ANALYZE_MEMORY_OPEN_STAGES_H
#define SB_ANALYZE_MEMORY_OPEN_STAGES_H

#include "run/events.h"
#include "base/vec.h"

struct sb_stage_span {
	int64_t begin_ns, end_ns;
	uint32_t name, depth, role, track;
};

struct sb_stage_spans {
	struct sb_vec all; /* struct sb_stage_span */
	int64_t least_ns; /* shorter ones are left out; rises when there are too many */
	bool sorted, failed;
};

void sb_stage_spans_done(struct sb_stage_spans *s); /* s may be zeroed */
void sb_stage_spans_add(struct sb_stage_spans *s, const struct sb_zone *z);

/* The innermost stage open at each of the times, NULL: none. Times ascend. */
void sb_stage_spans_at(
	struct sb_stage_spans *s, const int64_t *t_ns, size_t count, const struct sb_stage_span **out_spans);
/* The innermost stage that fills most of [from, to]; NULL: none. */
const struct sb_stage_span *sb_stage_spans_over(struct sb_stage_spans *s, int64_t from_ns, int64_t to_ns);

#endif
