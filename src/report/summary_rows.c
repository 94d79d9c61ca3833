/* The rows of the summary's table. Picks and adds up; computes nothing new. */
#include "report/summary_rows.h"

#include "base/error.h"
#include "base/role.h"

#include <stdio.h>
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

bool sb_summary_row_is_of(const struct sb_summary_row *row, const struct sb_stage *s)
{
	return strcmp(row->stage->name, s->name) == 0 && same_code(row->stage->code, s->code);
}

static int larger_first(const void *a, const void *b)
{
	const struct sb_summary_row *x = a, *y = b;

	return x->total_s > y->total_s ? -1 : x->total_s < y->total_s;
}

void sb_summary_row_add(struct sb_summary_row *row, const struct sb_stage *s)
{
	if (!row->stage)
		*row = (struct sb_summary_row){
			.stage = s, .gpu_span_s = NAN, .frames = NAN, .tiles = NAN, .steps = NAN, .bytes = NAN
		};
	row->total_s += sb_stage_real_s(s);
	row->called_s += s->total_s;
	row->count += s->count;
	row->open_count += s->open_count;
	add(&row->gpu_span_s, s->gpu_span_s);
	row->gpu_partial |= sb_stage_gpu_partial(s);
	add(&row->frames, attr_sum(s, "frames"));
	add(&row->tiles, attr_sum(s, "tiles"));
	add(&row->steps, attr_sum(s, "steps"));
	add(&row->bytes, attr_sum(s, "bytes"));
}

struct sb_summary_row sb_summary_row_of(const struct sb_stage *stage)
{
	struct sb_summary_row row = { 0 };

	sb_summary_row_add(&row, stage);
	return row;
}

size_t sb_summary_row_around(const struct sb_summary_rows *rows, const struct sb_stages_panel *stages,
	const struct sb_stage *stage)
{
	size_t i = 0;

	while (!stage->side_by_side && stage->parent >= 0)
		stage = &stages->stages[stage->parent];
	while (i < rows->count && !(stage->side_by_side && sb_summary_row_is_of(&rows->all[i], stage)))
		i++;
	return i;
}

static bool moves_weights(const struct sb_stage *s)
{
	return sb_role_work(s->name, s->role) == STROBE_ROLE_OFFLOAD;
}

static bool is_inside_a_move(const struct sb_stages_panel *stages, const struct sb_stage *s)
{
	for (int64_t p = s->parent; p >= 0; p = stages->stages[p].parent)
		if (moves_weights(&stages->stages[p]))
			return true;
	return false;
}

double sb_summary_row_moves_s(
	const struct sb_summary_rows *rows, const struct sb_stages_panel *stages, size_t row)
{
	double sum_s = 0;

	for (size_t i = 0; i < stages->stage_count; i++) {
		const struct sb_stage *s = &stages->stages[i];

		if (moves_weights(s) && !s->startup && !is_inside_a_move(stages, s) &&
			sb_summary_row_around(rows, stages, s) == row)
			sum_s += sb_stage_real_s(s) - s->startup_s;
	}
	return sum_s;
}

/* Adds what a stage of the start-up is for to its name, once. */
static void name_startup(struct sb_summary_rows *rows, const struct sb_stage *s)
{
	enum strobe_role work = sb_role_work(s->name, s->role);
	const char *words = sb_role_words(work);
	size_t used = strlen(rows->startup_name);
	char *end = rows->startup_name + (used ? used - 1 : 0); /* before the bracket */
	int room = (int)(sizeof rows->startup_name - used) - 4;

	if (work == STROBE_ROLE_STAGE || strstr(rows->startup_name, words) || (int)strlen(words) > room)
		return;
	snprintf(end, sizeof rows->startup_name - (size_t)(end - rows->startup_name), "%s%.*s)",
		used ? ", " : "start-up (", room, words);
}

int sb_summary_rows_of(const struct sb_model *model, struct sb_summary_rows *out_rows)
{
	struct sb_summary_rows rows = { .wall_s = model->summary.generation_s,
		.unattributed_s = model->summary.unattributed_s,
		.overlap_s = model->summary.overlap_s,
		.one_call = sb_model_one_call(model) };
	bool startup = model->generations.whole_run && isfinite(model->summary.startup_end_s);

	rows.all = calloc(model->stages.stage_count + 1, sizeof *rows.all);
	if (!rows.all)
		return sb_fail(STROBE_ENOMEM, "no memory for the summary");
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		struct sb_summary_row *row = rows.all;

		if (!s->side_by_side)
			continue;
		if (startup && s->startup_s > 0) {
			rows.startup_s += s->startup_s;
			name_startup(&rows, s);
		}
		if (startup && s->startup)
			continue;
		while (row->stage && !sb_summary_row_is_of(row, s))
			row++;
		rows.count += !row->stage;
		sb_summary_row_add(row, s);
		row->total_s -= startup ? s->startup_s : 0;
	}
	if (startup) {
		if (!*rows.startup_name)
			strcpy(rows.startup_name, "start-up");
		rows.startup_s += model->summary.startup_unattributed_s;
		rows.unattributed_s -= model->summary.startup_unattributed_s;
	}
	if (rows.count)
		qsort(rows.all, rows.count, sizeof *rows.all, larger_first);
	*out_rows = rows;
	return 0;
}
