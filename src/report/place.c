/* A place in a Python program, in words. */
#include "report/place.h"

#include "report/text.h"

#include <string.h>

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

/* "WanPipeline.__call__" of "pipeline_wan.WanPipeline.__call__": the file is named beside it. */
static const char *without_module(const struct sb_place *p)
{
	const char *base = base_name(p->file);
	size_t stem = strcspn(base, ".");

	if (!strncmp(p->function, base, stem) && p->function[stem] == '.')
		return p->function + stem + 1;
	return p->function;
}

void sb_place_text(const struct sb_place *p, struct sb_buf *out)
{
	if (!p->line)
		sb_buf_puts(out, p->function); /* what strobe did itself has no place */
	else if (p->file)
		sb_buf_printf(out, "%s (%s:%u)", without_module(p), base_name(p->file), p->line);
	else
		sb_buf_printf(out, "%s:%u", p->function, p->line);
}

const struct sb_place_list *sb_place_list_of(const struct sb_model *model)
{
	if (model->unattributed.generations.count)
		return &model->unattributed.generations;
	return model->generations.whole_run && model->unattributed.run.count ? &model->unattributed.run
									     : NULL;
}

void sb_place_row(const struct sb_place *p, bool shares, struct sb_buf *out)
{
	struct sb_buf place = { 0 };
	char took[32];

	sb_place_text(p, &place);
	sb_text_seconds(took, sizeof took, p->estimate_s);
	if (shares)
		sb_buf_printf(out, "  %6.1f %% %10s  ", 100 * p->ratio, took);
	else
		sb_buf_puts(out, "    ");
	sb_text_name(out, sb_buf_text(&place), 60);
	if (p->inside) {
		sb_buf_puts(out, ", in ");
		sb_text_name(out, p->inside, 40);
	}
	sb_buf_putc(out, '\n');
	sb_buf_done(&place);
}
