/* recommendations and verdict: what to do, what bounds the run, what to leave. */
#include "report/panels/panel.h"

#include <stdio.h>
#include <string.h>

/* ---- text --------------------------------------------------------------- */

static const char *colour_of(const char *priority)
{
	return strcmp(priority, "high") == 0 ? "31" : strcmp(priority, "medium") == 0 ? "33" : "36";
}

static void finding_text(const struct sb_advice *f, size_t number, const struct sb_text_options *options,
	int width, struct sb_buf *out)
{
	char line[2200], saved[32];

	sb_text_colour(out, options, colour_of(f->priority));
	sb_buf_printf(out, "  %zu. %-6s", number,
		strcmp(f->priority, "high") == 0     ? "HIGH"
		: strcmp(f->priority, "medium") == 0 ? "MEDIUM"
						     : "LOW");
	sb_text_colour(out, options, "");
	sb_buf_printf(out, " [%s]\n", f->id);
	sb_text_wrap(out, f->issue, 5, width);
	snprintf(line, sizeof line, "Seen: %s", f->evidence);
	sb_text_wrap(out, line, 5, width);
	snprintf(line, sizeof line, "Do: %s", f->suggestion);
	sb_text_wrap(out, line, 5, width);
	sb_text_seconds(saved, sizeof saved, f->saves_s);
	if (!isnan(f->saves_s))
		sb_buf_printf(out, "     Could save %s; effort %s\n", saved, f->effort);
	else
		sb_buf_printf(out, "     Effort %s\n", f->effort);
}

static void unknown_text(const struct sb_model *model, struct sb_buf *out)
{
	double machine = model->cpu.usage_percent.mean, own = model->cpu.process_percent.mean;

	sb_buf_printf(out, "  Bound by: not known (%s, no GPU trace)\n",
		model->devices.count ? "the GPU was not used" : "no GPU samples");
	if (model->cpu.usage_percent.count && machine >= 90 && own < 50)
		sb_buf_printf(
			out, "  The machine's CPUs are %.0f %% used, mostly by other programs\n", machine);
}

static void advice_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_summary_panel *s = &model->summary;
	int width = sb_text_columns(options);

	if (!model->advice.count && !s->bound && !model->stages.stage_count)
		return; /* nothing was recorded to judge by */
	sb_text_heading(out, options, "Advice");
	for (size_t i = 0; i < model->advice.count; i++)
		finding_text(&model->advice.all[i], i + 1, options, width, out);
	if (!model->advice.count)
		sb_buf_puts(out, "  Nothing stands out in what was recorded.\n");
	if (s->bound) {
		char line[2200];

		snprintf(line, sizeof line, "Bound by: %s (%s)", s->bound, s->bound_reason);
		sb_text_wrap(out, line, 2, width);
	} else {
		unknown_text(model, out);
	}
	if (s->leave_alone_count) {
		struct sb_buf line = { 0 };

		for (size_t i = 0; i < s->leave_alone_count; i++)
			sb_buf_printf(&line, "%s %s", i ? "," : "Leave alone:", s->leave_alone[i].name);
		sb_buf_printf(&line, " (%.1f %% together)", s->leave_alone_ratio * 100);
		sb_text_wrap(out, sb_buf_text(&line), 2, width);
		sb_buf_done(&line);
	}
}

const struct sb_panel sb_panel_advice = {
	.name = "advice",
	.text = advice_text,
};
