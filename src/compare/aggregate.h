/* Many ranks into one report. Facts are added as they are read, in any order
 * and from several threads one after the other; only numbers are kept. */
#ifndef SB_COMPARE_AGGREGATE_H
#define SB_COMPARE_AGGREGATE_H

#include "compare/align.h"
#include "compare/facts.h"

/* Over ranks: which has the least, which the most. */
struct sb_across_ranks {
	size_t count; /* ranks that have it */
	double min, max, avg, sum, median;
	int64_t min_rank, max_rank;
	bool adds; /* the sum says something: see SB_METRICS */
};

/* How the work of ranks is measured, the same way for all ranks of a job. */
enum sb_work_measure {
	SB_WORK_IN_STAGES, /* wall time less waiting at collectives, imports, and outside every stage */
	SB_WORK_IN_RUN, /* the same with the time outside, where stages tell nothing */
	SB_WORK_BETWEEN_COLLECTIVES /* from their first common collective to the last, less what it waited */
};
extern const char *const sb_work_measures[]; /* "stages", "run", "between_collectives" */

enum { SB_WORK_PARTS = 16 };

struct sb_aggregate_rank {
	int64_t rank;
	char *label, *host, *id, *job; /* job: NULL or "" unknown */
	char *name; /* the session's */
	const char *gpu; /* uuid; NULL: none */
	const char *clock; /* ranks with the same text have the same clock; "" unknown */
	const char *failure; /* how it failed; NULL: it did not, or not known */
	char *damage; /* what of its recording could not be read; NULL: nothing */
	bool page; /* there is one of its own, in its folder */
	int64_t world_size; /* -1: none */
	uint64_t start_real_ns;
	bool complete;
	bool live; /* still being recorded */
	double metrics[SB_METRIC_COUNT];
	double work_s; /* what it did itself: sb_aggregate.work_measure */
	double met_s, together_s; /* between collectives: when that begins, how long it lasts */
	double work_parts_s[SB_WORK_PARTS]; /* its work in each part of that */
	double behind_s; /* how much more work than the median rank, of two than the other one; the others wait for it */
	double caused_wait_s; /* what the others waited where it came last, start-up left out; NaN: not known */
	size_t last_count; /* collectives where it came last, as far as the clocks can tell */
	size_t clear_count; /* its collectives of which they can */
	double late_wait_s, transfer_s,
		hidden_s; /* at its collectives: until the last came; after; overlapped */
	bool straggler;
	bool works_more; /* behind_s is large enough to be shown: sb_shows_more_work */
	char *slow_stage; /* where most of it is; NULL */
	double slow_stage_s, slow_stage_median_s;
	struct sb_fact_collective *collectives;
	size_t collective_count;
	int64_t collective_total; /* more than collective_count: the later ones are not here */
	struct sb_stage_lane stage_lane; /* no names: not known */
	struct sb_align_rank align;
	size_t report_index; /* in the order of ranks */
};

struct sb_aggregate_stage {
	const char *name, *code; /* code NULL: none */
	const char *key;
	const char *parent_key; /* NULL: top level */
	int64_t parent; /* index, in the finished order; -1: top level */
	int64_t order; /* of appearance on the lowest rank that has it: parents come before their children */
	uint32_t depth, role;
	uint64_t call_count;
	struct sb_across_ranks total_s, self_s;
	double min_s, max_s; /* of one call, over all ranks */
	double p50_s, p95_s, p99_s; /* of one call; NaN without histograms */
	double imbalance_ratio; /* max / avg - 1 of the total */
	double imbalance_s; /* max - avg: what an average rank would wait */
	/* private */
	struct sb_histogram calls;
	double *totals, *selves; /* per rank slot; NaN: not there */
	size_t rank_room;
};

/* order: a rank's stages come after all of the rank before it. */
#define SB_AGGREGATE_ORDER_STEP ((int64_t)1 << 32)

struct sb_aggregate_problem {
	char *label;
	char *what;
};

