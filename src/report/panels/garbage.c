/* Python's garbage collector. */
#include "report/panels/panel.h"

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_garbage_panel *g = &model->garbage;
	char took[32];

	if (!g->long_count) /* short ones are not worth a reader's time */
		return;
	sb_text_heading(out, options, "Garbage collection");
	sb_text_seconds(took, sizeof took, g->total_s);
	sb_buf_printf(out, "  %lld collections, %s; %lld of 1 ms or longer", (long long)g->count, took,
		(long long)g->long_count);
	sb_text_seconds(took, sizeof took, g->generations_s);
	if (!model->generations.whole_run)
		sb_buf_printf(out, ", %s of them in generations", took);
	sb_text_seconds(took, sizeof took, g->longest_count ? g->longest[0].duration_s : 0);
	sb_buf_printf(out, "; the longest %s\n", took);
}

const struct sb_panel sb_panel_garbage = { .name = "garbage_collection", .text = text };
