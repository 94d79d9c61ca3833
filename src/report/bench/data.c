/* A benchmark for other programs: JSON and CSV. */
#include "report/bench/bench.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

/* Absent data is absent, not null. */
static void put(struct sb_json *j, const char *key, double value)
{
	if (!isnan(value))
		sb_json_double(j, key, value);
}

static void put_row(struct sb_json *j, const struct sb_bench *b, const struct sb_bench_row *row)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", row->name);
	sb_json_string(j, "state", sb_bench_state_name(row->state));
	if (row->reason)
		sb_json_string(j, "reason", row->reason);
	if (row->state != SB_BENCH_OK)
		sb_json_int(j, "exit_code", row->exit_code);
	if (b->key_count) {
		sb_json_object_begin(j, "values");
		for (size_t k = 0; k < b->key_count; k++)
			sb_json_string(j, b->keys[k], row->values[k]);
		sb_json_object_end(j);
	}
	sb_json_uint(j, "count", row->count);
	put(j, "mean_s", row->stats.mean);
	put(j, "median_s", row->stats.median);
	put(j, "median_low_s", row->median_interval.low);
	put(j, "median_high_s", row->median_interval.high);
	put(j, "std_s", row->stats.std);
	put(j, "min_s", row->stats.min);
	put(j, "max_s", row->stats.max);
	put(j, "p95_s", row->stats.p95);
	put(j, "clips_per_second", row->clips_per_s);
	put(j, "frames_per_clip_count", row->frames_per_clip);
	put(j, "frames_fps", row->frames_per_s);
	put(j, "peak_memory_bytes", row->peak_memory_bytes);
	put(j, "step_speedup_ratio", b->ladder ? row->step_speedup : NAN);
	put(j, "total_speedup_ratio", row->total_speedup);
	if (row->total_speedup > 0 && row->against_first.base > 0) {
		sb_json_string(j, "verdict", sb_verdict_name(row->against_first.verdict));
		put(j, "p_value_ratio", row->against_first.p);
	}
	if (!isnan(b->target_fps))
		sb_json_bool(j, "target_met", row->target_met);
	sb_json_array_begin(j, "seconds_s");
	for (size_t i = 0; i < row->count; i++)
		sb_json_double(j, NULL, row->seconds[i]);
	sb_json_array_end(j);
	sb_json_object_end(j);
}

void sb_bench_json(const struct sb_bench *b, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_json_object_begin(&j, NULL);
	sb_json_string(&j, "command", b->command);
	sb_json_string(&j, "measured", b->marks ? "marks" : "processes");
	sb_json_int(&j, "warmup_count", b->warmup);
	sb_json_int(&j, "iterations_count", b->iterations);
	put(&j, "target_fps", b->target_fps);
	sb_json_bool(&j, "interrupted", b->interrupted);
	sb_json_array_begin(&j, "rows");
	for (size_t i = 0; i < b->row_count; i++)
		put_row(&j, b, &b->rows[i]);
	sb_json_array_end(&j);
	sb_json_object_end(&j);
	sb_buf_putc(out, '\n');
}

static void put_field(struct sb_buf *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		sb_buf_puts(out, text);
		return;
	}
	sb_buf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			sb_buf_putc(out, '"');
		sb_buf_putc(out, *text);
	}
	sb_buf_putc(out, '"');
}

void sb_bench_csv(const struct sb_bench *b, struct sb_buf *out)
{
	sb_buf_puts(out, "name,state");
	for (size_t k = 0; k < b->key_count; k++) {
		sb_buf_putc(out, ',');
		put_field(out, b->keys[k]);
	}
	sb_buf_puts(out,
		",count,mean_s,median_s,median_low_s,median_high_s,std_s,min_s,max_s,p95_s,clips_per_second,"
		"frames_fps,peak_memory_bytes,step_speedup_ratio,total_speedup_ratio,target_met\n");
	for (size_t i = 0; i < b->row_count; i++) {
		const struct sb_bench_row *row = &b->rows[i];
		const double numbers[] = { row->stats.mean, row->stats.median, row->median_interval.low,
			row->median_interval.high, row->stats.std, row->stats.min, row->stats.max,
			row->stats.p95, row->clips_per_s, row->frames_per_s, row->peak_memory_bytes,
			b->ladder ? row->step_speedup : NAN, row->total_speedup };

		put_field(out, row->name);
		sb_buf_printf(out, ",%s", sb_bench_state_name(row->state));
		for (size_t k = 0; k < b->key_count; k++) {
			sb_buf_putc(out, ',');
			put_field(out, row->values[k]);
		}
		sb_buf_printf(out, ",%zu", row->count);
		for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
			if (isnan(numbers[k]))
				sb_buf_putc(out, ',');
			else
				sb_buf_printf(out, ",%.9g", numbers[k]);
		sb_buf_printf(out, ",%s\n", isnan(b->target_fps) ? "" : row->target_met ? "true" : "false");
	}
}
