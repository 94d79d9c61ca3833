/* summary and generations: what was made, how fast, at what cost. */
#include "report/panels/panel.h"

#include "stats/energy.h"

#define SHOWN 20
#define FAILURE_MOST 360 /* columns */

/* ---- text --------------------------------------------------------------- */

static void number(struct sb_buf *out, int width, double value, int decimals)
{
	if (isnan(value))
		sb_buf_printf(out, " %*s", width, "n/a");
	else if (decimals && value > 0 && value < 0.005) /* not rounded to nothing */
		sb_buf_printf(out, " %*.2g", width, value);
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

/* "30.1 ms": a number that is not rounded to nothing. */
static const char *time_text(double seconds, char out[24])
{
	sb_text_seconds(out, 24, seconds);
	return out;
}

static void put_spread(struct sb_buf *out, const struct sb_stats *time)
{
	char p50[24], p95[24], min[24], max[24];

	sb_buf_printf(out, "  %lld, p50 %s, p95 %s, min %s, max %s\n", (long long)time->count,
		time_text(time->p50, p50), time_text(time->p95, p95), time_text(time->min, min),
		time_text(time->max, max));
}

static void energy(struct sb_buf *out, int width, double wh)
{
	char text[24] = "n/a";

	if (!isnan(wh))
		sb_text_energy(text, sizeof text, wh);
	sb_buf_printf(out, " %*s", width, text);
}

static void put_failure(const struct sb_generation *row, struct sb_buf *out)
{
	if (!row->failure)
		return;
	sb_buf_puts(out, "    ");
	sb_text_name(out, row->failure, FAILURE_MOST);
	sb_buf_putc(out, '\n');
}

static void generations_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_generations_panel *g = &model->generations;

	if (g->whole_run)
		return;
	sb_text_heading(out, options, "Generations");
	if (g->time.count > 1)
		put_spread(out, &g->time);
	sb_buf_printf(out, "  %-14s %7s %9s %6s %5s %9s %8s %5s\n", "Name", "at s", "wall", "frames", "steps",
		"frames/s", "energy", "GPU %");
	for (size_t i = 0; i < g->count && i < SHOWN; i++) {
		const struct sb_generation *row = &g->all[i];
		char wall[24];
		size_t used;

		sb_buf_puts(out, "  ");
		used = sb_text_name(out, row->name, 14);
		sb_buf_printf(out, "%*s %7.2f %9s", (int)(14 - used), "", row->begin_s,
			time_text(row->end_s - row->begin_s, wall));
		count(out, 6, row->frames);
		count(out, 5, row->steps);
		number(out, 9, row->fps, 2);
		energy(out, 8, row->energy_wh);
		number(out, 5, row->utilization_percent, 0);
		if (row->state)
			sb_buf_printf(out, " (%s)", row->state);
		sb_buf_putc(out, '\n');
		put_failure(row, out);
	}
	if (g->total > SHOWN)
		sb_buf_printf(out, "  … and %lld more\n", (long long)g->total - SHOWN);
}

const struct sb_panel sb_panel_generations = {
	.name = "generations",
	.text = generations_text,
};
