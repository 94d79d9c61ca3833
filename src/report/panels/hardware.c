/* What parts of the GPU did in each stage. */
#include "report/panels/panel.h"

#include <stdio.h>

#define STAGES_SHOWN 10u
#define NAME_COLUMNS 20u
#define COVERED_LEAST 0.05 /* of a stage's time: less says little of it */

static void percent(struct sb_buf *out, double value)
{
	if (isnan(value))
		sb_buf_printf(out, " %8s", "n/a");
	else
		sb_buf_printf(out, " %6.1f %%", value);
}

static void counters_row(
	struct sb_buf *out, const char *name, const struct sb_gpu_counters *c, const char *bound)
{
	size_t used;

	sb_buf_puts(out, "    ");
	used = sb_text_name(out, name, NAME_COLUMNS);
	sb_buf_printf(out, "%*s", (int)(NAME_COLUMNS - used), "");
	percent(out, c->percent[SB_COUNTER_SM]);
	percent(out, c->percent[SB_COUNTER_TENSOR]);
	percent(out, c->percent[SB_COUNTER_FP32]);
	percent(out, c->percent[SB_COUNTER_DRAM]);
	percent(out, c->covered_ratio * 100);
	sb_buf_printf(out, "%s%s\n", bound ? "  " : "", bound ? bound : "");
}

static void counters_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &model->stages;
	size_t shown = 0;

	sb_buf_printf(out, "    %-*s %8s %8s %8s %8s %8s  bound by\n", (int)NAME_COLUMNS, "", "SMs", "tensor",
		"FP32", "DRAM", "covered");
	counters_row(out, "the whole run", &model->gpu_counters, NULL);
	for (size_t i = 0; i < s->stage_count && shown < STAGES_SHOWN; i++) {
		const struct sb_stage *stage = &s->stages[s->by_total ? s->by_total[i] : i];

		if (!(stage->counters.covered_ratio >= COVERED_LEAST))
			continue;
		counters_row(out, stage->name, &stage->counters, stage->work.bound);
		shown++;
	}
}

/* ---- operations ---- */

/* "denoise: 12.4 TFLOP, 405 TFLOP/s, 41 % of this GPU's bf16 rate; its floor is 1.9 s; bound by tensor" */
static void work_line(const struct sb_stage *s, struct sb_buf *out)
{
	const struct sb_stage_work *w = &s->work;
	char floor[24];

	sb_buf_puts(out, "    ");
	sb_text_name(out, s->name, NAME_COLUMNS);
	if (isnan(w->flops))
		sb_buf_printf(out, ": operations n/a (%s)", w->why);
	else
		sb_buf_printf(out, ": %.4g TFLOP", w->flops / 1e12);
	if (!isnan(w->tflops))
		sb_buf_printf(out, ", %.4g TFLOP/s", w->tflops);
	if (!isnan(w->mfu_ratio)) {
		sb_text_seconds(floor, sizeof floor, w->floor_s);
		sb_buf_printf(out, ", %.1f %% of the %s rate\n      floor %s", w->mfu_ratio * 100,
			w->precision, floor);
	}
	if (w->bound)
		sb_buf_printf(out, ", bound by %s", w->bound);
	if (!isnan(w->flops) && w->uncounted_count)
		sb_buf_printf(
			out, "\n      without %lld model calls (%s)", (long long)w->uncounted_count, w->why);
	sb_buf_putc(out, '\n');
}

static void work_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &model->stages;
	const struct sb_roofline_panel *r = &model->roofline;
	size_t shown = 0;

	for (size_t i = 0; i < s->stage_count && shown < STAGES_SHOWN; i++) {
		const struct sb_stage *stage = &s->stages[s->by_total ? s->by_total[i] : i];

		if (isnan(stage->work.flops) && !stage->work.why)
			continue;
		if (!shown++)
			sb_buf_puts(out, "  Operations of model calls\n");
		work_line(stage, out);
	}
	if (shown && r->source)
		sb_buf_printf(out, "    peak rates: %s\n", r->source);
	else if (shown && r->gpu)
		sb_buf_printf(out, "    peak rates n/a: %s is not in the table\n", r->gpu);
}

static void hardware_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->gpu_counters.source && !model->roofline.present)
		return;
	sb_text_heading(out, options, "Hardware");
	if (model->gpu_counters.source)
		counters_text(model, out);
	work_text(model, out);
}

const struct sb_panel sb_panel_hardware = {
	.name = "hardware",
	.text = hardware_text,
};
