/* What changed between runs, whether it is real, and what likely explains it.
 * Either side may be several runs of the same thing. */
#ifndef SB_COMPARE_COMPARE_H
#define SB_COMPARE_COMPARE_H

#include "compare/facts.h"
#include "compare/outputs.h"
#include "stats/statistics.h"

/* How a change is coloured. */
enum sb_tone { SB_TONE_NONE, SB_TONE_WORSE, SB_TONE_BETTER };
extern const char *const sb_tone_names[]; /* by value */

struct sb_stage_change {
	const char *name; /* as in NEW, else as in BASE */
	const char *old_name; /* where the words differ; NULL */
	const char *code; /* NULL: none */
	uint32_t depth;
	int64_t parent; /* index of stages; -1: top level */
	size_t row; /* where it stood before they were sorted */
	enum sb_verdict verdict;
	struct sb_judgement judgement; /* of the time of all calls, or of one call: see per_call */
	bool negligible; /* it is slower or faster by the judgement, and so little of the total that it is the same */
	bool per_call; /* judged on one call: there are repetitions inside a run, or the counts differ */
	bool per_generation; /* times, counts and contribution are those of one generation */
	bool per_rank; /* of two jobs: times are the median rank's, judged on those of all ranks */
	double base_spread_s, now_spread_s; /* of jobs: the slowest rank less the fastest; NaN otherwise */
	int64_t base_slowest_rank, now_slowest_rank; /* -1: none */
	const char *counterpart; /* a stage that vanished or appeared in its place: renamed? NULL: none */
	double base_s, now_s; /* medians over runs of the total; NaN: not there or not timed */
	double base_self_s, now_self_s;
	double base_count, now_count;
	double contribution_s; /* change of self time: these, the unattributed change and, subtracted, that of the
				  overlap add up to the change of the total */
	bool counted; /* it is in what the total is about */
	enum sb_stage_state base_state, now_state;
	bool in_base, in_now;
	const char *reason; /* why skipped */
	/* its words, the same in every format: changes.c */
	const char *words; /* "slower", "was skipped", … */
	enum sb_tone tone; /* a stage that came is worse, one that went is better */
	bool judged; /* timed on both sides */
	const char *judged_on; /* "ranks", "single_calls", "one_generation", "totals" */
	double delta_s, change_ratio; /* NaN: not timed on both sides */
};

/* Judged on one call, of which nothing is proved, and called more or less often: what its total shows is that. */
static inline bool sb_stage_calls_changed(const struct sb_stage_change *s)
{
	return s->verdict == SB_VERDICT_UNCERTAIN && s->per_call && s->base_count > 0 && s->now_count > 0 &&
	       s->base_count != s->now_count && (s->base_s < s->now_s) == (s->base_count < s->now_count);
}

struct sb_metric_change {
	enum sb_metric metric;
	double base, now; /* medians; NaN: absent */
	bool per_generation; /* a total of the run, as what one generation has of it */
	bool unlike; /* a total of runs that made different numbers of generations: it says nothing */
	enum sb_verdict verdict; /* VANISHED: the metric went missing */
	struct sb_judgement judgement;
	/* its words, the same in every format: changes.c */
	const char *key, *label, *unit;
	const char *words; /* "slower", "no longer measured", … */
	enum sb_tone tone; /* one that was measured on one side only is neither */
	bool judged; /* there on both sides */
	double delta, change_ratio; /* NaN: not there on both sides */
};

struct sb_setting_change {
	enum sb_fact_scope scope;
	const char *where; /* a stage's label, "": the run */
	const char *key;
	const char *base, *now; /* NULL: not set */
	const char *scope_name; /* "tag", "setting", "system", "command", "stage" */
	const char *stage; /* where; NULL: the run */
};

/* A finding that either side has. */
struct sb_finding_change {
	const char *id;
	const char *change; /* "gone", "new", "stays" */
	const char *priority, *issue, *place; /* as it is now, of one that is gone as it was */
	double base_saves_s, now_saves_s; /* NaN: not known, or not found on that side */
	bool startup;
	enum sb_tone tone;
};

/* A run as the report names it, so that it can be found again. */
struct sb_compared_run {
	const char *side; /* "base", "new" */
	const char *label, *id, *name, *host, *command, *commit; /* borrowed; NULL: unknown */
	char *tags; /* "model=wan-1.3b seed=42"; NULL: none */
	uint64_t start_real_ns; /* 0: unknown */
	double median_begin_s; /* of its generations; NaN: none */
};

/* A rank that the others wait for, in one of two jobs or in both. */
struct sb_straggler_change {
	int64_t rank;
	const char *change; /* "came", "went", "stayed" */
	const char *host, *stage; /* where it is late now, else where it was; stage NULL: not known */
	double base_behind_s, now_behind_s; /* NaN: it is in one job only */
};

struct sb_job_sides {
	size_t base_rank_count, now_rank_count; /* 0: runs, not jobs */
	size_t base_host_count, now_host_count;
	struct sb_straggler_change *stragglers;
	size_t straggler_count;
};

