/* What bounds a stage and how much of the GPU's rate it reaches, in Markdown: a line for each. */
#include "report/markdown/markdown.h"

#include "report/markdown/words.h"
#include "report/panels/stages.h"

#include <string.h>

#define STAGES_SHOWN 8u
#define NAME_MOST 60u

static bool is_cold(const char *calls)
{
	return calls && !strcmp(calls, SB_CALLS_COLD);
}

/* "- denoise: 41.0 % of the bf16 rate, bound by tensor" */
static void line(const struct sb_model *model, const struct sb_stage *s, struct sb_buf *out)
{
	const struct sb_stage_work *w = &s->work;
	bool rate = w->mfu_ratio > 0, little = w->mfu_ratio < 0.0005;
	struct sb_buf name = { 0 };

	sb_buf_puts(out, "- ");
	sb_stage_path(model, s, NAME_MOST, &name);
	sb_markdown_name(out, sb_buf_text(&name), NAME_MOST);
	sb_buf_done(&name);
	sb_buf_puts(out, ": ");
	if (rate)
		sb_buf_printf(out, "%s%.1f %% of the %s rate%s", little ? "< " : "",
			little ? 0.1 : w->mfu_ratio * 100, w->precision, is_cold(w->calls) ? " (cold)" : "");
	if (w->bound) {
		sb_buf_printf(out, "%sbound by %s", rate ? ", " : "", w->bound);
		if (!strcmp(w->bound_basis, "trace"))
			sb_buf_puts(out, " (by its kernel trace)");
		if (is_cold(w->bound_calls) && !(rate && is_cold(w->calls)))
			sb_buf_puts(out, " (cold)");
	}
	sb_buf_putc(out, '\n');
}

void sb_markdown_bounds(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_stages_panel *all = &model->stages;
	size_t shown = 0;

	for (size_t i = 0; i < all->stage_count && shown < STAGES_SHOWN; i++) {
		const struct sb_stage *s = &all->stages[all->by_total ? all->by_total[i] : i];

		if (!s->work.bound && !(s->work.mfu_ratio > 0 && s->work.precision))
			continue;
		if (!shown++)
			sb_markdown_heading(out, "Rates and bounds");
		line(model, s, out);
	}
}
