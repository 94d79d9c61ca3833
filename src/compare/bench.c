/* What the rows of a benchmark say. Runs nothing itself. */
#include "compare/bench.h"

#include "base/error.h"
#include "base/room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sb_bench_add(struct sb_bench_row *row, double seconds)
{
	if (!SB_MAKE_ROOM(row->seconds, row->count, row->capacity))
		return sb_fail(STROBE_ENOMEM, "no memory for the measurements");
	row->seconds[row->count++] = seconds;
	return 0;
}

static int name_values(const struct sb_bench *bench, struct sb_bench_row *row)
{
	free(row->settings);
	row->setting_count = 0;
	row->settings = calloc(bench->key_count + 1, sizeof *row->settings);
	if (!row->settings)
		return sb_fail(STROBE_ENOMEM, "no memory for the measurements");
	for (size_t k = 0; row->values && k < bench->key_count; k++)
		row->settings[row->setting_count++] = (struct sb_pair){
			.key = bench->keys[k], .type = STROBE_TYPE_STRING, .s = row->values[k]
		};
	return 0;
}

static int describe(struct sb_bench_row *row, double target_fps)
{
	int err = sb_stats_of(row->seconds, row->count, &row->stats);

	if (!err)
		err = sb_stats_median_interval(row->seconds, row->count, &row->median_interval);
	row->per_s = row->stats.mean > 0 ? 1 / row->stats.mean : NAN;
	row->clips_per_s = row->counted ? NAN : row->per_s;
	row->frames_per_s = row->per_s * row->frames_per_clip;
	row->has_target = !isnan(target_fps) && !isnan(row->frames_per_s);
	row->target_met = row->state == SB_BENCH_OK && row->frames_per_s >= target_fps;
	row->total_speedup = row->step_speedup = row->ladder_speedup = NAN;
	return err;
}

int sb_bench_compute(struct sb_bench *bench)
{
	struct sb_bench_row *first = NULL, *previous = NULL;
	struct sb_tolerance t = sb_tolerance_default;
	int err = 0;

	bench->measured = bench->marks ? "marks" : "processes";
	for (size_t i = 0; i < bench->row_count && !err; i++) {
		struct sb_bench_row *row = &bench->rows[i];

		err = name_values(bench, row);
		if (!err)
			err = describe(row, bench->target_fps);
		if (err || row->state != SB_BENCH_OK || !row->count)
			continue;
		if (!first)
			first = row;
		row->total_speedup = first->stats.median / row->stats.median;
		row->step_speedup = previous ? previous->stats.median / row->stats.median : 1;
		row->ladder_speedup = bench->ladder ? row->step_speedup : NAN;
		t.few = first->count == 1 && row->count == 1 ? SB_FEW_BY_TOLERANCE : SB_FEW_PROVE_NOTHING;
		if (row != first)
			err = sb_judge(first->seconds, first->count, row->seconds, row->count, &t, true,
				&row->against_first);
		previous = row;
	}
	return err;
}

void sb_bench_done(struct sb_bench *bench)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		struct sb_bench_row *row = &bench->rows[i];

		for (size_t k = 0; row->values && k < bench->key_count; k++)
			free(row->values[k]);
		free(row->values);
		free(row->settings);
		free(row->name);
		free(row->reason);
		free(row->held);
		free(row->seconds);
	}
	for (size_t k = 0; k < bench->key_count; k++)
		free(bench->keys[k]);
	free(bench->keys);
	free(bench->rows);
	free(bench->command);
	memset(bench, 0, sizeof *bench);
}

/* ---- every key of its JSON ----------------------------------------------- */

static const char *const state_names[] = { [SB_BENCH_OK] = "ok",
	[SB_BENCH_OOM] = "oom",
	[SB_BENCH_FAILED] = "failed",
	[SB_BENCH_TIMEOUT] = "timeout",
	[SB_BENCH_EMPTY] = "empty",
	SB_NAMES_END };
static const char *const measured[] = { "marks", "processes", SB_NAMES_END };

SB_FIELD_WHEN(not_ok, sb_bench_row, it->state != SB_BENCH_OK)
SB_FIELD_WHEN(judged, sb_bench_row, it->total_speedup > 0 && it->against_first.base > 0)
SB_FIELD_WHEN(has_target, sb_bench_row, it->has_target)

