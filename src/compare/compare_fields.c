/* A diff key by key: the tables of compare.h. Numbers are rounded to the nanosecond: what lies
 * below is the rounding of sums. */
#include "compare/compare.h"

#define NANO .decimals = 9

static const char *const judged_on[] = { "single_calls", "totals", "one_generation", "ranks", SB_NAMES_END };
static const char *const scopes[] = { "tag", "setting", "system", "command", "stage", SB_NAMES_END };

/* What a verdict rests on; of a struct with the members judged and judgement. */
#define JUDGEMENT_ROWS(type, judged, tested)                                                              \
	SB_FIELD_NAMED(type, judgement.basis, "basis", SB_ALWAYS, sb_basis_names, "how it was judged",    \
		.when = judged),                                                                          \
		SB_FIELD(type, judgement.p, "p_ratio", SB_KNOWN, "of the rank test, two-sided", NANO,     \
			.when = judged),                                                                  \
		SB_FIELD(type, judgement.effect, "effect_ratio", SB_KNOWN,                                \
			"chance that a new value exceeds a base value; 0.5: none", NANO, .when = tested), \
		SB_FIELD(type, judgement.base_count, "base_repetition_count", SB_ALWAYS,                  \
			"values of the base that the verdict rests on", .when = judged),                  \
		SB_FIELD(type, judgement.now_count, "new_repetition_count", SB_ALWAYS,                    \
			"new values that the verdict rests on", .when = judged),                          \
		SB_FIELD(type, judgement.shift_ratio, "shift_ratio", SB_KNOWN,                            \
			"new / base over all pairs of repetitions", NANO, .when = judged),                \
		SB_FIELD(type, judgement.interval.low, "change_low_ratio", SB_KNOWN,                      \
			"95 % interval of new / base, low end", NANO, .when = judged),                    \
		SB_FIELD(type, judgement.interval.high, "change_high_ratio", SB_KNOWN,                    \
			"95 % interval of new / base, high end", NANO, .when = judged)

/* ---- metrics ---- */

SB_FIELD_WHEN(metric_judged, sb_metric_change, it->judged)
SB_FIELD_WHEN(metric_tested, sb_metric_change, it->judged && it->judgement.basis == SB_BASIS_RANK_TEST)

static const struct sb_field metric_rows[] = {
	SB_FIELD(sb_metric_change, key, "metric", SB_ALWAYS, "its key, which ends in its unit"),
	SB_FIELD(sb_metric_change, label, "label", SB_ALWAYS, "its name for people: \"Step (median)\""),
	SB_FIELD(sb_metric_change, unit, "unit", SB_ALWAYS, "for people"),
	SB_FIELD(sb_metric_change, base, "base_value", SB_KNOWN, "median of the runs before", NANO,
		.range = SB_SIGNED),
	SB_FIELD(sb_metric_change, now, "new_value", SB_KNOWN, "median of the runs now", NANO,
		.range = SB_SIGNED),
	SB_FIELD(sb_metric_change, delta, "delta_value", SB_KNOWN, "new - base", NANO, .range = SB_SIGNED),
	SB_FIELD(sb_metric_change, change_ratio, "change_ratio", SB_KNOWN, "new / base - 1", NANO,
		.range = SB_SIGNED),
	SB_FIELD(sb_metric_change, per_generation, "per_generation", SB_SET,
		"a total of the run, as what one generation has of it"),
	SB_FIELD_NAMED(sb_metric_change, verdict, "verdict", SB_ALWAYS, sb_verdict_names,
		"uncertain: past the tolerance, but repetitions do not bear it out; changed: neither worse "
		"nor better; too_few: fewer than a test needs, where something repeats"),
	SB_FIELD(sb_metric_change, words, "words", SB_ALWAYS,
		"the same for people: \"slower\", \"no longer measured\""),
	SB_FIELD_NAMED(sb_metric_change, tone, "tone", SB_ALWAYS, sb_tone_names, "how it is coloured"),
	JUDGEMENT_ROWS(sb_metric_change, metric_judged, metric_tested),
};
static SB_FIELDS(metric, sb_metric_change, "MetricChange", "A metric on both sides.");

/* ---- stages ---- */

SB_FIELD_WHEN(stage_judged, sb_stage_change, it->judged)
SB_FIELD_WHEN(stage_tested, sb_stage_change, it->judged && it->judgement.basis == SB_BASIS_RANK_TEST)

