/* Lists of what held memory: a row is one event; the report has them by size. */
#include "analyze/memory/residents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double sb_event_count(const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_INT && a->i >= 0 ? (double)a->i : NAN;
}

const char *sb_event_text(struct sb_model *model, const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_STRING ? sb_model_text(model, a->s) : NULL;
}

bool sb_resident_read(
	struct sb_model *model, const struct sb_event *e, const char *occasion, struct sb_resident *out)
{
	const struct sb_run_attr *at = sb_attr_find(e->attrs, e->attr_count, "at");

	if (!at || at->type != STROBE_TYPE_STRING || strcmp(at->s, occasion) != 0)
		return false;
	*out = (struct sb_resident){ sb_event_text(model, e, "component"), sb_event_text(model, e, "dtype"),
		sb_event_count(e, "bytes") };
	return out->component && out->bytes > 0;
}

int sb_resident_larger(const void *a, const void *b)
{
	const struct sb_resident *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

void sb_residents_keep(struct sb_model *model, const struct sb_resident *all, size_t count,
	struct sb_resident **out_all, size_t *out_count)
{
	struct sb_resident *kept = sb_model_alloc(model, (count + 1) * sizeof *kept);

	*out_all = kept;
	*out_count = kept ? count : 0;
	if (!kept || !count)
		return;
	memcpy(kept, all, count * sizeof *kept);
	qsort(kept, count, sizeof *kept, sb_resident_larger);
}
