/* Where the time went, key by key: the tables of model_stages.h. */
#include "analyze/model_stages.h"

#include "analyze/model_python.h"
#include "base/role.h"

#include <math.h>

static const char *const states[] = { [SB_STAGE_NORMAL] = NULL,
	[SB_STAGE_OPEN] = "open",
	[SB_STAGE_SKIPPED] = "skipped",
	[SB_STAGE_UNTIMED] = "untimed",
	SB_NAMES_END };

static const char *const bottleneck_levels[] = { [SB_BOTTLENECK_NONE] = NULL,
	[SB_BOTTLENECK_MAJOR] = "major",
	[SB_BOTTLENECK_OTHER] = "other",
	[SB_BOTTLENECK_MODEL] = "model",
	[SB_BOTTLENECK_PART] = "part",
	[SB_BOTTLENECK_LARGEST] = "largest",
	SB_NAMES_END };
#define ROLE_NAME(role, key, words, work, kind) [STROBE_ROLE_##role] = key,
static const char *const role_names[] = { SB_ROLES(ROLE_NAME) SB_NAMES_END };

/* ---- stage_analysis ------------------------------------------------------ */

static const struct sb_field member_rows[] = {
	SB_FIELD(sb_stage_member, name, "name", SB_ALWAYS, "its full name"),
	SB_FIELD(sb_stage_member, count, "count", SB_ALWAYS, "calls"),
	SB_FIELD(sb_stage_member, total_s, "total_s", SB_ALWAYS, "time of all calls"),
};
static SB_FIELDS(member, sb_stage_member, "StageMember", "One of the names that a stage groups.");

SB_FIELD_WHEN(timed, sb_stage, it->state != SB_STAGE_SKIPPED && it->state != SB_STAGE_UNTIMED)
SB_FIELD_WHEN(timed_unfinished, sb_stage, timed(it) && (it->open_count || it->cut_count))
SB_FIELD_WHEN(timed_overlapping, sb_stage, timed(it) && sb_stage_overlaps(it))
SB_FIELD_WHEN(on_several_threads, sb_stage, it->thread_count > 1)
SB_FIELD_WHEN(grouped, sb_stage, it->member_count > 0)
SB_FIELD_WHEN(has_attributes, sb_stage, it->attr_count > 0)

