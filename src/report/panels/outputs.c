/* outputs: what the program wrote, so that another run's can be compared with it. */
#include "report/panels/panel.h"

#include "base/filename.h"

#include <string.h>

static void put_one(const struct sb_output *o, struct sb_buf *out)
{
	char bytes[32];

	sb_buf_puts(out, "  ");
	sb_text_name(out, sb_filename_of(o->path), 50);
	if (!isnan(o->bytes)) {
		sb_text_bytes(bytes, sizeof bytes, o->bytes);
		sb_buf_printf(out, ", %s", bytes);
	}
	if (o->sha256)
		sb_buf_printf(out, ", sha256 %.12s…", o->sha256);
	if (strcmp(o->state, "written"))
		sb_buf_printf(out, ", %s%s%s", o->state, o->why ? ": " : "", o->why ? o->why : "");
	sb_buf_puts(out, o->kept ? ", copy kept\n" : "\n");
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->outputs.count)
		return;
	sb_text_heading(out, options, "Output");
	for (size_t i = 0; i < model->outputs.count && i < 20; i++)
		put_one(&model->outputs.all[i], out);
	if (model->outputs.count > 20)
		sb_buf_printf(out, "  … %zu in all\n", model->outputs.count);
}

const struct sb_panel sb_panel_outputs = { "outputs", text };
