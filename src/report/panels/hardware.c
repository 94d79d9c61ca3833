/* What parts of the GPU did in each stage. */
#include "report/panels/panel.h"

#include <stdio.h>

#define STAGES_SHOWN 10u
#define NAME_COLUMNS 28u
#define COVERED_LEAST 0.05 /* of a stage's time: less says little of it */

static void percent(struct sb_buf *out, double value)
{
	if (isnan(value))
		sb_buf_printf(out, " %8s", "n/a");
	else
		sb_buf_printf(out, " %6.1f %%", value);
}

static void counters_row(struct sb_buf *out, const char *name, const struct sb_gpu_counters *c)
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
	sb_buf_putc(out, '\n');
}

static void counters_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &model->stages;
	size_t shown = 0;

	sb_buf_printf(out, "    %-*s %8s %8s %8s %8s %8s\n", (int)NAME_COLUMNS, "", "SMs", "tensor", "FP32",
		"DRAM", "covered");
	counters_row(out, "the whole run", &model->gpu_counters);
	for (size_t i = 0; i < s->stage_count && shown < STAGES_SHOWN; i++) {
		const struct sb_stage *stage = &s->stages[s->by_total ? s->by_total[i] : i];

		if (!(stage->counters.covered_ratio >= COVERED_LEAST))
			continue;
		counters_row(out, stage->name, &stage->counters);
		shown++;
	}
}

static void hardware_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->gpu_counters.source)
		return;
	sb_text_heading(out, options, "Hardware");
	counters_text(model, out);
}

const struct sb_panel sb_panel_hardware = {
	.name = "hardware",
	.text = hardware_text,
};