static const struct sb_field stage_rows[] = {
	SB_FIELD(
		sb_stage, name, "name", SB_ALWAYS, "names that differ only in a number are one: \"chunk_*\""),
	SB_FIELD(sb_stage, code, "code", SB_KNOWN, "the program's own number of the stage: \"4c\""),
	SB_FIELD(sb_stage, parent_name, "parent", SB_KNOWN, "name of the stage it is inside"),
	SB_FIELD(sb_stage, parent, "parent_index", SB_KNOWN, "index of that stage in stages, from 0"),
	SB_FIELD_NAMED(sb_stage, role, "role", SB_KNOWN, role_names, "what it is; absent: an ordinary stage"),
	SB_FIELD(sb_stage, depth, "depth", SB_ALWAYS, "stages around it"),
	SB_FIELD(sb_stage, count, "count", SB_ALWAYS,
		"outermost calls that began and ended in this part; mean, min, max, percentiles, std and "
		"last are of these"),
	SB_FIELD(sb_stage, recursive_count, "recursive_count", SB_SET,
		"calls inside a call of the same stage"),
	SB_FIELD(sb_stage, open_count, "open_count", SB_SET,
		"calls that had not ended when the recording did"),
	SB_FIELD(sb_stage, cut_count, "cut_count", SB_SET, "calls cut by the border of the selected part"),
	SB_FIELD(sb_stage, folded_count, "folded_count", SB_SET,
		"part of all these calls: those of which only sums are left"),
	SB_FIELD(sb_stage, thread_count, "thread_count", SB_ALWAYS,
		"threads it ran on, where that is more than one", .when = on_several_threads),
	SB_FIELD(sb_stage, other_thread, "other_thread", SB_SET,
		"none of it on the main thread, which has stages besides imports and other set-up"),
	SB_FIELD(sb_stage, total_s, "total_s", SB_ALWAYS,
		"time of its outermost calls; open and cut calls count up to the border", .when = timed),
	SB_FIELD(
		sb_stage, self_s, "self_s", SB_ALWAYS, "total_s without the stages inside it", .when = timed),
	SB_FIELD(sb_stage, unfinished_s, "unfinished_s", SB_ALWAYS,
		"the part of total_s that open and cut calls make up; count x mean_s is the rest",
		.when = timed_unfinished),
	SB_FIELD(sb_stage, time.mean, "mean_s", SB_KNOWN, "mean of one call", .when = timed),
	SB_FIELD(sb_stage, time.min, "min_s", SB_KNOWN, "shortest call", .when = timed),
	SB_FIELD(sb_stage, time.max, "max_s", SB_KNOWN, "longest call", .when = timed),
	SB_FIELD(sb_stage, time.p50, "p50_s", SB_KNOWN, "median of the calls", .when = timed),
	SB_FIELD(sb_stage, time.p95, "p95_s", SB_KNOWN, "95 % of the calls take at most this", .when = timed),
	SB_FIELD(sb_stage, time.p99, "p99_s", SB_KNOWN, "99 % of the calls take at most this", .when = timed),
	SB_FIELD(sb_stage, time.last, "last_s", SB_KNOWN, "the call that ended last", .when = timed),
	SB_FIELD(sb_stage, time.std, "std_s", SB_KNOWN, "sample deviation (n - 1)", .when = timed),
	SB_FIELD(sb_stage, time.percentile_error_ratio, "percentile_error_ratio", SB_SET,
		"how far off percentiles may be; absent: exact", .when = timed),
	SB_FIELD(sb_stage, gpu_span_s, "gpu_span_s", SB_KNOWN,
		"time on the GPU, from event to event on a stream; may include idle time", .when = timed),
	SB_FIELD(sb_stage, gpu_span_count, "gpu_span_count", SB_SET,
		"calls that were timed on the GPU; gpu_span_s is theirs alone", .when = timed),
	SB_FIELD(sb_stage, gpu_late_s, "gpu_late_s", SB_SET,
		"how long the GPU was still at it after the CPU had left it, inside the generation",
		.when = timed),
	SB_FIELD(sb_stage, gpu_behind_s, "gpu_behind_s", SB_SET,
		"the part of self_s in which the GPU was still at what had been launched before: the CPU "
		"waited or ran ahead",
		.when = timed),
	SB_FIELD(sb_stage, real_s, "real_s", SB_KNOWN,
		"wall time of the stage with its parts, every moment counted to the stage the GPU is at: "
		"what the first screen shows; absent: as the CPU has it",
		.when = timed),
	SB_FIELD(sb_stage, real_ratio, "real_ratio", SB_KNOWN, "real_s as a share of the wall time",
		.when = timed, .range = SB_SHARE),
	SB_FIELD(sb_stage, gpu_busy_s, "gpu_busy_s", SB_KNOWN,
		"time in which at least one of its kernels ran; with a GPU trace only", .when = timed),
	SB_FIELD(sb_stage, gpu_read_count, "gpu_read_count", SB_SET,
		"single values it copied to the host and waited for (.item(), bool()), with a GPU trace only",
		.when = timed),
	SB_FIELD(sb_stage, gpu_read_s, "gpu_read_s", SB_SET, "how long it waited for them", .when = timed),
	SB_FIELD(sb_stage, kernel_s, "kernel_s", SB_KNOWN,
		"time of the kernels it launched, added up, with a GPU trace only", .when = timed),
	SB_FIELD_LIST(sb_stage, kernels, kernel_share_count, "kernel_families", SB_KNOWN,
		sb_kernel_share_fields, "the kernels it launched, by what they do; with a GPU trace only"),
	SB_FIELD_STRUCT(sb_stage, work, "gpu_work", SB_KNOWN, sb_stage_work_fields,
		"operations, achieved rate, what bounds it"),
	SB_FIELD_STRUCT(sb_stage, counters, "gpu_counters", SB_KNOWN, sb_gpu_counters_fields,
		"what parts of the GPU did in it"),
	SB_FIELD(sb_stage, wall_ratio, "wall_ratio", SB_ALWAYS,
		"its share of the wall time; calls at the same time count once", .when = timed,
		.range = SB_SHARE),
	SB_FIELD(sb_stage, self_ratio, "self_ratio", SB_ALWAYS,
		"self_s as a share of the wall time; calls at the same time count once", .when = timed,
		.range = SB_SHARE),
	SB_FIELD(sb_stage, covered_s, "covered_s", SB_ALWAYS,
		"wall time in which at least one call ran, where that is less than total_s",
		.when = timed_overlapping),
	SB_FIELD(sb_stage, at_once_mean, "at_once_mean_count", SB_KNOWN,
		"calls at the same time, on average over covered_s", .when = timed),
	SB_FIELD(sb_stage, unattributed_s, "unattributed_s", SB_KNOWN,
		"self_s, of a stage that has stages inside it", .when = timed),
	SB_FIELD(sb_stage, first_s, "first_s", SB_ALWAYS,
		"when its first call began; negative: before the run, reported afterwards", .when = timed,
		.range = SB_SIGNED),
	SB_FIELD(sb_stage, end_s, "end_s", SB_ALWAYS, "when its last call ended", .when = timed,
		.range = SB_SIGNED),
	SB_FIELD(sb_stage, digit_s, "time_digit_s", SB_KNOWN,
		"the value of the last digit of its imported time: it is exact to half of it"),
	SB_FIELD(sb_stage, per_frame_s, "per_frame_s", SB_KNOWN, "time per frame, of its attribute frames",
		.when = timed),
	SB_FIELD(sb_stage, per_step_s, "per_step_s", SB_KNOWN, "time per step, of its attribute steps",
		.when = timed),
	SB_FIELD(sb_stage, per_iteration_s, "per_iteration_s", SB_KNOWN,
		"time per iteration, of its attribute iters", .when = timed),
	SB_FIELD_NAMED(sb_stage, state, "state", SB_KNOWN, states, "absent: it ran and ended"),
	SB_FIELD(sb_stage, skip_reason, "reason", SB_KNOWN, "why it was skipped"),
	SB_FIELD(sb_stage, startup, "startup", SB_SET,
		"it ended before the pipeline began: see summary.startup_end_s"),
	SB_FIELD(sb_stage, bottleneck, "bottleneck", SB_SET, "the largest self time after the start-up"),
	SB_FIELD_NAMED(sb_stage, bottleneck_level, "bottleneck_level", SB_KNOWN, bottleneck_levels,
		"major: the stage with the largest self time in the generations, or one outside of them that "
		"takes longer than all of them; other: another with at least a fifth of the wall time "
		"(without generations: of the time after the start-up); model: the stage around the major "
		"one that has others next to it, where stages have codes; part: the same without codes; "
		"largest: instead of major, where the start-up takes most of the run and the stage less than "
		"a fifth of it"),
	SB_FIELD(sb_stage, span, "span", SB_SET, "recorded as a span: it may overlap the stages next to it"),
	SB_FIELD_ARRAY(sb_stage, attributes, attribute_count, "attributes", SB_ALWAYS,
		"attributes that the program set: counts are summed up, of others the last value is kept",
		.when = has_attributes),
	SB_FIELD(sb_stage, member_total, "member_count", SB_ALWAYS, "names that it groups", .when = grouped),
	SB_FIELD_LIST(sb_stage, members, member_count, "members", SB_KNOWN, member, "the largest of them"),
};
static SB_FIELDS(stage, sb_stage, "Stage", "All zones of one path: a row of the report.");

