/* strategies: what could be turned, by effort. */
#include "report/panels/panel.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 12

static void strategy_text(const struct sb_strategy *s, int width, struct sb_buf *out)
{
	struct sb_buf line = { 0 };

	if (s->code)
		sb_buf_printf(&line, "[%s] ", s->code);
	sb_text_name(&line, s->stage_name, 60);
	sb_buf_printf(&line, ": %s. Trade-off: %s", s->what, s->trade_off);
	sb_text_wrap(out, sb_buf_text(&line), 4, width);
	sb_buf_done(&line);
}

static void trial_text(const struct sb_strategies_panel *all, struct sb_buf *out)
{
	int shown = 0;

	for (size_t i = 0; i < all->count && shown < 3; i++)
		if (all->all[i].try_it)
			sb_buf_printf(out, "%s %s", shown++ ? "" : "  Predict: strobe whatif RUN",
				all->all[i].try_it);
	if (shown)
		sb_buf_putc(out, '\n');
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_strategies_panel *all = &model->strategies;
	const char *effort = "";

	if (!all->count)
		return;
	sb_text_heading(out, options, "Strategies by stage");
	for (size_t i = 0; i < all->count && i < SHOWN; i++) {
		if (strcmp(effort, all->all[i].effort))
			sb_buf_printf(out, "  %s\n", effort = all->all[i].effort);
		strategy_text(&all->all[i], sb_text_columns(options), out);
	}
	if (all->count > SHOWN)
		sb_buf_printf(out, "  (%zu more; JSON has them)\n", all->count - SHOWN);
	trial_text(all, out);
}

const struct sb_panel sb_panel_strategies = { "strategies", text };
