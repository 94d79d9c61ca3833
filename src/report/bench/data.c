/* A benchmark for other programs: JSON and CSV. */
#include "report/bench/bench.h"

#include "base/csv.h"
#include "stats/fields.h"

#include <math.h>

void sb_bench_json(const struct sb_bench *b, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_fields_write(&sb_bench_fields, b, NULL, &j);
	sb_buf_putc(out, '\n');
}

void sb_bench_csv(const struct sb_bench *b, struct sb_buf *out)
{
	sb_buf_puts(out, "name,state");
	for (size_t k = 0; k < b->key_count; k++) {
		sb_buf_putc(out, ',');
		sb_csv_add(out, b->keys[k]);
	}
	sb_buf_puts(out,
		",count,mean_s,median_s,median_low_s,median_high_s,std_s,min_s,max_s,p95_s,clips_per_second,"
		"frames_fps,peak_memory_bytes,step_speedup_ratio,total_speedup_ratio,target_"
		"met" SB_CSV_LINE_END);
	for (size_t i = 0; i < b->row_count; i++) {
		const struct sb_bench_row *row = &b->rows[i];
		const double numbers[] = { row->stats.mean, row->stats.median, row->median_interval.low,
			row->median_interval.high, row->stats.std, row->stats.min, row->stats.max,
			row->stats.p95, row->clips_per_s, row->frames_per_s, row->peak_memory_bytes,
			b->ladder ? row->step_speedup : NAN, row->total_speedup };

		sb_csv_add(out, row->name);
		sb_buf_printf(out, ",%s", sb_bench_state_name(row->state));
		for (size_t k = 0; k < b->key_count; k++) {
			sb_buf_putc(out, ',');
			sb_csv_add(out, row->values[k]);
		}
		sb_buf_printf(out, ",%zu", row->count);
		for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
			if (isnan(numbers[k]))
				sb_buf_putc(out, ',');
			else
				sb_buf_printf(out, ",%.9g", numbers[k]);
		sb_buf_printf(out, ",%s" SB_CSV_LINE_END,
			isnan(b->target_fps) ? ""
			: row->target_met    ? "true"
					     : "false");
	}
}