static const struct sb_field same_name_rows[] = {
	SB_FIELD_ARRAY(sb_same_name, stages, stage_count, "stage_index", SB_ALWAYS,
		"indices of these stages in stages, from 0"),
	SB_FIELD_STRUCT(sb_same_name, all, "stage", SB_ALWAYS, stage,
		"all of them as one, calls at the same time counted once in wall_ratio"),
};
static SB_FIELDS(same_name, sb_same_name, "SameName", "Stages that share a name.");

static const char *const time_kinds[] = { "stage", "startup", "itself", "smaller", "elsewhere",
	"unattributed", SB_NAMES_END };

static const struct sb_field time_part_rows[] = {
	SB_FIELD_NAMED(sb_time_part, kind, "kind", SB_ALWAYS, time_kinds,
		"startup: all before the pipeline began; itself: a stage without those inside it; smaller: "
		"all other stages; elsewhere: stages of "
		"other "
		"threads and processes alone"),
	SB_FIELD(sb_time_part, name, "name", SB_KNOWN, "name of the stage"),
	SB_FIELD(sb_time_part, stage, "stage_index", SB_KNOWN,
		"index of the stage in stage_analysis.stages, from 0"),
	SB_FIELD(sb_time_part, stage_count, "stage_count", SB_SET,
		"stages that this part holds, where it holds several"),
	SB_FIELD(sb_time_part, part_s, "part_s", SB_ALWAYS, "its time; calls at the same time count once"),
	SB_FIELD(sb_time_part, ratio, "wall_ratio", SB_ALWAYS, "part_s as a share of wall_s",
		.range = SB_SHARE),
};
static SB_FIELDS(time_part, sb_time_part, "TimePart", "A part of the wall time.");

