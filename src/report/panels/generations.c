/* summary and generations: what was made, how fast, at what cost. */
#include "report/panels/panel.h"

#define SHOWN 20

/* ---- text --------------------------------------------------------------- */

static void number(struct sb_buf *out, int width, double value, int decimals)
{
	if (isnan(value))
		sb_buf_printf(out, " %*s", width, "n/a");
	else
		sb_buf_printf(out, " %*.*f", width, decimals, value);
}

static void count(struct sb_buf *out, int width, int64_t value)
{
	if (value < 0)
		sb_buf_printf(out, " %*s", width, "n/a");
	else
		sb_buf_printf(out, " %*lld", width, (long long)value);
}

static void generations_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_generations_panel *g = &model->generations;

	if (g->whole_run)
		return;
	sb_text_heading(out, options, "Generations");
	if (g->time.count > 1)
		sb_buf_printf(out, "  %lld, p50 %.2f s, p95 %.2f s, min %.2f s, max %.2f s\n",
			(long long)g->time.count, g->time.p50, g->time.p95, g->time.min, g->time.max);
	sb_buf_printf(out, "  %-14s %8s %8s %7s %6s %9s %7s %5s\n", "Name", "at s", "wall s", "frames",
		"steps", "frames/s", "Wh", "GPU %");
	for (size_t i = 0; i < g->count && i < SHOWN; i++) {
		const struct sb_generation *row = &g->all[i];
		size_t used;

		sb_buf_puts(out, "  ");
		used = sb_text_name(out, row->name, 14);
		sb_buf_printf(out, "%*s %8.2f %8.2f", (int)(14 - used), "", row->begin_s,
			row->end_s - row->begin_s);
		count(out, 7, row->frames);
		count(out, 6, row->steps);
		number(out, 9, row->fps, 2);
		number(out, 7, row->energy_wh, 2);
		number(out, 5, row->utilization_percent, 0);
		sb_buf_puts(out, row->open ? " (open)\n" : row->cut ? " (cut)\n" : "\n");
	}
	if (g->total > SHOWN)
		sb_buf_printf(out, "  … and %lld more\n", (long long)g->total - SHOWN);
}

const struct sb_panel sb_panel_generations = {
	.name = "generations",
	.text = generations_text,
};
