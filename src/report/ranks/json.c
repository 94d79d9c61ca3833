/* Many ranks for programs; the page draws from this too. */
#include "report/ranks/ranks.h"

#include "compare/rank_lanes.h"
#include "base/json.h"

#include <stdio.h>

#define HEAT_STAGES_MAX 40u
#define LANE_BINS 240u

static void put(struct sb_json *j, const char *key, double value)
{
	if (!isnan(value))
		sb_json_double(j, key, value);
}

/* "wall_s": {"min": …, "min_rank": …}, and flat "<key>_min" beside it in
 * `metrics`, for tools that know that form. */
static void put_extent(struct sb_json *j, const char *key, const struct sb_extent *e)
{
	if (!e->count)
		return;
	sb_json_object_begin(j, key);
	sb_json_uint(j, "count", e->count);
	put(j, "min_value", e->min);
	sb_json_int(j, "min_rank", e->min_rank);
	put(j, "max_value", e->max);
	sb_json_int(j, "max_rank", e->max_rank);
	put(j, "avg_value", e->avg);
	put(j, "median_value", e->median);
	put(j, "sum_value", e->sum);
	sb_json_object_end(j);
}

static void put_flat(struct sb_json *j, const struct sb_aggregate *a)
{
	sb_json_object_begin(j, "aggregated_metrics");
	for (int m = 0; m < SB_METRIC_COUNT; m++) {
		const struct sb_extent *e = &a->metrics[m];
		const struct {
			const char *suffix;
			double value;
		} parts[] = { { "min", e->min }, { "max", e->max }, { "avg", e->avg }, { "sum", e->sum } };

		for (size_t i = 0; e->count && i < 4; i++) {
			char key[96];

			snprintf(key, sizeof key, "%s_%s", sb_metric_infos[m].key, parts[i].suffix);
			sb_json_double(j, key, parts[i].value);
		}
	}
	sb_json_object_end(j);
}

static void put_rank(struct sb_json *j, const struct sb_aggregate_rank *r, size_t index)
{
	sb_json_object_begin(j, NULL);
	sb_json_uint(j, "report_index", index);
	sb_json_int(j, "rank", r->rank);
	sb_json_string(j, "session_id", r->id);
	sb_json_string(j, "run", r->label);
	sb_json_string(j, "host", r->host);
	put(j, "duration_s", r->metrics[SB_METRIC_WALL]);
	sb_json_bool(j, "complete", r->complete);
	if (r->live)
		sb_json_bool(j, "live", true);
	if (r->damage)
		sb_json_string(j, "damage", r->damage);
	put(j, "work_s", r->work_s);
	put(j, "behind_s", r->behind_s);
	sb_json_bool(j, "straggler", r->straggler);
	if (r->slow_stage) {
		sb_json_string(j, "slow_stage", r->slow_stage);
		put(j, "slow_stage_s", r->slow_stage_s);
		put(j, "slow_stage_median_s", r->slow_stage_median_s);
	}
	sb_json_uint(j, "last_count", r->last_count);
	put(j, "caused_wait_s", r->caused_wait_s);
	sb_json_object_begin(j, "clock");
	sb_json_string(j, "method", sb_align_name(r->align.method));
	put(j, "offset_s", r->align.offset_s);
	put(j, "residual_s", r->align.residual_s);
	sb_json_uint(j, "meeting_count", r->align.matched_count);
	sb_json_object_end(j);
	sb_json_object_begin(j, "metrics");
	for (int m = 0; m < SB_METRIC_COUNT; m++)
		put(j, sb_metric_infos[m].key, r->metrics[m]);
	sb_json_object_end(j);
	sb_json_object_end(j);
}

static void put_stage(struct sb_json *j, const struct sb_aggregate_stage *s)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", s->name);
	if (s->code)
		sb_json_string(j, "code", s->code);
	sb_json_uint(j, "count", s->call_count);
	put_extent(j, "total_s", &s->total_s);
	put_extent(j, "self_s", &s->self_s);
	put(j, "call_min_s", s->min_s);
	put(j, "call_max_s", s->max_s);
	put(j, "call_p50_s", s->p50_s);
	put(j, "call_p95_s", s->p95_s);
	put(j, "call_p99_s", s->p99_s);
	put(j, "imbalance_ratio", s->imbalance_ratio);
	put(j, "imbalance_s", s->imbalance_s);
	sb_json_object_end(j);
}