static const struct sb_field gap_rows[] = {
	SB_FIELD(sb_uncovered, t_s, "t_s", SB_ALWAYS, "when it begins", .decimals = 9),
	SB_FIELD(sb_uncovered, duration_s, "duration_s", SB_ALWAYS, "how long it is", .decimals = 9),
};
static SB_FIELDS(gap, sb_uncovered, "UnattributedGap", "A time in which no stage ran.");

static const struct sb_field sb_stages_fields_rows[] = {
	SB_FIELD(sb_stages_panel, wall_s, "wall_s", SB_ALWAYS, "time of the run, or of the selected part"),
	SB_FIELD(sb_stages_panel, unattributed_s, "unattributed_s", SB_ALWAYS,
		"wall time outside every stage of every thread and task"),
	SB_FIELD(sb_stages_panel, unattributed_ratio, "unattributed_ratio", SB_KNOWN,
		"unattributed_s as a share of wall_s", .range = SB_SHARE),
	SB_FIELD_LIST(sb_stages_panel, unattributed, unattributed_count, "unattributed", SB_KNOWN,
		sb_unattributed_share_fields,
		"the Python functions that ran in it, where it is more than 10 % of the run; else those of "
		"the "
		"generations, where it is more than 5 % of them"),
	SB_FIELD(sb_stages_panel, overlap_s, "overlap_s", SB_SET,
		"top-level stages at the same time: their wall times and unattributed_s add up to this much "
		"more than wall_s"),
	SB_FIELD(sb_stages_panel, combined, "combined", SB_SET,
		"stages of one name were merged, whatever they are in"),
	SB_FIELD_LIST(sb_stages_panel, stages, stage_count, "stages", SB_ALWAYS, stage,
		"a parent before what is inside it, the largest first"),
	SB_FIELD_LIST(sb_stages_panel, parts, part_count, "parts", SB_KNOWN, time_part,
		"where the wall time goes: with parts_overlap_s taken off they add up to wall_s"),
	SB_FIELD_LIST(sb_stages_panel, gaps, gap_count, "gaps", SB_KNOWN, gap,
		"times in which no stage of any thread ran, the longest first, at most 20; where only sums "
		"of the oldest zones are left, those after them"),
	SB_FIELD(sb_stages_panel, parts_overlap_s, "parts_overlap_s", SB_SET,
		"parts at the same time: they add up to this much more than wall_s"),
	SB_FIELD_LIST(sb_stages_panel, same_name, same_name_count, "same_name", SB_KNOWN, same_name,
		"stages that share a name, whatever they are inside of: one row each"),
	SB_FIELD_ARRAY(sb_stages_panel, by_name, by_name_count, "by_name_index", SB_KNOWN,
		"where names are shared: the first stage of each name, the name with the largest total "
		"first"),
	SB_FIELD_ARRAY(sb_stages_panel, largest, largest_count, "largest", SB_KNOWN,
		"names of the stages in parts, then of those with the most self time, at most 8; in the "
		"order in which they began"),
	SB_FIELD_ARRAY(sb_stages_panel, bottlenecks, bottleneck_count, "bottlenecks", SB_ALWAYS,
		"names, the largest self time first"),
};
SB_FIELDS(sb_stages_fields, sb_stages_panel, "StageAnalysis", "Where the time went.");

