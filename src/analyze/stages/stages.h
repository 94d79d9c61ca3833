/* The stage analysis, between its two halves: stages.c sums up calls by path
 * while the run streams past, tree.c and rows.c make the rows. */
#ifndef SB_ANALYZE_STAGES_STAGES_H
#define SB_ANALYZE_STAGES_STAGES_H

#include "run/gpu_spans.h"
#include "analyze/stages/behind.h"
#include "analyze/stages/call_sums.h"
#include "analyze/stages/shares.h"
#include "stats/coverage.h"
#include "stats/durations.h"
#include "analyze/analysis.h"
#include "analyze/stages/skips.h"

enum { SB_STAGE_ATTRS_MAX = 64 }; /* keys of one stage */

struct sb_stage_sum_attr {
	const char *key; /* a run name's text: compared by address */
	double sum, last, min, max;
	uint64_t count;
	char text[64];
};

/* Everything known of one path. */
struct sb_stage_sum {
	uint64_t count; /* all of the below included */
	uint64_t recursive_count; /* inside a call of the same path: in self_ns only */
	uint64_t open_count, cut_count; /* never ended, cut by a border: in the totals only */
	uint64_t folded_count;
	uint64_t folded_recursive_count;
	uint64_t untimed_count;
	uint64_t summed_count; /* calls that a summary put into one zone, beyond that zone */
	double summed_median_s; /* of its calls, as given; NaN: not given, or of several zones */
	bool summed, summed_min_unknown, summed_max_unknown;
	int64_t total_ns, self_ns;
	int64_t unfinished_ns; /* of the open and the cut ones */
	int64_t min_ns, max_ns; /* of the whole ones; INT64_MAX, -1: none */
	int64_t first_ns, end_ns; /* first begin, last end */
	int64_t last_end_ns, last_ns; /* of the last whole one; -1: folded away */
	int64_t gpu_span_ns;
	uint64_t gpu_span_count;
	int64_t late_ns, behind_ns; /* see behind.h; behind_ns: its parts' too */
	struct sb_durations durations; /* whole, outermost calls with detail */
	uint64_t *folded; /* SB_STAGE_BUCKETS counts, log-linear ns; NULL: none */
	struct sb_stage_sum_attr *attrs;
	uint32_t attr_count;
	uint32_t role;
	uint32_t last_track, track_count;
	struct sb_coverage coverage; /* of what may run at once, of the top level and of generations */
	bool main, span;
};
#define SB_STAGE_BUCKETS 496u

/* The calls that count: outermost, begun and ended in the part that was asked for. */
static inline uint64_t sb_stage_sum_whole(const struct sb_stage_sum *s)
{
	return s->count + s->summed_count - s->recursive_count - s->open_count - s->cut_count;
}

struct sb_stage_sums {
	struct sb_run *run;
	struct sb_stage_sum *all; /* by path */
	uint32_t count;
	struct sb_stage_skips skips;
	const struct sb_gpu_spans *spans; /* the run's */
	struct sb_behind behind;
	struct sb_stage_shares shares;
	struct sb_call_sums calls;
	struct sb_coverage_range range; /* the run */
	struct sb_union top; /* the top-level zones of all tracks */
	bool top_folded; /* some of them have no detail any more */
	bool imported; /* zones may stand for several calls */
	bool no_memory;
};

/* A path's sum; an empty one if it has none. */
const struct sb_stage_sum *sb_stage_sum_at(const struct sb_stage_sums *sums, uint32_t path);
int sb_stage_tree_build(struct sb_stage_sums *sums, struct sb_model *model);
/* Fills the parts of the wall time, from rows that are ranked. */
void sb_stages_part(struct sb_model *model);
/* After that: the names of the stages that matter most. */
void sb_stages_choose_largest(struct sb_model *model);

/* Marks which stages are set-up, and which ran on the main thread. */
void sb_stages_tell_kinds(struct sb_model *model);
/* Fills by_total and the bottlenecks of finished rows. */
void sb_stages_rank(struct sb_model *model);
/* Attributes with one value each, time per frame, step, iteration. */
void sb_stage_attributes_fill(struct sb_model *model);

/* p50, p95, p99 (within out_stats' min and max) from SB_STAGE_BUCKETS counts of
 * durations in ns; states their error. */
void sb_stage_folded_percentiles(const uint64_t *counts, struct sb_stats *out_stats);

/* "sampling_chunk_17" -> "sampling_chunk_*"; false: no index in it ("fp8" has none: it is a type of numbers). */
bool sb_stage_pattern(const char *name, char *out_pattern, size_t size);

#endif
