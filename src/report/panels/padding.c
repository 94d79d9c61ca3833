/* padding: what is computed and never seen. */
#include "report/panels/panel.h"

#include <stdio.h>

static void put_row(const struct sb_padding *p, struct sb_buf *out)
{
	char label[300], unseen[32], total[32];

	snprintf(label, sizeof label, "%s%s%s%s", p->code ? "[" : "", p->code ? p->code : "",
		p->code ? "] " : "", p->stage);
	sb_text_seconds(unseen, sizeof unseen, p->unseen_s);
	sb_text_seconds(total, sizeof total, p->total_s);
	sb_buf_puts(out, "  ");
	sb_text_name(out, label, 34);
	sb_buf_printf(out, ": %s, about %s of %s\n", p->words, unseen, total);
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->padding.count)
		return;
	sb_text_heading(out, options, "Computed and never seen");
	for (size_t i = 0; i < model->padding.count && i < 10; i++)
		put_row(&model->padding.all[i], out);
}

const struct sb_panel sb_panel_padding = { "padding", text };