static const struct sb_field stage_rows[] = {
	SB_FIELD(sb_stage_change, name, "name", SB_ALWAYS, "as in the new runs, else as in the base"),
	SB_FIELD(sb_stage_change, code, "code", SB_KNOWN, "the program's own number of the stage"),
	SB_FIELD(sb_stage_change, parent, "parent_index", SB_KNOWN,
		"place in the list, from 0, of the stage that it is inside"),
	SB_FIELD(sb_stage_change, old_name, "old_name", SB_KNOWN,
		"its name in the base, where that is another"),
	SB_FIELD(sb_stage_change, counterpart, "counterpart", SB_KNOWN,
		"a stage that vanished or appeared in its place: renamed?"),
	SB_FIELD(sb_stage_change, base_s, "base_s", SB_KNOWN, "total before, median over runs", NANO),
	SB_FIELD(sb_stage_change, now_s, "new_s", SB_KNOWN, "total now, median over runs", NANO),
	SB_FIELD(sb_stage_change, delta_s, "delta_s", SB_KNOWN, "new_s - base_s", NANO, .range = SB_SIGNED),
	SB_FIELD(sb_stage_change, change_ratio, "change_ratio", SB_KNOWN, "new_s / base_s - 1", NANO,
		.range = SB_SIGNED),
	SB_FIELD(sb_stage_change, base_self_s, "base_self_s", SB_KNOWN, "self time before", NANO),
	SB_FIELD(sb_stage_change, now_self_s, "new_self_s", SB_KNOWN, "self time now", NANO),
	SB_FIELD(sb_stage_change, contribution_s, "contribution_s", SB_KNOWN,
		"change of self time: these and the change of unattributed_s, less that of the overlap, are "
		"the change of the "
		"total",
		NANO, .range = SB_SIGNED),
	SB_FIELD(sb_stage_change, base_count, "base_count", SB_KNOWN, "calls before", NANO),
	SB_FIELD(sb_stage_change, now_count, "new_count", SB_KNOWN, "calls now", NANO),
	SB_FIELD(sb_stage_change, base_spread_s, "base_spread_s", SB_KNOWN,
		"of a job: the slowest rank less the fastest, before", NANO),
	SB_FIELD(sb_stage_change, now_spread_s, "new_spread_s", SB_KNOWN, "the same now", NANO),
	SB_FIELD(sb_stage_change, base_slowest_rank, "base_slowest_rank", SB_KNOWN,
		"of a job: the rank that took longest, before"),
	SB_FIELD(sb_stage_change, now_slowest_rank, "new_slowest_rank", SB_KNOWN, "the same now"),
	SB_FIELD_NAMED(sb_stage_change, verdict, "verdict", SB_ALWAYS, sb_verdict_names, "the verdict on it"),
	SB_FIELD(sb_stage_change, words, "words", SB_ALWAYS,
		"the same for people: \"slower\", \"was skipped\""),
	SB_FIELD_NAMED(sb_stage_change, tone, "tone", SB_ALWAYS, sb_tone_names,
		"how it is coloured: a stage that came is worse, one that went is better"),
	SB_FIELD(sb_stage_change, reason, "reason", SB_KNOWN, "why it was skipped"),
	SB_FIELD_NAMED(sb_stage_change, judged_on, "judged", SB_ALWAYS, judged_on,
		"single_calls: there are repetitions inside a run, or the counts differ",
		.when = stage_judged),
	JUDGEMENT_ROWS(sb_stage_change, stage_judged, stage_tested),
};
static SB_FIELDS(stage, sb_stage_change, "StageChange", "A stage on both sides.");

/* ---- the diff ---- */

static const struct sb_field setting_rows[] = {
	SB_FIELD_NAMED(sb_setting_change, scope_name, "scope", SB_ALWAYS, scopes, "where it was set"),
	SB_FIELD(sb_setting_change, stage, "stage", SB_KNOWN, "the stage whose attribute it is"),
	SB_FIELD(sb_setting_change, key, "key", SB_ALWAYS, "its name"),
	SB_FIELD(sb_setting_change, base, "base", SB_KNOWN, "before; absent: not set"),
	SB_FIELD(sb_setting_change, now, "new", SB_KNOWN, "now; absent: not set"),
};
static SB_FIELDS(setting, sb_setting_change, "SettingChange", "Something that was set differently.");