/* One world size of several, for scaling. */
struct sb_scale {
	int64_t world_size;
	size_t ranks;
	double wall_s; /* the slowest rank's */
	double generation_s; /* median; NaN */
	double speedup; /* against the smallest world */
	double efficiency_split_ratio; /* same work split: speed-up / growth of the world */
	double efficiency_kept_ratio; /* same work per rank: time stays, 1 is ideal */
};

/* A start of the job that was looked at: restarts and requeues make several. */
struct sb_aggregate_attempt {
	int64_t number; /* from 1 */
	char *label;
	char *what; /* "4 of 4 ranks ended in order" */
	bool taken; /* this report is on it */
	bool page; /* there is one, in its folder */
};

/* What one kind of collective did in one group. */
struct sb_communication {
	const char *group; /* NULL: not known */
	const char *operation; /* "all_reduce" */
	size_t rank_count, collective_count;
	double bytes; /* what a rank gave to all of them; 0: not known */
	double late_wait_s, transfer_s, hidden_s; /* all ranks */
	double bus_bytes_per_s; /* while it transferred, what a link had to carry; NaN: not known */
	int64_t last_rank; /* that came last most often, for certain; -1: none did */
	size_t last_count;
};

/* What the ranks made of one kind. Ranks that meet at collectives may make one video together, and nothing
 * recorded tells: of these only what each counts is known. */
struct sb_job_output {
	const char *what; /* "generations", "frames", "steps" */
	double all; /* ranks together; NaN: not known */
	double least, most; /* of a rank that has any */
};

/* A group that comes late as a whole where larger groups meet. */
struct sb_late_group {
	const char *group; /* "gloo:2-3:1" */
	size_t late_count, shared_count; /* of so many collectives with others */
	double wait_s; /* what the others waited for its first member, all of them together */
};

struct sb_aggregate {
	struct sb_aggregate_rank *ranks; /* by rank, after finishing */
	size_t rank_count;
	int64_t world_size; /* -1: not known */
	bool unranked; /* several, and none says its rank: runs side by side, not ranks */
	int64_t *missing; /* ranks without an input */
	size_t missing_count;
	struct sb_aggregate_problem *problems; /* broken, doubled */
	size_t problem_count;
	size_t report_count; /* all that were read */
	struct sb_across_ranks metrics[SB_METRIC_COUNT];
	struct sb_across_ranks work_s;
	struct sb_aggregate_stage *stages; /* the largest imbalance in seconds first, loading code last */
	size_t stage_count;
	size_t left_out_count; /* stages past the cap */
	double wait_s; /* at collectives, all ranks */
	double wait_ratio; /* of all ranks' wall time; NaN: no collectives */
	size_t collective_count; /* that were matched: the same group and number, or name */
	size_t unclear_count; /* of those: the clocks cannot tell who came last */
	double late_wait_s, transfer_s,
		hidden_s; /* all ranks, scaled up to all collectives; NaN: none matched */
	double startup_wait_s; /* of late_wait_s: until all had started and met for the first time; not scaled up */
	enum sb_work_measure work_measure;
	size_t work_part_count; /* 0: work is known as a whole only */
	char *straggler_rule; /* why there is none, with the numbers; NULL: there are some */
	size_t straggler_count;
	int64_t *stragglers; /* places in ranks, the furthest behind first */
	const char *memory_metric; /* the key of the peak that counts: the GPUs', else the processes'; NULL */
	struct sb_communication *communication; /* the most time first */
	size_t communication_count;
	struct sb_late_group *late_groups; /* the largest wait first */
	size_t late_group_count;
	struct sb_job_output *made; /* kinds that none made left out */
	size_t made_count;
	struct sb_scale *scales; /* by world size; only where there are several */
	size_t scale_count;
	double residual_s, uncertainty_s; /* of the clocks; NaN: not known */
	size_t host_count;
	double percentile_error_ratio;
	char *job; /* "" unknown */
	struct sb_aggregate_attempt *attempts; /* where there are several */
	size_t attempt_count;
	struct sb_fact_pair *pairs; /* command, tags, settings of the first rank */
	size_t pair_count;
	int64_t pairs_of; /* that rank; -1: none yet */
	/* what the page draws, and the two above, stragglers and memory_metric: drawings.c */
	struct sb_heat_map {
		int64_t *ranks;
		size_t rank_count;
		struct sb_heat_row {
			const char *name;
			double *total_s; /* by rank; NaN: it has no such stage */
			double median_s;
			size_t rank_count;
		} * stages; /* of the largest imbalance */
		size_t stage_count;
	} heat_map;
	struct sb_lane_letters { /* when each rank waited for the others, on one clock */
		double bin_s;
		char **wait_tenths; /* of each rank: a letter for each part of the time */
		size_t rank_count; /* 0: their clocks cannot be aligned */
		const char **stage_names; /* of the ranks' stages, those of the most time first */
		size_t stage_name_count;
		char **stages; /* of each rank: a letter for each part of the time */
		size_t stage_rank_count; /* 0: not known of any */
	} lanes;
	/* private */
	struct sb_strings strings;
	struct sb_map_of_stages *index;
};