/* ---- iterations ---------------------------------------------------------- */

static const struct sb_field outlier_rows[] = {
	SB_FIELD(sb_outlier, index, "index", SB_ALWAYS, "from 0 among the iterations of its name"),
	SB_FIELD(sb_outlier, t_s, "t_s", SB_KNOWN, "when it began"),
	SB_FIELD(sb_outlier, duration_s, "duration_s", SB_ALWAYS, "how long it took"),
};
static SB_FIELDS(outlier, sb_outlier, "Outlier", "An iteration slower than its peers.");

SB_FIELD_WHEN(any_iterations, sb_iterations, it->all.count > 0)
SB_FIELD_WHEN(has_warmup, sb_iterations, it->warmup_count != 0)
SB_FIELD_WHEN(some_are_warm, sb_iterations,
	it->warmup_count != 0 || (it->steps_warm && it->warm.count < it->all.count))

static const struct sb_field sb_iterations_fields_rows[] = {
	SB_FIELD(sb_iterations, name, "name", SB_ALWAYS, "of the loop"),
	SB_FIELD_NAMED(sb_iterations, role, "role", SB_KNOWN, role_names, "what one iteration is"),
	SB_FIELD(sb_iterations, all.count, "count", SB_ALWAYS, "iterations"),
	SB_FIELD(sb_iterations, all.total, "total_s", SB_KNOWN, "time of all of them"),
	SB_FIELD(sb_iterations, all.mean, "mean_s", SB_KNOWN, "mean time of one"),
	SB_FIELD(sb_iterations, all.p50, "median_s", SB_KNOWN, "median time of one"),
	SB_FIELD(sb_iterations, all.std, "std_s", SB_OR_ZERO, "sample deviation (n - 1); 0 for one value"),
	SB_FIELD(sb_iterations, all.min, "min_s", SB_KNOWN, "the shortest"),
	SB_FIELD(sb_iterations, all.max, "max_s", SB_KNOWN, "the longest"),
	SB_FIELD(sb_iterations, all.p95, "p95_s", SB_KNOWN, "95 % take at most this"),
	SB_FIELD(sb_iterations, all.p99, "p99_s", SB_KNOWN, "99 % take at most this"),
	SB_FIELD(sb_iterations, all.last, "last_s", SB_KNOWN, "the last one"),
	SB_FIELD(sb_iterations, per_second, "per_second", SB_OR_ZERO,
		"iterations a second, without the warm-up; over the time of the iterations, not the time "
		"between them"),
	SB_FIELD(sb_iterations, fps, "fps", SB_KNOWN, "frames a second, where an imported text says it"),
	SB_FIELD(sb_iterations, aside, "aside", SB_SET,
		"from an imported benchmark: neither part of the run's time nor a stage"),
	SB_FIELD(sb_iterations, warmup_count, "warmup_count", SB_ALWAYS, "slow iterations at the start"),
	SB_FIELD(sb_iterations, warmup_s, "warmup_s", SB_ALWAYS, "time of the warm-up", .when = has_warmup),
	SB_FIELD(sb_iterations, marked_warmup_count, "marked_warmup_count", SB_SET,
		"iterations inside a warm-up zone (--profiling-warmup); they are not in count nor in any "
		"time here"),
	SB_FIELD_STRUCT(sb_iterations, warm, "warm", SB_KNOWN, sb_stats_s_fields,
		"statistics without the warm-up; of steps those of the calls that rates are of, as gpu_work "
		"counts them",
		.when = some_are_warm),
	SB_FIELD(sb_iterations, outlier_count, "outlier_count", SB_ALWAYS,
		"iterations slower than their peers"),
	SB_FIELD_LIST(sb_iterations, outliers, outlier_listed, "outliers", SB_KNOWN, outlier,
		"the slowest of them, at most 20"),
	SB_FIELD_ARRAY(sb_iterations, series_s, series_count, "series_s", SB_ALWAYS,
		"durations in order, thinned", .decimals = 9),
	SB_FIELD_STRUCT(sb_iterations, distribution, "distribution", SB_KNOWN, sb_distribution_fields,
		"how often an iteration took how long"),
};
SB_FIELDS(sb_iterations_fields, sb_iterations, "Iterations", "How regular a loop is.",
	.present = any_iterations);