static const char *const straggler_changes[] = { "came", "went", "stayed", SB_NAMES_END };

static const struct sb_field straggler_rows[] = {
	SB_FIELD(sb_straggler_change, rank, "rank", SB_ALWAYS, "which the others wait for"),
	SB_FIELD_NAMED(sb_straggler_change, change, "change", SB_ALWAYS, straggler_changes,
		"came: it was none before; went: it is none now"),
	SB_FIELD(sb_straggler_change, host, "host", SB_KNOWN, "its machine"),
	SB_FIELD(sb_straggler_change, stage, "stage", SB_KNOWN, "the stage with most of the extra work"),
	SB_FIELD(sb_straggler_change, base_behind_s, "base_behind_s", SB_KNOWN,
		"more work than the median rank, before", NANO, .range = SB_SIGNED),
	SB_FIELD(sb_straggler_change, now_behind_s, "new_behind_s", SB_KNOWN, "the same now", NANO,
		.range = SB_SIGNED),
};
static SB_FIELDS(straggler, sb_straggler_change, "StragglerChange", "A late rank of two jobs.");

SB_FIELD_WHEN(are_jobs, sb_job_sides, it->base_rank_count && it->now_rank_count)

static const struct sb_field jobs_rows[] = {
	SB_FIELD(sb_job_sides, base_rank_count, "base_rank_count", SB_ALWAYS, "ranks before"),
	SB_FIELD(sb_job_sides, now_rank_count, "new_rank_count", SB_ALWAYS, "ranks now"),
	SB_FIELD(sb_job_sides, base_host_count, "base_host_count", SB_ALWAYS, "machines before"),
	SB_FIELD(sb_job_sides, now_host_count, "new_host_count", SB_ALWAYS, "machines now"),
	SB_FIELD_LIST(sb_job_sides, stragglers, straggler_count, "stragglers", SB_ALWAYS, straggler,
		"those that came first"),
};
static SB_FIELDS(jobs, sb_job_sides, "ComparedJobs", "The ranks of two jobs.", .present = are_jobs);

static const char *const sides[] = { "base", "new", SB_NAMES_END };

static const struct sb_field run_rows[] = {
	SB_FIELD_NAMED(sb_compared_run, side, "side", SB_ALWAYS, sides, "before or now"),
	SB_FIELD(sb_compared_run, label, "label", SB_ALWAYS, "as it was asked for"),
	SB_FIELD(sb_compared_run, id, "id", SB_KNOWN, "the session's uuid"),
	SB_FIELD(sb_compared_run, name, "name", SB_KNOWN, "the session's name"),
	SB_FIELD(sb_compared_run, host, "host", SB_KNOWN, "where it ran"),
	SB_FIELD_AS(TIME, sb_compared_run, start_real_ns, "start_time", SB_SET, "when it began"),
	SB_FIELD(sb_compared_run, command, "command", SB_KNOWN, "what was run"),
	SB_FIELD(sb_compared_run, commit, "commit", SB_KNOWN,
		"git commit of the folder that it was started in"),
	SB_FIELD(sb_compared_run, tags, "tags", SB_KNOWN, "its tags, key=value"),
	SB_FIELD(sb_compared_run, median_begin_s, "median_generation_start_s", SB_KNOWN,
		"when the generation began that took the middle time, the first one left out"),
};
static SB_FIELDS(run, sb_compared_run, "ComparedRun", "One of the runs of a diff.");

static const char *const finding_changes[] = { "gone", "new", "stays", SB_NAMES_END };
static const struct sb_field finding_rows[] = {
	SB_FIELD(sb_finding_change, id, "id", SB_ALWAYS, "which finding, as in a report"),
	SB_FIELD_NAMED(
		sb_finding_change, change, "change", SB_ALWAYS, finding_changes, "gone, new, or it stays"),
	SB_FIELD(sb_finding_change, priority, "priority", SB_ALWAYS,
		"high, medium or low; of one that is gone, as it was"),
	SB_FIELD(sb_finding_change, issue, "issue", SB_ALWAYS,
		"what it says; of one that is gone, what it said"),
	SB_FIELD(sb_finding_change, place, "place", SB_KNOWN, "file and line, else stage or module"),
	SB_FIELD(sb_finding_change, base_saves_s, "base_gain_s", SB_KNOWN, "what its fix was said to save",
		NANO),
	SB_FIELD(
		sb_finding_change, now_saves_s, "new_gain_s", SB_KNOWN, "what its fix is said to save", NANO),
	SB_FIELD(sb_finding_change, startup, "startup", SB_SET,
		"it costs the start, not the warm generations"),
	SB_FIELD_NAMED(sb_finding_change, tone, "tone", SB_ALWAYS, sb_tone_names, "how it is coloured"),
};
static SB_FIELDS(finding, sb_finding_change, "FindingChange", "A finding that either side has.");