struct sb_aggregate *sb_aggregate_new(void); /* NULL: no memory */
/* What one rank, one stage holds; for aggregate_finish.c, which drops some. */
void sb_aggregate_rank_done(struct sb_aggregate_rank *r);
void sb_aggregate_stage_done(struct sb_aggregate_stage *s);
void sb_aggregate_free(struct sb_aggregate *a); /* takes NULL */

/* Takes what it needs; the facts stay the caller's. */
int sb_aggregate_add(struct sb_aggregate *a, const struct sb_facts *facts);
/* An input that could not be read: named in the report, the rest goes on. */
int sb_aggregate_broken(struct sb_aggregate *a, const char *label, const char *why);

/* A start of the job beside the one that is read: listed in the report. */
int sb_aggregate_add_attempt(
	struct sb_aggregate *a, int64_t number, const char *label, const char *what, bool taken);

/* A job as one run that can be compared, kept in the history, drawn over time: its wall time is the
 * slowest rank's, its stages are the median rank's with their spread. After finishing. */
int sb_facts_of_job(const struct sb_aggregate *a, const char *label, struct sb_facts **out_facts);

/* What a job's value of a metric is, of its ranks'; NaN: none of them has it. */
double sb_job_value(enum sb_metric metric, const double *values, size_t count);

/* For callers that add ranks up themselves. Keep a text as long as the aggregate; add a stage with each
 * rank's times, in the order of sb_aggregate_add(); add a setting of the first rank. */
const char *sb_aggregate_keep(struct sb_aggregate *a, const char *text);
int sb_aggregate_add_pair(
	struct sb_aggregate *a, enum sb_fact_scope scope, const char *key, const char *value);
int sb_aggregate_add_stage(
	struct sb_aggregate *a, const struct sb_aggregate_stage *stage, const char *name, const char *code);

/* Everything is in: extents, stragglers, alignment, scaling. Where several world
 * sizes were given, the report is on the largest; the others scale. */
int sb_aggregate_finish(struct sb_aggregate *a);

/* Draws the heat map and the lanes. Finishing calls it; call it again after changing ranks. */
int sb_aggregate_draw(struct sb_aggregate *a);

/* strobe aggregate --format json: every key. */
extern const struct sb_fields sb_aggregate_fields;

/* ---- for aggregate's own files ---- */
/* ranks: of the values; NAN: that rank has none. */
void sb_across_ranks_of(
	const double *values, const int64_t *ranks, size_t count, struct sb_across_ranks *out_values);
int sb_aggregate_find_stragglers(struct sb_aggregate *a);
int sb_aggregate_count_made(struct sb_aggregate *a);
int sb_aggregate_meet(struct sb_aggregate *a);
struct sb_meet;
int sb_aggregate_measure_work(struct sb_aggregate *a, const struct sb_meet *meet);
int sb_aggregate_find_late_groups(struct sb_aggregate *a, const struct sb_meet *meet);
void sb_aggregate_drawings_done(struct sb_aggregate *a);

#endif
