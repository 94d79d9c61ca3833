/* The history key by key: the tables of history.h. */
#include "store/history.h"

#define METRIC_VALUE(symbol, key, words, unit, sense, least, adds) \
	SB_FIELD(sb_history_run, metrics[SB_METRIC_##symbol], key, SB_KNOWN, words, .range = SB_SIGNED),

static const struct sb_field metrics_rows[] = { SB_METRICS(METRIC_VALUE) };
static SB_FIELDS(metrics, sb_history_run, "HistoryMetrics", "The metrics of one run.");

static const struct sb_field sb_history_run_fields_rows[] = {
	SB_FIELD(sb_history_run, id, "id", SB_ALWAYS, "its number in this history"),
	SB_FIELD(sb_history_run, session, "session", SB_ALWAYS, "id of the session that recorded it"),
	SB_FIELD(sb_history_run, name, "name", SB_ALWAYS, "of the run"),
	SB_FIELD(sb_history_run, dir, "run", SB_ALWAYS, "its folder, which may be gone"),
	SB_FIELD(sb_history_run, command, "command", SB_ALWAYS, "what was run"),
	SB_FIELD(sb_history_run, host, "host", SB_ALWAYS, "the machine"),
	SB_FIELD_AS(
		SECONDS, sb_history_run, start_real_ns, "start_s", SB_ALWAYS, "when it started, since 1970"),
	SB_FIELD(sb_history_run, complete, "complete", SB_ALWAYS, "nothing of it is missing"),
	SB_FIELD(sb_history_run, rank, "rank", SB_KNOWN, "of a job, where its ranks were added one by one"),
	SB_FIELD(sb_history_run, world_size, "world_size_count", SB_KNOWN, "ranks of the job"),
	SB_FIELD(sb_history_run, rank_count, "rank_count", SB_SET, "of a job: ranks below it"),
	SB_FIELD_PART("metrics", metrics, "its metrics"),
};
SB_FIELDS(
	sb_history_run_fields, sb_history_run, "HistoryRun", "One run of this machine; the newest is first.");

static const struct sb_field point_rows[] = {
	SB_FIELD(sb_history_point, id, "id", SB_ALWAYS, "the run's number in this history"),
	SB_FIELD(sb_history_point, name, "name", SB_ALWAYS, "of the run"),
	SB_FIELD_AS(SECONDS, sb_history_point, start_real_ns, "start_s", SB_ALWAYS,
		"when it started, since 1970"),
	SB_FIELD(sb_history_point, value, "point_value", SB_ALWAYS, "in the metric's unit",
		.range = SB_SIGNED),
};
static SB_FIELDS(point, sb_history_point, "HistoryPoint", "One run.");

static const struct sb_field sb_history_trend_fields_rows[] = {
	SB_FIELD(sb_history_trend, metric, "metric", SB_ALWAYS, "as it was asked for: a metric or a stage"),
	SB_FIELD_LIST(sb_history_trend, points, count, "points", SB_ALWAYS, point, "the oldest first"),
};
SB_FIELDS(sb_history_trend_fields, sb_history_trend, "HistoryTrend",
	"One metric over the runs of this machine.");
