/* What the rows of a benchmark say. Runs nothing itself. */
#include "compare/bench.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sb_bench_add(struct sb_bench_row *row, double seconds)
{
	if (row->count == row->capacity) {
		size_t capacity = row->capacity ? row->capacity * 2 : 16;
		double *grown = realloc(row->seconds, capacity * sizeof *grown);

		if (!grown)
			return sb_fail(STROBE_ENOMEM, "no memory for the measurements");
		row->seconds = grown;
		row->capacity = capacity;
	}
	row->seconds[row->count++] = seconds;
	return 0;
}

static int describe(struct sb_bench_row *row, double target_fps)
{
	int err = sb_stats_of(row->seconds, row->count, &row->stats);

	if (!err)
		err = sb_stats_median_interval(row->seconds, row->count, &row->median_interval);
	row->clips_per_s = row->stats.mean > 0 ? 1 / row->stats.mean : NAN;
	row->frames_per_s = row->clips_per_s * row->frames_per_clip;
	row->target_met = row->state == SB_BENCH_OK && row->frames_per_s >= target_fps;
	row->total_speedup = row->step_speedup = NAN;
	return err;
}

int sb_bench_compute(struct sb_bench *bench)
{
	struct sb_bench_row *first = NULL, *previous = NULL;
	int err = 0;

	for (size_t i = 0; i < bench->row_count && !err; i++) {
		struct sb_bench_row *row = &bench->rows[i];

		err = describe(row, bench->target_fps);
		if (err || row->state != SB_BENCH_OK || !row->count)
			continue;
		if (!first)
			first = row;
		row->total_speedup = first->stats.median / row->stats.median;
		row->step_speedup = previous ? previous->stats.median / row->stats.median : 1;
		if (row != first)
			err = sb_judge(first->seconds, first->count, row->seconds, row->count,
				&(struct sb_tolerance){ 0.02, 0.01, 0, 0.05 }, true, &row->against_first);
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
		free(row->name);
		free(row->reason);
		free(row->seconds);
	}
	for (size_t k = 0; k < bench->key_count; k++)
		free(bench->keys[k]);
	free(bench->keys);
	free(bench->rows);
	free(bench->command);
	memset(bench, 0, sizeof *bench);
}

const char *sb_bench_state_name(enum sb_bench_state state)
{
	static const char *const names[] = { "ok", "oom", "failed", "timeout", "empty" };

	return names[state];
}
