/* recommendations and verdict: what to do, what bounds the run, what to leave. */
#include "report/panels/panel.h"

#include <stdio.h>
#include <string.h>

/* ---- text --------------------------------------------------------------- */

static const char *colour_of(const char *priority)
{
	return strcmp(priority, "high") == 0 ? "31" : strcmp(priority, "medium") == 0 ? "33" : "36";
}

static void part_text(struct sb_buf *out, const char *label, const char *text, int width)
{
	struct sb_buf line = { 0 };

	if (!text)
		return;
	sb_buf_printf(&line, "%s%s", label, text);
	sb_text_wrap(out, sb_buf_text(&line), 5, width);
	sb_buf_done(&line);
}

/* "; in 'denoise' at pipeline.py:41, 12.30 to 15.80 s" */
static void place_text(const struct sb_advice *f, struct sb_buf *out)
{
	const struct sb_advice_where *w = &f->where;
	const char *base = w->file ? strrchr(w->file, '/') : NULL;

	if (w->stage)
		sb_buf_printf(out, "; in '%s'", w->stage);
	if (w->file)
		sb_buf_printf(out, "%s %s:%u", w->stage ? " at" : "; at", base ? base + 1 : w->file, w->line);
	if (w->to_s > 0)
		sb_buf_printf(out, ", %.2f to %.2f s", w->from_s, w->to_s);
}

static void gain_text(const struct sb_advice *f, int width, struct sb_buf *out)
{
	struct sb_buf line = { 0 };
	char saved[32];

	sb_text_seconds(saved, sizeof saved, f->saves_s);
	if (!isnan(f->saves_s))
		sb_buf_printf(&line, "Could save %s (%s, %s); effort %s", saved,
			f->basis ? f->basis : "bounded", f->confidence ? f->confidence : "likely", f->effort);
	else
		sb_buf_printf(&line, "Effort %s", f->effort);
	place_text(f, &line);
	sb_text_wrap(out, sb_buf_text(&line), 5, width);
	sb_buf_done(&line);
}

static void finding_text(const struct sb_advice *f, size_t number, const struct sb_text_options *options,
	int width, struct sb_buf *out)
{
	sb_text_colour(out, options, colour_of(f->priority));
	sb_buf_printf(out, "  %zu. %-6s", number,
		strcmp(f->priority, "high") == 0     ? "HIGH"
		: strcmp(f->priority, "medium") == 0 ? "MEDIUM"
						     : "LOW");
	sb_text_colour(out, options, "");
	sb_buf_printf(out, " [%s]\n", f->id);
	sb_text_wrap(out, f->issue, 5, width);
	if (f->cause && !f->cause_open)
		part_text(
			out, strncmp(f->cause, "cause not found", 15) == 0 ? "" : "Cause: ", f->cause, width);
	part_text(out, "Seen: ", f->evidence, width);
	part_text(out, "Do: ", f->suggestion, width);
	gain_text(f, width, out);
}

/* What costs the start alone: a line each. */
static void startup_text(const struct sb_model *model, int width, struct sb_buf *out)
{
	bool first = true;

	for (size_t i = 0; i < model->advice.count; i++) {
		const struct sb_advice *f = &model->advice.all[i];
		struct sb_buf line = { 0 };
		char saved[32];

		if (!f->startup)
			continue;
		if (first)
			sb_buf_puts(out, "  At the start:\n");
		first = false;
		sb_buf_printf(&line, "[%s] %s", f->id, f->issue);
		sb_text_seconds(saved, sizeof saved, f->saves_s);
		if (!isnan(f->saves_s))
			sb_buf_printf(&line, " (could save %s)", saved);
		sb_buf_printf(&line, ": %s", f->suggestion);
		sb_text_wrap(out, sb_buf_text(&line), 4, width);
		sb_buf_done(&line);
	}
}

/* Known to have done nothing: of a text's GPU often the memory alone is known. */
static bool any_unused(const struct sb_model *model)
{
	for (size_t i = 0; i < model->devices.count; i++)
		if (!model->devices.all[i].used)
			return true;
	return false;
}

static void unknown_text(const struct sb_model *model, struct sb_buf *out)
{
	double machine = model->cpu.usage_percent.mean, own = model->cpu.process_percent.mean;

	if (model->summary.bound_reason)
		sb_buf_printf(out, "  Bound by: not known (%s)\n", model->summary.bound_reason);
	else
		sb_buf_printf(out, "  Bound by: not known (%s, no GPU trace)\n",
			any_unused(model) ? "the GPU was not used" : "no GPU samples");
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
	for (size_t i = 0; i < model->advice.count && !model->advice.all[i].startup; i++)
		finding_text(&model->advice.all[i], i + 1, options, width, out);
	if (!model->advice.count)
		sb_buf_puts(out, "  Nothing stands out in what was recorded.\n");
	startup_text(model, width, out);
	if (s->bound) {
		char line[2200];

		snprintf(line, sizeof line, "Bound by: %s (%s)", s->bound, s->bound_reason);
		sb_text_wrap(out, line, 2, width);
	} else {
		unknown_text(model, out);
	}
	if (s->next_command) {
		struct sb_buf line = { 0 };

		sb_buf_printf(&line, "Next: %s (%s)", s->next_command, s->next_reason);
		sb_text_wrap(out, sb_buf_text(&line), 2, width);
		sb_buf_done(&line);
	}
	if (s->leave_alone_count) {
		struct sb_buf line = { 0 };
		char share[32];

		for (size_t i = 0; i < s->leave_alone_count; i++)
			sb_buf_printf(&line, "%s %s", i ? "," : "Not worth tuning:", s->leave_alone[i].name);
		sb_text_share(share, sizeof share, s->leave_alone_ratio, " ");
		sb_buf_printf(&line, " (together %s of the wall time)", share);
		sb_text_wrap(out, sb_buf_text(&line), 2, width);
		sb_buf_done(&line);
	}
}

const struct sb_panel sb_panel_advice = {
	.name = "advice",
	.text = advice_text,
};