static void put_problems(struct sb_json *j, const struct sb_aggregate *a)
{
	sb_json_array_begin(j, "missing_ranks");
	for (size_t i = 0; i < a->missing_count; i++)
		sb_json_int(j, NULL, a->missing[i]);
	sb_json_array_end(j);
	sb_json_array_begin(j, "left_out");
	for (size_t i = 0; i < a->problem_count; i++) {
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "run", a->problems[i].label);
		sb_json_string(j, "why", a->problems[i].what);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void put_scaling(struct sb_json *j, const struct sb_aggregate *a)
{
	if (!a->scale_count)
		return;
	sb_json_array_begin(j, "scaling");
	for (size_t i = 0; i < a->scale_count; i++) {
		const struct sb_scale *s = &a->scales[i];

		sb_json_object_begin(j, NULL);
		sb_json_int(j, "world_size_count", s->world_size);
		sb_json_uint(j, "rank_count", s->ranks);
		put(j, "wall_s", s->wall_s);
		put(j, "generation_s", s->generation_s);
		put(j, "speedup_ratio", s->speedup);
		put(j, "efficiency_split_ratio", s->efficiency_split_ratio);
		put(j, "efficiency_kept_ratio", s->efficiency_kept_ratio);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

/* Stage by rank, for the page: rows of the largest imbalance, null where a rank
 * has no such stage. */
static void put_heat_map(struct sb_json *j, const struct sb_aggregate *a)
{
	size_t shown = a->stage_count < HEAT_STAGES_MAX ? a->stage_count : HEAT_STAGES_MAX;

	sb_json_object_begin(j, "heat_map");
	sb_json_array_begin(j, "ranks");
	for (size_t i = 0; i < a->rank_count; i++)
		sb_json_int(j, NULL, a->ranks[i].rank);
	sb_json_array_end(j);
	sb_json_array_begin(j, "stages");
	for (size_t i = 0; i < shown; i++) {
		const struct sb_aggregate_stage *s = &a->stages[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", s->name);
		sb_json_array_begin(j, "total_s");
		for (size_t r = 0; r < a->rank_count; r++)
			sb_json_fixed(j, NULL, r < s->rank_room ? s->totals[r] : NAN, 6);
		sb_json_array_end(j);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	sb_json_object_end(j);
}

/* A letter for each part of the time: '.' the rank was not running, '?' not known, 'a' it did
 * not wait, ... 'k' it only waited: tenths. */
static void put_lanes(struct sb_json *j, const struct sb_aggregate *a)
{
	struct sb_rank_lanes lanes;
	char letters[LANE_BINS + 1] = "";

	if (sb_rank_lanes_of(a, LANE_BINS, &lanes) || !lanes.bin_count)
		return;
	sb_json_object_begin(j, "rank_lanes");
	sb_json_double(j, "bin_s", lanes.bin_s);
	sb_json_array_begin(j, "wait_tenths");
	for (size_t r = 0; r < a->rank_count; r++) {
		for (uint32_t i = 0; i < LANE_BINS; i++) {
			uint8_t percent = lanes.wait_percent[r * LANE_BINS + i];

			letters[i] = (char)(percent == SB_LANE_AWAY      ? '.'
					    : percent == SB_LANE_UNKNOWN ? '?'
									 : 'a' + (percent + 5) / 10);
		}
		sb_json_string(j, NULL, letters);
	}
	sb_json_array_end(j);
	sb_json_object_end(j);
	sb_rank_lanes_done(&lanes);
}

void sb_aggregate_json(const struct sb_aggregate *a, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_json_object_begin(&j, NULL);
	sb_json_string(&j, "schema", "strobe.aggregate/1");
	sb_json_uint(&j, "report_count", a->report_count);
	sb_json_uint(&j, "rank_count", a->rank_count);
	if (a->world_size > 0)
		sb_json_int(&j, "world_size_count", a->world_size);
	if (a->job)
		sb_json_string(&j, "job", a->job);
	sb_json_uint(&j, "host_count", a->host_count);
	put_problems(&j, a);
	sb_json_object_begin(&j, "metrics");
	for (int m = 0; m < SB_METRIC_COUNT; m++)
		put_extent(&j, sb_metric_infos[m].key, &a->metrics[m]);
	put_extent(&j, "work_s", &a->work_s);
	sb_json_object_end(&j);
	put_flat(&j, a);
	sb_json_array_begin(&j, "reports_summary");
	for (size_t i = 0; i < a->rank_count; i++)
		put_rank(&j, &a->ranks[i], i);
	sb_json_array_end(&j);
	sb_json_array_begin(&j, "stages");
	for (size_t i = 0; i < a->stage_count; i++)
		put_stage(&j, &a->stages[i]);
	sb_json_array_end(&j);
	put(&j, "percentile_error_ratio", a->percentile_error_ratio);
	sb_json_uint(&j, "straggler_count", a->straggler_count);
	sb_json_uint(&j, "meeting_count", a->meeting_count);
	put(&j, "wait_s", a->wait_s);
	put(&j, "wait_ratio", a->wait_ratio);
	put(&j, "clock_residual_s", a->residual_s);
	put_scaling(&j, a);
	put_heat_map(&j, a);
	put_lanes(&j, a);
	sb_json_object_end(&j);
	sb_buf_putc(out, '\n');
}
