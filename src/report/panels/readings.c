/* readings: what the numbers mean, a line each. */
#include "report/panels/panel.h"

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->readings.count)
		return;
	sb_text_heading(out, options, "Reading");
	for (size_t i = 0; i < model->readings.count; i++)
		sb_text_wrap(out, model->readings.all[i].text, 2, sb_text_columns(options));
}

const struct sb_panel sb_panel_readings = { "readings", text };