static const struct sb_field row_rows[] = {
	SB_FIELD(sb_bench_row, name, "name", SB_ALWAYS,
		"\"batch=4 dtype=fp16\", a variant's name, or the command"),
	SB_FIELD_NAMED(sb_bench_row, state, "state", SB_ALWAYS, state_names,
		"empty: ran, but left nothing to measure"),
	SB_FIELD(sb_bench_row, reason, "reason", SB_KNOWN, "why it is not ok"),
	SB_FIELD(sb_bench_row, held, "memory_held", SB_KNOWN,
		"of state oom: what asked for more memory, in which stage, and what held it"),
	SB_FIELD(sb_bench_row, exit_code, "exit_code", SB_ALWAYS, "exit code of the run that ended the row",
		.when = not_ok, .range = SB_SIGNED),
	SB_FIELD_ARRAY(
		sb_bench_row, settings, setting_count, "values", SB_KNOWN, "values of the sweep's keys"),
	SB_FIELD(sb_bench_row, count, "count", SB_ALWAYS, "measurements"),
	SB_FIELD(sb_bench_row, stats.mean, "mean_s", SB_KNOWN, "mean of one clip"),
	SB_FIELD(sb_bench_row, stats.median, "median_s", SB_KNOWN, "median of one clip"),
	SB_FIELD(sb_bench_row, median_interval.low, "median_low_s", SB_KNOWN,
		"95 % interval of the median, low end"),
	SB_FIELD(sb_bench_row, median_interval.high, "median_high_s", SB_KNOWN,
		"95 % interval of the median, high end"),
	SB_FIELD(sb_bench_row, stats.std, "std_s", SB_KNOWN, "sample deviation (n - 1)"),
	SB_FIELD(sb_bench_row, stats.min, "min_s", SB_KNOWN, "the shortest"),
	SB_FIELD(sb_bench_row, stats.max, "max_s", SB_KNOWN, "the longest"),
	SB_FIELD(sb_bench_row, stats.p95, "p95_s", SB_KNOWN, "95 % take at most this"),
	SB_FIELD(sb_bench_row, clips_per_s, "clips_per_second", SB_KNOWN, "1 / mean_s"),
	SB_FIELD(sb_bench_row, frames_per_clip, "frames_per_clip_count", SB_KNOWN, "frames of a clip"),
	SB_FIELD(sb_bench_row, frames_per_s, "frames_fps", SB_KNOWN, "frames per second"),
	SB_FIELD(sb_bench_row, peak_memory_bytes, "peak_memory_bytes", SB_KNOWN,
		"resident, of the largest process"),
	SB_FIELD(sb_bench_row, ladder_speedup, "step_speedup_ratio", SB_KNOWN,
		"of a ladder: against the row before"),
	SB_FIELD(sb_bench_row, total_speedup, "total_speedup_ratio", SB_KNOWN,
		"of medians, against the first row that is ok"),
	SB_FIELD_NAMED(sb_bench_row, against_first.verdict, "verdict", SB_ALWAYS, sb_verdict_names,
		"against the first row that is ok", .when = judged),
	SB_FIELD(
		sb_bench_row, against_first.p, "p_value_ratio", SB_KNOWN, "of the rank test", .when = judged),
	SB_FIELD(sb_bench_row, target_met, "target_met", SB_ALWAYS, "frames_fps reaches target_fps",
		.when = has_target),
	SB_FIELD_ARRAY(sb_bench_row, seconds, count, "seconds_s", SB_ALWAYS, "the measurements, in order"),
};
static SB_FIELDS(row, sb_bench_row, "BenchRow", "Repeated runs of one command.");

static const struct sb_field sb_bench_fields_rows[] = {
	SB_FIELD(sb_bench, command, "command", SB_ALWAYS, "what was run"),
	SB_FIELD_NAMED(sb_bench, measured, "measured", SB_ALWAYS, measured,
		"marks: the time between marks inside the process"),
	SB_FIELD(sb_bench, warmup, "warmup_count", SB_ALWAYS, "runs before the first that counts"),
	SB_FIELD(sb_bench, iterations, "iterations_count", SB_ALWAYS, "runs asked for"),
	SB_FIELD(sb_bench, target_fps, "target_fps", SB_KNOWN, "the speed asked for"),
	SB_FIELD(sb_bench, interrupted, "interrupted", SB_ALWAYS, "it was stopped early"),
	SB_FIELD_LIST(sb_bench, rows, row_count, "rows", SB_ALWAYS, row, "in order"),
};
SB_FIELDS(sb_bench_fields, sb_bench, "Bench", "The measurements of strobe bench.");

const char *sb_bench_state_name(enum sb_bench_state state)
{
	return state_names[state];
}
