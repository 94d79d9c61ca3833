/* own_memory: what strobe's own counting at the end took is no peak of the program's. The process tells how high its memory had
 * been when the counting began, and how high when it was done. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/memory_units.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define END_RATIO 1.01 /* what the interpreter's own end may add */

struct own {
	struct sb_run *run;
	double before_bytes, after_bytes; /* the largest process's */
	double own_bytes; /* by how much all countings together made it higher */
	double begin_s; /* of the first counting */
};

static double attr(const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	if (a && a->type == STROBE_TYPE_FLOAT)
		return a->f;
	return a && a->type == STROBE_TYPE_INT ? (double)a->i : NAN;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct own *o = self;
	double own_bytes = attr(e, "after_bytes") - attr(e, "before_bytes");

	if (strcmp(o->run->names[e->name].text, SB_EVENT_OWN_MEMORY) != 0)
		return;
	o->before_bytes = fmax(o->before_bytes, attr(e, "before_bytes"));
	o->after_bytes = fmax(o->after_bytes, attr(e, "after_bytes"));
	o->own_bytes += own_bytes > 0 ? own_bytes : 0;
	o->begin_s = fmin(o->begin_s, (double)e->t_ns / 1e9 - attr(e, "duration_s"));
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct own *o = calloc(1, sizeof *o);

	(void)model;
	if (!o)
		return sb_fail(STROBE_ENOMEM, "no memory for strobe's own share of '%s'", run->path);
	*o = (struct own){ run, NAN, NAN, 0, NAN };
	v->self = o;
	v->kinds = 1u << SB_EVENT_EVENT;
	v->event = see_event;
	return 0;
}

/* The processes' together, sampled before the first counting; NAN: no sample is. */
static double sampled_before(const struct sb_model *model, double t_s)
{
	const struct sb_series *s = sb_model_series(model, "process", -2);
	const struct sb_series_column *rss = s ? sb_series_column_find(s, "rss_mb") : NULL;
	double most = NAN;

	for (size_t i = 0; rss && i < s->count && s->t_s[i] < t_s; i++)
		most = fmax(most, rss->values[i] * SB_MB);
	return most;
}

static void lower(double *peak, double to)
{
	if (*peak > to)
		*peak = to;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct own *o = self;
	double sampled;

	(void)run;
	if (isnan(o->before_bytes) || isnan(o->after_bytes) || isnan(o->begin_s))
		return 0;
	if (model->session.peak_rss_bytes <= o->after_bytes * END_RATIO)
		lower(&model->session.peak_rss_bytes, o->before_bytes);
	/* Other processes may run on, and need more than all did before: no more is taken off than was counted with. */
	sampled = fmax(sampled_before(model, o->begin_s), o->before_bytes);
	sampled = fmax(sampled, model->memory.rss_peak_bytes - o->own_bytes);
	lower(&model->memory.rss_peak_bytes, sampled);
	lower(&model->cpu.rss_mb.max, sampled / SB_MB);
	return 0;
}

const struct sb_analysis sb_analysis_own_memory = {
	.name = "own_memory",
	.begin = begin,
	.finish = finish,
	.done = free,
};