/* ---- generations --------------------------------------------------------- */

static const char *const generation_states[] = { "open", "cut", "failed", "cached", SB_NAMES_END };

static const struct sb_field generation_rows[] = {
	SB_FIELD(sb_generation, name, "name", SB_ALWAYS, "what the program calls it"),
	SB_FIELD(sb_generation, begin_s, "start_s", SB_ALWAYS, "when it began"),
	SB_FIELD(sb_generation, wall_s, "wall_s", SB_ALWAYS, "how long it took"),
	SB_FIELD(sb_generation, frames, "frames", SB_KNOWN, "frames of the video"),
	SB_FIELD(sb_generation, steps, "steps", SB_KNOWN, "scheduler steps"),
	SB_FIELD(sb_generation, blocks, "blocks", SB_KNOWN, "blocks of frames"),
	SB_FIELD(sb_generation, width, "width_px", SB_KNOWN, "width of a frame"),
	SB_FIELD(sb_generation, height, "height_px", SB_KNOWN, "height of a frame"),
	SB_FIELD(sb_generation, fps, "fps", SB_KNOWN, "frames over its wall time"),
	SB_FIELD(sb_generation, step_median_s, "step_median_s", SB_KNOWN, "median time of its steps"),
	SB_FIELD(sb_generation, step_max_s, "step_max_s", SB_KNOWN, "its longest step"),
	SB_FIELD(sb_generation, faster_count, "faster_count", SB_KNOWN,
		"finished generations that took less time"),
	SB_FIELD(sb_generation, denoise_s, "denoise_s", SB_KNOWN,
		"wall time of its steps, or of its denoise stages"),
	SB_FIELD_ARRAY(sb_generation, stages, stage_count, "stage_index", SB_KNOWN,
		"where the CPU ran ahead of the GPU in it: indices of the stages it had"),
	SB_FIELD_ARRAY(sb_generation, stage_s, stage_count, "stage_real_s", SB_KNOWN,
		"real_s of each of them in this generation"),
	SB_FIELD(sb_generation, vae_s, "vae_decode_s", SB_KNOWN, "wall time of its VAE decodes"),
	SB_FIELD(sb_generation, energy_wh, "energy_wh", SB_KNOWN,
		"energy of all GPUs; shared among generations that ran at the same time"),
	SB_FIELD(sb_generation, cost, "gpu_cost", SB_KNOWN,
		"cost in the currency of gpu_cost_per_hour; shared among generations that ran at the same "
		"time"),
	SB_FIELD_STRUCT(sb_generation, counters, "gpu_counters", SB_KNOWN, sb_gpu_counters_fields,
		"what parts of the GPU did meanwhile"),
	SB_FIELD(sb_generation, utilization_percent, "utilization_percent", SB_KNOWN,
		"mean utilization of the busiest GPU that it used"),
	SB_FIELD_NAMED(sb_generation, state, "state", SB_KNOWN, generation_states,
		"open: had not ended; cut: by the border of the selected part; then frames are those "
		"counted, not those announced; failed: an error ended it; cached: nothing had to be "
		"computed; "
		"none of these is in the times of a video"),
	SB_FIELD(sb_generation, error, "error", SB_KNOWN,
		"of one that failed: the kind of the error, such as RuntimeError"),
	SB_FIELD(sb_generation, error_message, "error_message", SB_KNOWN,
		"what the error says, in one line of at most 300 characters"),
	SB_FIELD(sb_generation, error_place, "error_place", SB_KNOWN,
		"file:line of the program's innermost line in the traceback"),
	SB_FIELD(sb_generation, error_stage, "error_stage", SB_KNOWN, "the innermost stage that it left"),
	SB_FIELD(sb_generation, failure, "failure", SB_KNOWN,
		"all of that in one line, as the reports show it"),
};
static SB_FIELDS(generation, sb_generation, "Generation", "One video or request.");

