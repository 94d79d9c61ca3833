/* Which stages matter most, by name: the parts of the wall time, then those with the most time of their own. They are
 * listed in the order in which they began, which a run that goes on does not change. */
#include "analyze/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_MOST = 8 }; /* as many as there are colours that cannot be mistaken */

static void add_name(struct sb_stages_panel *s, const char *name)
{
	if (!name || s->largest_count == LARGEST_MOST)
		return;
	for (size_t i = 0; i < s->largest_count; i++)
		if (!strcmp(s->largest[i], name))
			return;
	s->largest[s->largest_count++] = name;
}

static int by_self(const void *a, const void *b)
{
	const struct sb_stage *x = *(const struct sb_stage *const *)a,
			      *y = *(const struct sb_stage *const *)b;
	double x_s = isnan(x->self_s) ? 0 : x->self_s, y_s = isnan(y->self_s) ? 0 : y->self_s;

	if (x_s != y_s)
		return x_s > y_s ? -1 : 1;
	return x < y ? -1 : x > y;
}

static double began_s(const struct sb_stages_panel *s, const char *name)
{
	double first_s = INFINITY;

	for (size_t i = 0; i < s->stage_count; i++)
		if (!strcmp(s->stages[i].name, name))
			first_s = fmin(first_s, s->stages[i].first_s);
	return first_s;
}

static void put_in_order(struct sb_stages_panel *s)
{
	for (size_t i = 1; i < s->largest_count; i++) {
		const char *name = s->largest[i];
		size_t at = i;

		for (; at && began_s(s, s->largest[at - 1]) > began_s(s, name); at--)
			s->largest[at] = s->largest[at - 1];
		s->largest[at] = name;
	}
}

void sb_stages_choose_largest(struct sb_model *model)
{
	struct sb_stages_panel *s = &model->stages;
	const struct sb_stage **order = sb_model_alloc(model, (s->stage_count + 1) * sizeof(*order));

	s->largest = sb_model_alloc(model, LARGEST_MOST * sizeof *s->largest);
	if (!order || !s->largest)
		return;
	for (size_t i = 0; i < s->part_count; i++)
		add_name(s, s->parts[i].name);
	for (size_t i = 0; i < s->stage_count; i++)
		order[i] = &s->stages[i];
	if (s->stage_count)
		qsort(order, s->stage_count, sizeof(*order), by_self);
	for (size_t i = 0; i < s->stage_count; i++)
		add_name(s, order[i]->name);
	put_in_order(s);
}
