/* Will it fit, key by key: the tables of fit.h. */
#include "compare/fit.h"

SB_FIELD_WHEN(has_pair, sb_fit_largest, !isnan(it->other_value))
SB_FIELD_WHEN(is_known, sb_fit_value, !isnan(it->predicted))

static const char *const memories[] = { "allocated", "process", "host", SB_NAMES_END };

static const struct sb_field axis_rows[] = {
	SB_FIELD(sb_fit_axis, key, "key", SB_ALWAYS, "what the generations carry"),
	SB_FIELD(sb_fit_axis, value, "asked_value", SB_ALWAYS, "asked for, or as in the run"),
	SB_FIELD(sb_fit_axis, asked, "asked", SB_ALWAYS, "false: it is as in the run"),
	SB_FIELD(sb_fit_axis, least, "least_value", SB_KNOWN, "the least that was measured"),
	SB_FIELD(sb_fit_axis, most, "most_value", SB_KNOWN, "the most that was measured"),
	SB_FIELD(sb_fit_axis, seen_count, "seen_count", SB_ALWAYS, "different values that were measured"),
};
static SB_FIELDS(axis, sb_fit_axis, "FitAxis", "One of the sizes.");

static const struct sb_field memory_rows[] = {
	SB_FIELD_AS(WHOLE, sb_fit_value, predicted, "predicted_bytes", SB_ALWAYS, "predicted peak"),
	SB_FIELD_AS(WHOLE, sb_fit_value, low, "low_bytes", SB_ALWAYS, "low end of the range"),
	SB_FIELD_AS(WHOLE, sb_fit_value, high, "high_bytes", SB_ALWAYS, "high end of the range"),
	SB_FIELD(sb_fit_value, error_ratio, "error_ratio", SB_KNOWN,
		"each size predicted from the others: root mean square of what it is off; absent: measured"),
	SB_FIELD(sb_fit_value, worst_ratio, "worst_error_ratio", SB_KNOWN, "the largest such error"),
	SB_FIELD(sb_fit_value, by_stage, "by_stage", SB_SET, "predicted stage by stage: the largest of them"),
};
static SB_FIELDS(memory, sb_fit_value, "FitMemory", "Predicted peak memory.", .present = is_known);

static const struct sb_field time_rows[] = {
	SB_FIELD(sb_fit_value, predicted, "predicted_s", SB_ALWAYS, "of one generation"),
	SB_FIELD(sb_fit_value, low, "low_s", SB_ALWAYS, "low end of the range"),
	SB_FIELD(sb_fit_value, high, "high_s", SB_ALWAYS, "high end of the range"),
	SB_FIELD(sb_fit_value, error_ratio, "error_ratio", SB_KNOWN,
		"each size predicted from the others: root mean square of what it is off; absent: measured"),
	SB_FIELD(sb_fit_value, worst_ratio, "worst_error_ratio", SB_KNOWN, "the largest such error"),
	SB_FIELD(sb_fit_value, by_stage, "by_stage", SB_SET, "predicted stage by stage: the sum of them"),
};
static SB_FIELDS(time, sb_fit_value, "FitTime", "Predicted time.", .present = is_known);

SB_FIELD_WHEN(has_extra, sb_fit_first, !isnan(it->extra_s))

static const char *const times[] = { "warm", "first", SB_NAMES_END };

static const struct sb_field first_rows[] = {
	SB_FIELD(sb_fit_first, extra_s, "extra_s", SB_ALWAYS, "median over the sizes that tell"),
	SB_FIELD(sb_fit_first, low_s, "low_s", SB_ALWAYS, "the least that was seen"),
	SB_FIELD(sb_fit_first, high_s, "high_s", SB_ALWAYS, "the most that was seen"),
	SB_FIELD(sb_fit_first, count, "size_count", SB_ALWAYS, "sizes that tell"),
};
static SB_FIELDS(first, sb_fit_first, "FitFirst",
	"What a process's first generation takes more than a warm one.", .present = has_extra);

static const struct sb_field stage_rows[] = {
	SB_FIELD(sb_fit_stage, stage, "stage", SB_ALWAYS, "directly inside the generation"),
	SB_FIELD_AS(WHOLE, sb_fit_stage, memory_bytes, "memory_bytes", SB_KNOWN, "predicted peak inside it"),
	SB_FIELD(sb_fit_stage, time_s, "time_s", SB_KNOWN, "predicted time in one generation"),
};
static SB_FIELDS(stage, sb_fit_stage, "FitStage", "What a stage would need.");

