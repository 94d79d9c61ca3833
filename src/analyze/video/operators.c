/* Operators of a table of torch.profiler that an imported text has beside its stages. */
#include "analyze/analysis.h"

#include "base/error.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define OPERATORS_MOST 2000

struct operators {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_vec all; /* struct sb_operator */
	bool failed;
};

static void see_event(void *self, const struct sb_event *e)
{
	struct operators *o = self;
	const struct sb_run_attr *name = sb_attr_find(e->attrs, e->attr_count, "operator");
	double calls = sb_attr_number(e->attrs, e->attr_count, "calls");
	double self_s = sb_attr_number(e->attrs, e->attr_count, "self_s");
	double of_s = sb_attr_number(e->attrs, e->attr_count, "of_s");
	struct sb_operator *to;

	if (strcmp(o->run->names[e->name].text, SB_EVENT_OPERATOR) || !name ||
		name->type != STROBE_TYPE_STRING || !name->s || !(self_s >= 0) ||
		!(calls >= 1 && calls < 1e15) || o->all.count == OPERATORS_MOST)
		return;
	to = sb_vec_push(&o->all, sizeof *to);
	if (!to) {
		o->failed = true;
		return;
	}
	*to = (struct sb_operator){ .name = sb_model_text(o->model, name->s),
		.calls = (int64_t)calls,
		.self_s = self_s,
		.total_s = sb_attr_number(e->attrs, e->attr_count, "total_s"),
		.gpu_s = sb_attr_number(e->attrs, e->attr_count, "gpu_s"),
		.ratio = of_s > 0 && self_s <= of_s ? self_s / of_s : NAN };
	o->failed |= !to->name;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct operators *o;

	if (!sb_run_meta_find(run, SB_META_RUN, SB_RUN_IMPORTED_FROM))
		return 0;
	o = calloc(1, sizeof *o);
	if (!o)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse operators");
	o->run = run;
	o->model = model;
	v->self = o;
	v->kinds = 1u << SB_EVENT_EVENT;
	v->event = see_event;
	return 0;
}

static int most_first(const void *a, const void *b)
{
	double x = ((const struct sb_operator *)a)->self_s, y = ((const struct sb_operator *)b)->self_s;

	return x > y ? -1 : x < y;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct operators *o = self;
	struct sb_model_panel *panel = &model->models;

	(void)run;
	if (!o || !o->all.count)
		return 0;
	panel->operators = o->failed ? NULL : sb_model_alloc(model, o->all.count * sizeof *panel->operators);
	if (!panel->operators)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse operators");
	memcpy(panel->operators, o->all.items, o->all.count * sizeof *panel->operators);
	panel->operator_count = o->all.count;
	panel->present = true;
	qsort(panel->operators, panel->operator_count, sizeof *panel->operators, most_first);
	return 0;
}

static void done(void *self)
{
	struct operators *o = self;

	if (!o)
		return;
	sb_vec_done(&o->all);
	free(o);
}

extern const struct sb_analysis sb_analysis_operators;
const struct sb_analysis sb_analysis_operators = {
	.name = "operators",
	.begin = begin,
	.finish = finish,
	.done = done,
};
