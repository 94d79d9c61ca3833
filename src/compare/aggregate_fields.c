/* Many ranks key by key: the tables of aggregate.h. */
#include "compare/aggregate.h"

/* ---- over ranks ---- */

SB_FIELD_WHEN(any_ranks, sb_across_ranks, it->count > 0)
SB_FIELD_WHEN(adds_up, sb_across_ranks, it->adds)

static const struct sb_field extent_rows[] = {
	SB_FIELD(sb_across_ranks, count, "count", SB_ALWAYS, "ranks that have it"),
	SB_FIELD(sb_across_ranks, min, "min_value", SB_KNOWN, "the least", .range = SB_SIGNED),
	SB_FIELD(sb_across_ranks, min_rank, "min_rank", SB_ALWAYS, "which rank has it; -1: it has no number",
		.range = SB_SIGNED),
	SB_FIELD(sb_across_ranks, max, "max_value", SB_KNOWN, "the most", .range = SB_SIGNED),
	SB_FIELD(sb_across_ranks, max_rank, "max_rank", SB_ALWAYS, "which rank has it; -1: it has no number",
		.range = SB_SIGNED),
	SB_FIELD(sb_across_ranks, avg, "avg_value", SB_KNOWN, "mean over ranks", .range = SB_SIGNED),
	SB_FIELD(sb_across_ranks, median, "median_value", SB_KNOWN, "median over ranks", .range = SB_SIGNED),
	SB_FIELD(sb_across_ranks, sum, "sum_value", SB_KNOWN,
		"added up over ranks; absent: rates, medians and what ranks share do not add up",
		.range = SB_SIGNED, .when = adds_up),
};
static SB_FIELDS(extent, sb_across_ranks, "Extent",
	"One number of every rank, in the unit that its key ends in.", .present = any_ranks);

