/* A place in a Python program, in words. */
#include "report/place.h"

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
	if (p->file)
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