SB_FIELD_WHEN(gated, sb_comparison, it->gate_count > 0)

static const struct sb_field sb_comparison_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.diff/1"),
	SB_FIELD_ARRAY(sb_comparison, base_labels, base_count, "base", SB_ALWAYS, "the runs before"),
	SB_FIELD_ARRAY(sb_comparison, now_labels, now_count, "new", SB_ALWAYS, "the runs now"),
	SB_FIELD_LIST(sb_comparison, runs, run_count, "runs", SB_ALWAYS, run,
		"who they are: those before, then those now"),
	SB_FIELD_STRUCT(sb_comparison, total, "total", SB_ALWAYS, metric, "the change of the total"),
	SB_FIELD(sb_comparison, per_generation, "per_generation", SB_ALWAYS,
		"the total is of one generation, and so are the stages inside of one"),
	SB_FIELD_LIST(sb_comparison, outputs, output_count, "outputs", SB_KNOWN, sb_output_change_fields,
		"what both wrote; of several runs a side the first"),
	SB_FIELD_LIST(sb_comparison, findings, finding_count, "findings", SB_KNOWN, finding,
		"what their advice says: gone, new, then what stays; of several runs a side the first's"),
	SB_FIELD(sb_comparison, findings_unlike, "findings_unlike", SB_SET,
		"one side has a trace of the GPU and the other none: it finds more"),
	SB_FIELD(sb_comparison, output_verdict, "output_verdict", SB_KNOWN, "of runs whose outputs differ"),
	SB_FIELD_ARRAY(sb_comparison, explanations, explanation_count, "explanations", SB_ALWAYS,
		"sentences, the most telling first"),
	SB_FIELD_LIST(sb_comparison, stages, stage_count, "stages", SB_ALWAYS, stage,
		"the largest contribution first, whatever its sign"),
	SB_FIELD(sb_comparison, base_overlap_s, "base_overlap_s", SB_KNOWN,
		"before: self times and unattributed_s less the total: stages at the same time; of several "
		"runs or "
		"generations also medians that do not add up",
		NANO, .range = SB_SIGNED),
	SB_FIELD(sb_comparison, now_overlap_s, "new_overlap_s", SB_KNOWN, "the same now", NANO,
		.range = SB_SIGNED),
	SB_FIELD(sb_comparison, base_at_once_s, "base_at_once_s", SB_KNOWN,
		"before: of base_overlap_s, what stages at the same time make; the rest is that a median is "
		"not the sum of its parts",
		NANO, .range = SB_SIGNED),
	SB_FIELD(sb_comparison, now_at_once_s, "new_at_once_s", SB_KNOWN, "the same now", NANO,
		.range = SB_SIGNED),
	SB_FIELD_STRUCT(sb_comparison, jobs, "jobs", SB_KNOWN, jobs,
		"where both sides are jobs: stages are then the median rank's"),
	SB_FIELD_LIST(sb_comparison, metrics, metric_count, "metrics", SB_ALWAYS, metric,
		"metrics that either side has"),
	SB_FIELD_LIST(sb_comparison, settings, setting_count, "configuration", SB_ALWAYS, setting,
		"what was set differently"),
	SB_FIELD(sb_comparison, passed, "passed", SB_ALWAYS, "the gate (--fail-above) passed", .when = gated),
	SB_FIELD_ARRAY(sb_comparison, failures, failure_count, "failures", SB_ALWAYS,
		"sentences: why the gate fails", .when = gated),
};
SB_FIELDS(sb_comparison_fields, sb_comparison, "Diff", "Two runs, or two sets of runs, side by side.");