SB_FIELD_WHEN(any_generations, sb_generations_panel, it->total > 0)

static const struct sb_field sb_generations_fields_rows[] = {
	SB_FIELD(sb_generations_panel, total, "count", SB_ALWAYS, "generations that the program marked"),
	SB_FIELD(sb_generations_panel, whole_run, "whole_run", SB_ALWAYS,
		"true: no generation was marked, the whole run counts as one"),
	SB_FIELD(sb_generations_panel, union_s, "union_s", SB_ALWAYS,
		"wall time in which at least one generation ran", .when = any_generations),
	SB_FIELD(sb_generations_panel, in_turn_ratio, "in_turn_ratio", SB_KNOWN,
		"where some ran at the same time: share of their time in the chain of generations that ends "
		"last, which is what the run waits for",
		.range = SB_SHARE),
	SB_FIELD_STRUCT(sb_generations_panel, time, "wall", SB_KNOWN, sb_stats_s_fields,
		"times of those that began and ended in the selected part", .when = any_generations),
	SB_FIELD(sb_generations_panel, median, "median_index", SB_KNOWN,
		"which of the items took the middle time, the first one left out: the one a page opens on, "
		"unless "
		"others alone were traced or sampled",
		.when = any_generations),
	SB_FIELD_LIST(sb_generations_panel, all, listed, "items", SB_ALWAYS, generation,
		"at most 10 000, in order"),
};
SB_FIELDS(sb_generations_fields, sb_generations_panel, "Generations", "What was made.");

/* ---- function_samples ---------------------------------------------------- */

static const struct sb_field function_rows[] = {
	SB_FIELD(sb_function, name, "name", SB_ALWAYS, "of the function"),
	SB_FIELD(sb_function, file, "file", SB_KNOWN, "where it is written"),
	SB_FIELD(sb_function, line, "line", SB_ALWAYS, "the line seen most often"),
	SB_FIELD(sb_function, stage, "stage", SB_KNOWN, "the stage in which it was seen most often"),
	SB_FIELD(sb_function, self_count, "self_count", SB_ALWAYS, "samples in the function itself"),
	SB_FIELD(sb_function, total_count, "total_count", SB_ALWAYS, "samples in it and in what it calls"),
	SB_FIELD(sb_function, self_ratio, "self_ratio", SB_ALWAYS,
		"share of the time that all samples of its list stand for", .range = SB_SHARE),
	SB_FIELD(sb_function, total_ratio, "total_ratio", SB_ALWAYS, "the same with what it calls",
		.range = SB_SHARE),
};
static SB_FIELDS(function, sb_function, "SampledFunction", "A Python function as samples saw it.");

