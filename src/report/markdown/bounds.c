/* What bounds a stage and how much of the GPU's rate it reaches, in Markdown: a line for each. */
#include "report/markdown/markdown.h"

#include "report/markdown/words.h"
#include "report/panels/stages.h"
#include "report/panels/work_words.h"

#include <math.h>
#include <string.h>

#define STAGES_SHOWN 8u
#define NAME_MOST 60u

/* "SM 95.1 %, tensor 60.2 %, DRAM 20.0 %": those that were read. */
static void put_counters(const struct sb_gpu_counters *c, struct sb_buf *out)
{
	static const struct {
		enum sb_gpu_counter counter;
		const char *name;
	} shown[] = { { SB_COUNTER_SM, "SM" }, { SB_COUNTER_TENSOR, "tensor" }, { SB_COUNTER_FP32, "FP32" },
		{ SB_COUNTER_DRAM, "DRAM" } };
	const char *before = "; ";

	for (size_t i = 0; c->source && i < sizeof shown / sizeof *shown; i++) {
		double percent = c->percent[shown[i].counter];

		if (isnan(percent))
			continue;
		sb_buf_printf(out, "%s%s %.1f %%", before, shown[i].name, percent);
		before = ", ";
	}
}

static bool has_rate(const struct sb_stage_work *w)
{
	return w->mfu_ratio > 0 && w->precision;
}

/* Why it has no MFU; what holds for all stages stands below them. */
static bool own_why(const struct sb_model *model, const struct sb_stage_work *w)
{
	return !has_rate(w) && w->mfu_why && (w->tflops > 0 || !isnan(w->peak_tflops)) &&
	       (!model->roofline.mfu_why || strcmp(model->roofline.mfu_why, w->mfu_why));
}

/* "- denoise: MFU 41.0 % of the bf16 rate, bound by tensor; SM 95.1 %, tensor 60.2 %" */
static void line(const struct sb_model *model, const struct sb_stage *s, struct sb_buf *out)
{
	const struct sb_stage_work *w = &s->work;
	bool cold = sb_work_is_cold(w->calls), rate = has_rate(w), said = rate || own_why(model, w);
	struct sb_buf name = { 0 };

	sb_buf_puts(out, "- ");
	sb_stage_path(model, s, NAME_MOST, &name);
	sb_markdown_name(out, sb_buf_text(&name), NAME_MOST);
	sb_buf_done(&name);
	sb_buf_puts(out, ": ");
	if (rate)
		sb_work_mfu_words(out, w);
	if (rate && cold)
		sb_buf_puts(out, " (cold)");
	if (own_why(model, w)) {
		sb_buf_puts(out, "MFU n/a: ");
		sb_markdown_put(out, w->mfu_why);
	}
	if (w->bound) {
		sb_buf_puts(out, said ? ", " : "");
		sb_work_bound_words(out, w, rate && cold);
	} else if (w->bound_why && !(own_why(model, w) && !strcmp(w->mfu_why, w->bound_why))) {
		sb_buf_printf(out, "%swhat bounds it is n/a: ", said ? ", " : "");
		sb_markdown_put(out, w->bound_why);
	}
	put_counters(&s->counters, out);
	sb_buf_putc(out, '\n');
}

void sb_markdown_bounds(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_stages_panel *all = &model->stages;
	size_t shown = 0;

	for (size_t i = 0; i < all->stage_count && shown < STAGES_SHOWN; i++) {
		const struct sb_stage *s = &all->stages[all->by_total ? all->by_total[i] : i];

		if (!s->work.bound && !has_rate(&s->work) && !own_why(model, &s->work) &&
			!(s->work.bound_why && s->counters.source))
			continue;
		if (!shown++)
			sb_markdown_heading(out, "Rates and bounds");
		line(model, s, out);
	}
	if (shown && model->roofline.mfu_why) {
		sb_buf_puts(out, "- MFU n/a: ");
		sb_markdown_put(out, model->roofline.mfu_why);
		sb_buf_putc(out, '\n');
	}
}
