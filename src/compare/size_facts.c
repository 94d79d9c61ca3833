/* The sizes of a run's generations, as facts: copied, with texts of the facts' own. */
#include "compare/facts.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static bool copy_size(struct sb_facts *f, const struct sb_size *from, struct sb_size *to)
{
	*to = *from;
	to->attributes = calloc(from->attribute_count + 1, sizeof *to->attributes);
	to->stages = calloc(from->stage_count + 1, sizeof *to->stages);
	if (!to->attributes || !to->stages)
		return false;
	for (size_t i = 0; i < from->attribute_count; i++) {
		to->attributes[i] = from->attributes[i];
		to->attributes[i].key = sb_facts_text(f, from->attributes[i].key);
		to->attributes[i].s = NULL;
	}
	for (size_t i = 0; i < from->stage_count; i++) {
		to->stages[i] = from->stages[i];
		to->stages[i].stage = sb_facts_text(f, from->stages[i].stage ? from->stages[i].stage : "");
	}
	return true;
}

int sb_facts_take_sizes(struct sb_facts *f, const struct sb_sizes_panel *p)
{
	f->sizes = *p;
	f->sizes.model = sb_facts_text(f, p->model ? p->model : "");
	f->sizes.device = sb_facts_text(f, p->device ? p->device : "");
	f->sizes.all = calloc(p->count + 1, sizeof *f->sizes.all);
	f->sizes.count = 0;
	for (size_t i = 0; f->sizes.all && i < p->count; i++)
		if (!copy_size(f, &p->all[i], &f->sizes.all[f->sizes.count++]))
			return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	return f->sizes.all ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
}

void sb_facts_free_sizes(struct sb_facts *f)
{
	for (size_t i = 0; i < f->sizes.count; i++) {
		free(f->sizes.all[i].attributes);
		free(f->sizes.all[i].stages);
	}
	free(f->sizes.all);
}