static const struct sb_field native_rows[] = {
	SB_FIELD(sb_native_thread, name, "name", SB_ALWAYS, "of the thread in the system"),
	SB_FIELD(sb_native_thread, cpu_s, "cpu_s", SB_ALWAYS, "CPU time of all threads of that name"),
};
static SB_FIELDS(native, sb_native_thread, "NativeThread", "Threads without Python.");

SB_FIELD_WHEN(
	any_functions, sb_functions_panel, it->count > 0 || it->waiting_count > 0 || it->native_count > 0)

static const struct sb_field sb_functions_fields_rows[] = {
	SB_FIELD(sb_functions_panel, sample_count, "sample_count", SB_ALWAYS, "stacks that were sampled"),
	SB_FIELD_LIST(sb_functions_panel, all, count, "functions", SB_ALWAYS, function,
		"the 20 seen most often themselves, without those of `waiting`"),
	SB_FIELD(sb_functions_panel, waiting_count, "waiting_count", SB_ALWAYS,
		"of the stacks: those of threads beside the main one that only waited, in no stage"),
	SB_FIELD_LIST(sb_functions_panel, waiting, waiting_listed, "waiting", SB_KNOWN, function,
		"the functions these waited in, such as threading.Condition.wait"),
	SB_FIELD_LIST(sb_functions_panel, natives, native_count, "native_threads", SB_KNOWN, native,
		"of Python processes: decoders, OpenMP, the driver's; those that used 10 ms or more"),
};
SB_FIELDS(sb_functions_fields, sb_functions_panel, "FunctionSamples",
	"Sampled Python stacks (sample_hz): shares of samples weighed by time, not measured times.",
	.present = any_functions);

/* ---- hot_lines ----------------------------------------------------------- */

static const struct sb_field sb_line_fields_rows[] = {
	SB_FIELD(sb_line, function, "function", SB_ALWAYS,
		"the innermost function that belongs to no library"),
	SB_FIELD(sb_line, file, "file", SB_KNOWN, "where it is written"),
	SB_FIELD(sb_line, line, "line", SB_ALWAYS, "in that file"),
	SB_FIELD(sb_line, text, "source", SB_KNOWN, "text of the line, where the file is at hand"),
	SB_FIELD(sb_line, changed, "source_changed", SB_SET,
		"the file was changed since the run began: its text is not used"),
	SB_FIELD(sb_line, inner, "inner_function", SB_KNOWN, "the library function that it had called"),
	SB_FIELD(sb_line, stage, "stage", SB_KNOWN, "the innermost stage around it"),
	SB_FIELD(sb_line, main, "main", SB_SET, "it ran on the main thread"),
	SB_FIELD(sb_line, total_s, "total_s", SB_ALWAYS,
		"time that its samples stand for: each one the time since the sample before"),
	SB_FIELD(sb_line, generation_s, "generation_s", SB_ALWAYS,
		"part of total_s inside generations; of three or more the first, which is cold, is left out"),
	SB_FIELD(sb_line, step_s, "step_s", SB_ALWAYS, "part of generation_s inside steps"),
	SB_FIELD(sb_line, among_s, "among_steps_s", SB_SET,
		"inside these generations, from the first step's begin to the last one's: in a step or "
		"between "
		"two"),
	SB_FIELD(sb_line, outside_s, "outside_s", SB_SET, "outside all generations, after the first began"),
	SB_FIELD(sb_line, sample_count, "sample_count", SB_ALWAYS, "how often it was seen"),
};
SB_FIELDS(sb_line_fields, sb_line, "HotLine",
	"A line of the program that time was spent at, as samples saw it.");