#define METRIC_EXTENT(symbol, key, words, unit, sense, least, adds) \
	SB_FIELD_STRUCT(sb_aggregate, metrics[SB_METRIC_##symbol], key, SB_KNOWN, extent, words),

static const struct sb_field metrics_rows[] = {
	SB_METRICS(METRIC_EXTENT) SB_FIELD_STRUCT(sb_aggregate, work_s, "work_s", SB_KNOWN, extent,
		"wall time less waiting at collectives and outside every stage"),
};
static SB_FIELDS(metrics, sb_aggregate, "AggregateMetrics", "The metrics of all ranks.");

/* The same flat, for tools that know that form. */
#define METRIC_FLAT(symbol, key, words, unit, sense, least, adds)                                      \
	SB_FIELD(sb_aggregate, metrics[SB_METRIC_##symbol].min, key "_min", SB_KNOWN, words ", least", \
		.range = SB_SIGNED),                                                                   \
		SB_FIELD(sb_aggregate, metrics[SB_METRIC_##symbol].max, key "_max", SB_KNOWN,          \
			words ", most", .range = SB_SIGNED),                                           \
		SB_FIELD(sb_aggregate, metrics[SB_METRIC_##symbol].avg, key "_avg", SB_KNOWN,          \
			words ", mean", .range = SB_SIGNED),                                           \
		SB_FIELD(sb_aggregate, metrics[SB_METRIC_##symbol].sum, key "_sum", SB_KNOWN,          \
			words ", added up", .range = SB_SIGNED),

static const struct sb_field flat_rows[] = { SB_METRICS(METRIC_FLAT) };
static SB_FIELDS(flat, sb_aggregate, "AggregatedMetrics", "The metrics of all ranks, flat.");

/* ---- ranks ---- */

#define METRIC_VALUE(symbol, key, words, unit, sense, least, adds) \
	SB_FIELD(sb_aggregate_rank, metrics[SB_METRIC_##symbol], key, SB_KNOWN, words, .range = SB_SIGNED),

static const struct sb_field rank_metrics_rows[] = { SB_METRICS(METRIC_VALUE) };
static SB_FIELDS(rank_metrics, sb_aggregate_rank, "RankMetrics", "The metrics of one rank.");

static const struct sb_field clock_rows[] = {
	SB_FIELD_NAMED(sb_align_rank, method, "method", SB_ALWAYS, sb_align_names,
		"same_host: nothing to correct; collectives: corrected by barriers; real_time: as the hosts "
		"say"),
	SB_FIELD(sb_align_rank, offset_s, "offset_s", SB_KNOWN,
		"what to add to its times to get the first rank's", .range = SB_SIGNED),
	SB_FIELD(sb_align_rank, residual_s, "residual_s", SB_KNOWN,
		"how far apart collectives still are, 95 % of them"),
	SB_FIELD(sb_align_rank, uncertainty_s, "uncertainty_s", SB_KNOWN,
		"the true offset lies within this of offset_s, along its line of drift"),
	SB_FIELD(sb_align_rank, drift_ratio, "drift_ratio", SB_KNOWN,
		"how much faster its clock runs than the first rank's", .range = SB_SIGNED),
	SB_FIELD(sb_align_rank, matched_count, "collective_count", SB_ALWAYS,
		"collectives that it was set by"),
};
static SB_FIELDS(clock, sb_align_rank, "RankClock", "A rank's clock compared with the first rank's.");

SB_FIELD_WHEN(has_more_collectives, sb_aggregate_rank, it->collective_total > (int64_t)it->collective_count)
SB_FIELD_WHEN(has_slow_stage, sb_aggregate_rank, it->slow_stage)

static const struct sb_field rank_rows[] = {
	SB_FIELD(sb_aggregate_rank, report_index, "report_index", SB_ALWAYS, "from 0"),
	SB_FIELD(sb_aggregate_rank, rank, "rank", SB_ALWAYS, "its rank; -1: it has none", .range = SB_SIGNED),
	SB_FIELD(sb_aggregate_rank, id, "session_id", SB_ALWAYS, "the session's uuid"),
	SB_FIELD(sb_aggregate_rank, label, "run", SB_ALWAYS, "folder or file"),
	SB_FIELD(sb_aggregate_rank, host, "host", SB_ALWAYS, "the machine's name"),
	SB_FIELD(sb_aggregate_rank, gpu, "gpu_uuid", SB_KNOWN, "its GPU"),
	SB_FIELD(sb_aggregate_rank, metrics[SB_METRIC_WALL], "duration_s", SB_KNOWN, "its wall time"),
	SB_FIELD(sb_aggregate_rank, complete, "complete", SB_ALWAYS, "nothing of it is missing"),
	SB_FIELD(sb_aggregate_rank, live, "live", SB_SET, "it is still being recorded"),
	SB_FIELD(sb_aggregate_rank, page, "page", SB_SET, "its folder has a profiling_report.html"),
	SB_FIELD(sb_aggregate_rank, failure, "failure", SB_KNOWN, "how it failed: \"exit 1\""),
	SB_FIELD(sb_aggregate_rank, damage, "damage", SB_KNOWN, "what of its recording could not be read"),
	SB_FIELD(sb_aggregate_rank, work_s, "work_s", SB_KNOWN, "what it did itself: see work_measure"),
	SB_FIELD(sb_aggregate_rank, behind_s, "behind_s", SB_KNOWN,
		"how much more work than the median rank, of two than the other one", .range = SB_SIGNED),
	SB_FIELD(sb_aggregate_rank, straggler, "straggler", SB_ALWAYS, "the others wait for it"),
	SB_FIELD(sb_aggregate_rank, works_more, "works_more", SB_SET, "behind_s is more than nothing"),
	SB_FIELD(sb_aggregate_rank, slow_stage, "slow_stage", SB_KNOWN,
		"the stage with most of the extra work"),
	SB_FIELD(sb_aggregate_rank, slow_stage_s, "slow_stage_s", SB_KNOWN, "its time there",
		.when = has_slow_stage),
	SB_FIELD(sb_aggregate_rank, slow_stage_median_s, "slow_stage_median_s", SB_KNOWN,
		"the median rank's time there", .when = has_slow_stage),
	SB_FIELD(sb_aggregate_rank, collective_total, "collective_total_count", SB_KNOWN,
		"its collectives, where they are more than were looked at", .when = has_more_collectives),
	SB_FIELD(sb_aggregate_rank, last_count, "last_count", SB_ALWAYS, "collectives where it came last"),
	SB_FIELD(sb_aggregate_rank, caused_wait_s, "caused_wait_s", SB_KNOWN, "what the others waited there"),
	SB_FIELD(sb_aggregate_rank, late_wait_s, "late_wait_s", SB_SET,
		"what it waited at collectives until the last rank came"),
	SB_FIELD(sb_aggregate_rank, transfer_s, "transfer_s", SB_SET,
		"what its collectives took after that, as far as it waited for them"),
	SB_FIELD(sb_aggregate_rank, hidden_s, "hidden_s", SB_SET,
		"asynchronous collectives beside its own work"),
	SB_FIELD_STRUCT(sb_aggregate_rank, align, "clock", SB_ALWAYS, clock,
		"its clock compared with the first rank's"),
	SB_FIELD_PART("metrics", rank_metrics, "its metrics"),
};
static SB_FIELDS(rank, sb_aggregate_rank, "AggregateRank", "One rank.");

/* ---- stages, scaling ---- */

static const struct sb_field stage_rows[] = {
	SB_FIELD(sb_aggregate_stage, name, "name", SB_ALWAYS, "name of the stage"),
	SB_FIELD(sb_aggregate_stage, code, "code", SB_KNOWN, "the program's own number of the stage"),
	SB_FIELD(sb_aggregate_stage, parent, "parent_index", SB_KNOWN,
		"place in the list, from 0, of the stage that it is inside"),
	SB_FIELD(sb_aggregate_stage, call_count, "count", SB_ALWAYS, "calls of all ranks"),
	SB_FIELD_STRUCT(
		sb_aggregate_stage, total_s, "total_s", SB_KNOWN, extent, "time of its calls, over ranks"),
	SB_FIELD_STRUCT(sb_aggregate_stage, self_s, "self_s", SB_KNOWN, extent,
		"the same without the stages inside it"),
	SB_FIELD(sb_aggregate_stage, min_s, "call_min_s", SB_KNOWN, "the shortest call of all ranks"),
	SB_FIELD(sb_aggregate_stage, max_s, "call_max_s", SB_KNOWN, "the longest call of all ranks"),
	SB_FIELD(sb_aggregate_stage, p50_s, "call_p50_s", SB_KNOWN, "median of the calls of all ranks"),
	SB_FIELD(sb_aggregate_stage, p95_s, "call_p95_s", SB_KNOWN, "95 % of the calls take at most this"),
	SB_FIELD(sb_aggregate_stage, p99_s, "call_p99_s", SB_KNOWN, "99 % of the calls take at most this"),
	SB_FIELD(sb_aggregate_stage, imbalance_ratio, "imbalance_ratio", SB_KNOWN,
		"most / mean - 1 of total_s", .range = SB_SIGNED),
	SB_FIELD(sb_aggregate_stage, imbalance_s, "imbalance_s", SB_KNOWN,
		"most - mean: what an average rank would wait", .range = SB_SIGNED),
};
static SB_FIELDS(stage, sb_aggregate_stage, "AggregateStage", "A stage over all ranks.");

static const struct sb_field problem_rows[] = {
	SB_FIELD(sb_aggregate_problem, label, "run", SB_ALWAYS, "folder or file"),
	SB_FIELD(sb_aggregate_problem, what, "why", SB_ALWAYS, "broken, or there twice"),
};
static SB_FIELDS(problem, sb_aggregate_problem, "LeftOut", "An input that is not in the report.");

static const struct sb_field communication_rows[] = {
	SB_FIELD(sb_communication, group, "group", SB_KNOWN, "backend, members, tag"),
	SB_FIELD(sb_communication, operation, "operation", SB_ALWAYS, "as torch.distributed calls it"),
	SB_FIELD(sb_communication, rank_count, "rank_count", SB_ALWAYS, "ranks that met"),
	SB_FIELD(sb_communication, collective_count, "collective_count", SB_ALWAYS,
		"collectives that were matched"),
	SB_FIELD(sb_communication, bytes, "bytes", SB_SET, "bytes of one rank's tensors, all collectives"),
	SB_FIELD(sb_communication, late_wait_s, "late_wait_s", SB_ALWAYS,
		"until the last rank came, all ranks; not scaled up"),
	SB_FIELD(sb_communication, transfer_s, "transfer_s", SB_ALWAYS, "after that, all ranks"),
	SB_FIELD(sb_communication, hidden_s, "hidden_s", SB_ALWAYS, "beside other work, all ranks"),
	SB_FIELD(sb_communication, bus_bytes_per_s, "bus_bytes_per_s", SB_KNOWN,
		"bus bandwidth while it transferred, as nccl-tests count it"),
	SB_FIELD(sb_communication, last_rank, "last_rank", SB_KNOWN,
		"the rank that came last most often, where the clocks can tell"),
	SB_FIELD(sb_communication, last_count, "last_count", SB_SET, "how often it did"),
};
static SB_FIELDS(
	communication, sb_communication, "Communication", "What one kind of collective did in one group.");

static const struct sb_field late_group_rows[] = {
	SB_FIELD(sb_late_group, group, "group", SB_ALWAYS, "backend, members, tag"),
	SB_FIELD(sb_late_group, late_count, "late_count", SB_ALWAYS,
		"collectives where its first member came after all other ranks"),
	SB_FIELD(sb_late_group, shared_count, "shared_count", SB_ALWAYS, "collectives it shares with others"),
	SB_FIELD(sb_late_group, wait_s, "wait_s", SB_ALWAYS, "what the others waited for its first member"),
};
static SB_FIELDS(late_group, sb_late_group, "LateGroup", "A group that comes late as a whole.");

static const struct sb_field made_rows[] = {
	SB_FIELD(sb_job_output, what, "what", SB_ALWAYS, "generations, frames or steps"),
	SB_FIELD(sb_job_output, all, "count", SB_KNOWN,
		"of all ranks together; absent: they meet at collectives and may make one video together"),
	SB_FIELD(sb_job_output, least, "rank_min_count", SB_ALWAYS, "the least that one of the ranks counts"),
	SB_FIELD(sb_job_output, most, "rank_max_count", SB_ALWAYS, "the most that one of the ranks counts"),
};
static SB_FIELDS(made, sb_job_output, "JobOutput", "What the ranks made of one kind.");

static const struct sb_field attempt_rows[] = {
	SB_FIELD(sb_aggregate_attempt, number, "attempt_index", SB_ALWAYS, "which start of the job, from 1"),
	SB_FIELD(sb_aggregate_attempt, label, "run", SB_ALWAYS, "its folder"),
	SB_FIELD(sb_aggregate_attempt, what, "state", SB_ALWAYS, "how it ended"),
	SB_FIELD(sb_aggregate_attempt, taken, "taken", SB_SET, "this report is about it"),
	SB_FIELD(sb_aggregate_attempt, page, "page", SB_SET, "its folder has an aggregated_report.html"),
};
static SB_FIELDS(attempt, sb_aggregate_attempt, "JobAttempt", "A start of the job.");

static const struct sb_field scale_rows[] = {
	SB_FIELD(sb_scale, world_size, "world_size_count", SB_ALWAYS, "ranks of the job", .range = SB_SIGNED),
	SB_FIELD(sb_scale, ranks, "rank_count", SB_ALWAYS, "ranks that were read"),
	SB_FIELD(sb_scale, wall_s, "wall_s", SB_KNOWN, "of the slowest rank"),
	SB_FIELD(sb_scale, generation_s, "generation_s", SB_KNOWN, "of a video, median"),
	SB_FIELD(sb_scale, speedup, "speedup_ratio", SB_KNOWN, "against the smallest world"),
	SB_FIELD(sb_scale, efficiency_split_ratio, "efficiency_split_ratio", SB_KNOWN,
		"same work split: speed-up / growth of the world"),
	SB_FIELD(sb_scale, efficiency_kept_ratio, "efficiency_kept_ratio", SB_KNOWN,
		"same work per rank: 1 is ideal"),
};
static SB_FIELDS(scale, sb_scale, "Scale", "One world size of several.");

/* ---- drawings ---- */

static const struct sb_field heat_row_rows[] = {
	SB_FIELD(sb_heat_row, name, "name", SB_ALWAYS, "name of the stage"),
	SB_FIELD_ARRAY(sb_heat_row, total_s, rank_count, "total_s", SB_ALWAYS,
		"by rank; null: it has no such stage", .decimals = 6),
	SB_FIELD(sb_heat_row, median_s, "median_s", SB_KNOWN, "of the ranks that have it", .decimals = 6),
};
static SB_FIELDS(heat_row, sb_heat_row, "HeatRow", "A stage on every rank.");

static const struct sb_field heat_map_rows[] = {
	SB_FIELD_ARRAY(sb_heat_map, ranks, rank_count, "ranks", SB_ALWAYS, "in the order of the columns"),
	SB_FIELD_LIST(sb_heat_map, stages, stage_count, "stages", SB_ALWAYS, heat_row,
		"those of the largest imbalance"),
};
static SB_FIELDS(heat_map, sb_heat_map, "HeatMap", "Stage by rank, for the page.");

SB_FIELD_WHEN(any_lanes, sb_lane_letters, it->rank_count > 0)

static const struct sb_field lanes_rows[] = {
	SB_FIELD(sb_lane_letters, bin_s, "bin_s", SB_ALWAYS, "time of one letter"),
	SB_FIELD_ARRAY(sb_lane_letters, wait_tenths, rank_count, "wait_tenths", SB_ALWAYS,
		"of each rank, a letter for each part of the time: . not running, ? not known, a no waiting "
		"… k only waiting"),
	SB_FIELD_ARRAY(sb_lane_letters, stage_names, stage_name_count, "stage_names", SB_KNOWN,
		"stages of the ranks' main threads, those of the most time first"),
	SB_FIELD_ARRAY(sb_lane_letters, stages, stage_rank_count, "stages", SB_KNOWN,
		"of each rank, a letter for the stage that most of each part of the time was in: . not "
		"running, - none, ? not known, a the first of stage_names …"),
};
static SB_FIELDS(lanes, sb_lane_letters, "RankLanes",
	"When each rank waited for the others and what it did, on one clock.", .present = any_lanes);

/* ---- the aggregate ---- */

SB_FIELD_WHEN(has_world, sb_aggregate, it->world_size > 0)

static const struct sb_field sb_aggregate_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.aggregate/1"),
	SB_FIELD(sb_aggregate, report_count, "report_count", SB_ALWAYS, "inputs that were read"),
	SB_FIELD(sb_aggregate, rank_count, "rank_count", SB_ALWAYS, "ranks in this report"),
	SB_FIELD(sb_aggregate, world_size, "world_size_count", SB_ALWAYS, "ranks of the job",
		.when = has_world),
	SB_FIELD(sb_aggregate, job, "job", SB_KNOWN, "the job's id"),
	SB_FIELD(sb_aggregate, host_count, "host_count", SB_ALWAYS, "machines"),
	SB_FIELD_LIST(sb_aggregate, attempts, attempt_count, "attempts", SB_KNOWN, attempt,
		"where the job was started more than once; the last complete one counts"),
	SB_FIELD_ARRAY(
		sb_aggregate, missing, missing_count, "missing_ranks", SB_ALWAYS, "ranks without an input"),
	SB_FIELD_LIST(sb_aggregate, problems, problem_count, "left_out", SB_ALWAYS, problem,
		"inputs that are not in the report"),
	SB_FIELD_LIST(sb_aggregate, made, made_count, "made", SB_KNOWN, made,
		"generations, frames and steps; kinds that no rank counts are left out"),
	SB_FIELD_PART("metrics", metrics, "the metrics of all ranks"),
	SB_FIELD_PART("aggregated_metrics", flat, "the same flat, for tools that know that form"),
	SB_FIELD_LIST(sb_aggregate, ranks, rank_count, "reports_summary", SB_ALWAYS, rank, "every rank"),
	SB_FIELD_LIST(sb_aggregate, stages, stage_count, "stages", SB_ALWAYS, stage,
		"the largest imbalance in seconds first, loading code last"),
	SB_FIELD(sb_aggregate, percentile_error_ratio, "percentile_error_ratio", SB_KNOWN,
		"how far off percentiles may be"),
	SB_FIELD_NAMED(sb_aggregate, work_measure, "work_measure", SB_ALWAYS, sb_work_measures,
		"what work_s is: between_collectives: from the ranks' first common collective to the last, "
		"less what it waited; stages: wall time less waiting, imports and time outside every stage; "
		"run: the same with the time outside"),
	SB_FIELD(sb_aggregate, straggler_rule, "straggler_rule", SB_KNOWN,
		"why no rank is a straggler, with the numbers"),
	SB_FIELD(sb_aggregate, straggler_count, "straggler_count", SB_ALWAYS,
		"ranks that the others wait for"),
	SB_FIELD_ARRAY(sb_aggregate, stragglers, straggler_count, "straggler_indexes", SB_KNOWN,
		"their places in reports_summary, the furthest behind first"),
	SB_FIELD(sb_aggregate, memory_metric, "memory_metric", SB_KNOWN,
		"which metric is the peak of memory: the GPUs', else the processes'"),
	SB_FIELD_LIST(sb_aggregate, communication, communication_count, "communication", SB_KNOWN,
		communication, "by group and operation, the most time first"),
	SB_FIELD_LIST(sb_aggregate, late_groups, late_group_count, "late_groups", SB_KNOWN, late_group,
		"groups that come late as a whole"),
	SB_FIELD(sb_aggregate, collective_count, "collective_count", SB_ALWAYS,
		"collectives that were matched by group and number, or by name where more than half of the "
		"ranks share it"),
	SB_FIELD(sb_aggregate, unclear_count, "unclear_collective_count", SB_SET,
		"those where the clocks cannot tell which rank came last"),
	SB_FIELD(sb_aggregate, late_wait_s, "late_wait_s", SB_KNOWN,
		"waiting at collectives until the last rank came, all ranks"),
	SB_FIELD(sb_aggregate, startup_wait_s, "startup_wait_s", SB_SET,
		"part of late_wait_s until all ranks had started and met for the first time"),
	SB_FIELD(sb_aggregate, transfer_s, "transfer_s", SB_KNOWN, "what the collectives took after that"),
	SB_FIELD(sb_aggregate, hidden_s, "hidden_s", SB_KNOWN, "asynchronous collectives beside other work"),
	SB_FIELD(sb_aggregate, wait_s, "wait_s", SB_KNOWN, "time waited at collectives, all ranks"),
	SB_FIELD(sb_aggregate, wait_ratio, "wait_ratio", SB_KNOWN,
		"wait_s as a share of all ranks' wall time"),
	SB_FIELD(sb_aggregate, residual_s, "clock_residual_s", SB_KNOWN,
		"how far apart ranks leave a collective, 95 % of them; the clocks are better known than "
		"that: see clock_uncertainty_s"),
	SB_FIELD(sb_aggregate, uncertainty_s, "clock_uncertainty_s", SB_KNOWN,
		"how far the clocks may be apart: the worst rank's"),
	SB_FIELD_LIST(sb_aggregate, scales, scale_count, "scaling", SB_KNOWN, scale, "across world sizes"),
	SB_FIELD_STRUCT(sb_aggregate, heat_map, "heat_map", SB_ALWAYS, heat_map, "stage by rank"),
	SB_FIELD_STRUCT(sb_aggregate, lanes, "rank_lanes", SB_KNOWN, lanes,
		"when each rank waited, and in which stage it was"),
};
SB_FIELDS(sb_aggregate_fields, sb_aggregate, "Aggregate", "Many ranks in one report.");