static const struct sb_field largest_rows[] = {
	SB_FIELD(sb_fit_largest, key, "key", SB_ALWAYS, "the size that grows; the others are as asked for"),
	SB_FIELD(sb_fit_largest, value, "largest_value", SB_ALWAYS, "the largest value that fits"),
	SB_FIELD(sb_fit_largest, other_value, "largest_height_value", SB_ALWAYS,
		"of width x height: the height", .when = has_pair),
	SB_FIELD(sb_fit_largest, open, "open", SB_SET,
		"more may fit: nothing is predicted beyond four times what was measured"),
};
static SB_FIELDS(largest, sb_fit_largest, "FitLargest", "How far one size may grow.");

static const struct sb_field sb_fit_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.fit/1"),
	SB_FIELD(sb_fit, model, "model", SB_ALWAYS, "the model: only runs of it count"),
	SB_FIELD(sb_fit, device, "device", SB_ALWAYS, "what they ran on: the GPU, or cpu"),
	SB_FIELD(sb_fit, run_count, "run_count", SB_ALWAYS, "runs it rests on"),
	SB_FIELD(sb_fit, size_count, "size_count", SB_ALWAYS, "different sizes in them"),
	SB_FIELD(sb_fit, other_count, "left_out_count", SB_ALWAYS,
		"runs of the history that are of another model, device or host"),
	SB_FIELD(sb_fit, other_model, "left_out_model", SB_KNOWN, "the model of the latest of these"),
	SB_FIELD(sb_fit, summed_count, "left_out_summed_count", SB_SET,
		"sizes of runs that an older strobe remembered: several videos, their frames added up"),
	SB_FIELD(sb_fit, more_count, "more_count", SB_ALWAYS,
		"sizes that are still needed; 0: there are enough"),
	SB_FIELD(sb_fit, more, "more", SB_KNOWN, "which sizes these are"),
	SB_FIELD_LIST(sb_fit, axes, axis_count, "sizes", SB_ALWAYS, axis,
		"the size asked for, one row for each number"),
	SB_FIELD(sb_fit, extrapolates_ratio, "extrapolates_ratio", SB_KNOWN,
		"the asked size over the largest that was measured, where that is above 1"),
	SB_FIELD_STRUCT(sb_fit, memory, "memory", SB_KNOWN, memory,
		"predicted peak memory; absent: the runs do not tell it"),
	SB_FIELD_NAMED(sb_fit, memory_of, "memory_of", SB_KNOWN, memories,
		"allocated: by the GPU's allocator; process: of the processes on the GPU; host: resident"),
	SB_FIELD_AS(WHOLE, sb_fit, context_bytes, "context_bytes", SB_SET,
		"what the device has in use beside the allocator; added to the peak"),
	SB_FIELD_AS(WHOLE, sb_fit, capacity_bytes, "capacity_bytes", SB_KNOWN, "memory that there is"),
	SB_FIELD(sb_fit, capacity_of, "capacity_of", SB_KNOWN, "whose memory that is"),
	SB_FIELD_NAMED(sb_fit, verdict, "verdict", SB_ALWAYS, sb_fit_verdict_names,
		"tight: the error decides; too_large: also where a size no larger ran out of memory"),
	SB_FIELD(sb_fit, ran_out, "ran_out_in", SB_KNOWN,
		"a run whose size was no larger, and ran out of memory"),
	SB_FIELD_STRUCT(sb_fit, time, "time", SB_KNOWN, time,
		"predicted time; absent: the runs do not tell it, or are of another GPU"),
	SB_FIELD_NAMED(sb_fit, time_of, "time_of", SB_KNOWN, times,
		"warm: of a generation that is not the first in its process; first: no warm ones are known"),
	SB_FIELD_STRUCT(sb_fit, first, "first_generation", SB_KNOWN, first,
		"what the first in a process takes more: its context, kernels, tuning"),
	SB_FIELD_LIST(sb_fit, stages, stage_count, "stages", SB_KNOWN, stage,
		"most memory first: the first one is the limit"),
	SB_FIELD_LIST(sb_fit, largest, largest_count, "largest", SB_KNOWN, largest,
		"how far each size may grow, with its error"),
};
SB_FIELDS(sb_fit_fields, sb_fit, "Fit", "Whether a size fits, and how long it takes.");
