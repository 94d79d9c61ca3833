/* The rows of the summary's table. Picks and adds up; computes nothing new. */
#include "report/summary_rows.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static double attr_sum(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++) {
		if (strcmp(s->attrs[i].key, key) == 0)
			return s->attrs[i].sum;
	}
	return NAN;
}

static void add(double *sum, double value)
{
	if (!isnan(value))
		*sum = (isnan(*sum) ? 0 : *sum) + value;
}

static bool same_code(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_of(const struct sb_summary_row *row, const struct sb_stage *s)
{
	return strcmp(row->stage->name, s->name) == 0 && same_code(row->stage->code, s->code);
}

static int larger_first(const void *a, const void *b)
{
	const struct sb_summary_row *x = a, *y = b;

	return x->total_s > y->total_s ? -1 : x->total_s < y->total_s;
}

int sb_summary_rows_of(const struct sb_model *model, struct sb_summary_rows *out_rows)
{
	struct sb_summary_rows rows = { .wall_s = model->summary.generation_s,
		.unattributed_s = model->summary.unattributed_s,
		.overlap_s = model->summary.overlap_s };

	rows.all = calloc(model->stages.stage_count + 1, sizeof *rows.all);
	if (!rows.all)
		return sb_fail(STROBE_ENOMEM, "no memory for the summary");
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		struct sb_summary_row *row = rows.all;

		if (!s->side_by_side)
			continue;
		while (row->stage && !is_of(row, s))
			row++;
		if (!row->stage) {
			*row = (struct sb_summary_row){ .stage = s,
				.gpu_span_s = NAN,
				.frames = NAN,
				.tiles = NAN,
				.steps = NAN,
				.bytes = NAN };
			rows.count++;
		}
		row->total_s += s->covered_s;
		row->called_s += s->total_s;
		row->count += sb_stage_calls(s);
		row->open_count += s->open_count;
		add(&row->gpu_span_s, s->gpu_span_s);
		row->gpu_partial |= sb_stage_gpu_partial(s);
		add(&row->frames, attr_sum(s, "frames"));
		add(&row->tiles, attr_sum(s, "tiles"));
		add(&row->steps, attr_sum(s, "steps"));
		add(&row->bytes, attr_sum(s, "bytes"));
	}
	if (rows.count)
		qsort(rows.all, rows.count, sizeof *rows.all, larger_first);
	*out_rows = rows;
	return 0;
}