struct sb_gate {
	char *name; /* a metric, a stage's name or code; "" : the total */
	double ratio; /* 0.05: fails above + 5 % */
};

struct sb_comparison {
	const struct sb_facts *const *base; /* borrowed */
	const struct sb_facts *const *now;
	size_t base_count, now_count;
	const char **base_labels, **now_labels;
	struct sb_compared_run *runs; /* those before, then those now */
	size_t run_count;
	struct sb_tolerance tolerance;
	struct sb_metric_change total;
	bool per_generation; /* total is of one generation, and so are the stages inside of one */
	bool unlike_generations; /* the sides made different numbers of them: their totals say nothing */
	struct sb_stage_change *stages; /* the largest contribution first, whatever its sign */
	size_t stage_count;
	double unattributed_change_s;
	double base_overlap_s,
		now_overlap_s; /* self times and the unattributed time less the total; NaN: not known */
	/* of that, what ran at the same time; the rest: a median is not the sum of its parts */
	double base_at_once_s, now_at_once_s;
	struct sb_metric_change *metrics; /* those in either side, total not among them */
	size_t metric_count;
	struct sb_setting_change *settings;
	size_t setting_count;
	struct sb_job_sides jobs; /* where each side is a job */
	struct sb_output_change *outputs; /* of the first run of each side */
	size_t output_count;
	struct sb_finding_change
		*findings; /* of the first run of each side: gone, new, then those that stay */
	size_t finding_count;
	bool findings_known; /* of both sides */
	bool findings_unlike; /* one side has a trace of the GPU, the other none: it finds more */
	const char *output_verdict; /* "faster, but the output changed"; NULL: none did */
	char **explanations; /* sentences, the most telling first */
	size_t explanation_count;
	char **failures; /* sentences: why the gate fails */
	size_t failure_count;
	size_t gate_count;
	bool passed;
	/* private */
	struct sb_strings strings;
};

struct sb_compare_options {
	struct sb_tolerance tolerance; /* all zero: the default */
	const struct sb_gate *gates;
	size_t gate_count;
	double min_psnr_db; /* an output must keep it; 0: not asked for */
	bool pictures; /* of the frames that differ most, for a page */
	bool allow_missing; /* a metric that went missing does not fail the gate */
};

int sb_compare(const struct sb_facts *const *base, size_t base_count, const struct sb_facts *const *now,
	size_t now_count, const struct sb_compare_options *options, struct sb_comparison **out_comparison);
void sb_comparison_free(struct sb_comparison *c); /* takes NULL */

/* "5%", "vae_decode=10%,peak_memory=2%"; the caller frees with sb_gates_free. */
int sb_gates_parse(const char *text, struct sb_gate **out_gates, size_t *out_count);
void sb_gates_free(struct sb_gate *gates, size_t count);

/* "[4f.2] UNet pipeline", into a buffer. */
void sb_stage_label(const char *code, const char *name, char *out, size_t size);

/* strobe diff --format json: every key. */
extern const struct sb_fields sb_comparison_fields;

/* ---- for compare's own files ---- */
int sb_compare_no_memory(void);
double sb_compare_median(const double *values, size_t count); /* NaN of none */
double sb_facts_generations(const struct sb_facts *run); /* NaN: none were marked */
/* Whether a row that rests on all generations of a run is worth more than its one value: on as many as the headline. */
enum sb_few sb_compare_few_of_generations(const struct sb_comparison *c);
/* What it rests on is then what the headline does. */
void sb_compare_count_generations(const struct sb_comparison *c, struct sb_judgement *judgement);
/* True for a generation and the stages inside one. If a run made only one, the share is 1 for all. */
bool sb_compare_is_inside(const struct sb_facts *run, const struct sb_fact_stage *s);
/* 1 for the whole run, 1 / generations for a stage inside of them where the comparison is of one. */
double sb_compare_share_of_run(
	const struct sb_comparison *c, const struct sb_facts *run, const struct sb_fact_stage *s);
/* True for a generation where the comparison is of one generation: its self time is the unattributed
 * time already. */
bool sb_compare_is_unattributed(const struct sb_comparison *c, const struct sb_fact_stage *s);
int sb_compare_stages(struct sb_comparison *c);
int sb_compare_jobs(struct sb_comparison *c);
int sb_compare_pairs(struct sb_comparison *c);
int sb_compare_attrs(struct sb_comparison *c);
int sb_comparison_say(char ***list, size_t *count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int sb_compare_outputs(struct sb_comparison *c, const struct sb_compare_options *options);
int sb_compare_findings(struct sb_comparison *c);
int sb_compare_output_gate(struct sb_comparison *c, double min_psnr_db);
int sb_compare_overlap(struct sb_comparison *c);
int sb_compare_explain(struct sb_comparison *c);
int sb_compare_name_runs(struct sb_comparison *c);
int sb_changes_describe(struct sb_comparison *c); /* the last: what every form says of a change */
int sb_compare_gate(struct sb_comparison *c, const struct sb_compare_options *options);

#endif
