/* garbage_collection: totals from counters, the long ones from events. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

struct garbage {
	struct sb_run *run;
	double count, total_ns, objects;
	struct sb_collection *all;
	size_t used, room;
	bool no_memory;
};

static void add_counter(struct garbage *g, const char *name, double delta)
{
	if (!strcmp(name, "strobe.gc_count"))
		g->count += delta;
	else if (!strcmp(name, "strobe.gc_ns"))
		g->total_ns += delta;
	else if (!strcmp(name, "strobe.gc_objects"))
		g->objects += delta;
}

static void add_collection(struct garbage *g, const struct sb_event *e)
{
	double duration_s = sb_attr_number(e->attrs, e->attr_count, "duration_s");

	if (!(duration_s >= 0))
		return; /* a program's own event of that name */
	if (!SB_MAKE_ROOM(g->all, g->used, g->room)) {
		g->no_memory = true;
		return;
	}
	g->all[g->used++] = (struct sb_collection){ .end_s = (double)e->t_ns / 1e9,
		.duration_s = duration_s,
		.generation = (int64_t)fmax(0, sb_attr_number(e->attrs, e->attr_count, "generation")),
		.object_count = (int64_t)fmax(0, sb_attr_number(e->attrs, e->attr_count, "collected")) };
}

static void see_event(void *self, const struct sb_event *e)
{
	struct garbage *g = self;
	const char *name = g->run->names[e->name].text;

	if (e->kind == SB_EVENT_EVENT && !strcmp(name, "garbage collection"))
		add_collection(g, e);
	else if (e->kind == SB_EVENT_COUNT)
		add_counter(g, name, (double)e->delta);
	else if (e->kind == SB_EVENT_DIGEST_SUM && !e->path && e->digest_sum.what == SB_SUM_COUNT)
		add_counter(g, name, (double)e->digest_sum.sum_int);
}

static int longest_first(const void *a, const void *b)
{
	const struct sb_collection *x = a, *y = b;

	return x->duration_s > y->duration_s ? -1 : x->duration_s < y->duration_s;
}

/* The first generation around a moment; SIZE_MAX: none. */
static size_t generation_at(const struct sb_model *m, double t_s)
{
	for (size_t i = 0; i < m->generations.listed; i++)
		if (m->generations.all[i].begin_s <= t_s && t_s <= m->generations.all[i].end_s)
			return i;
	return SIZE_MAX;
}

static bool is_warm(const struct sb_model *m, double t_s, size_t generation)
{
	if (!m->generations.whole_run)
		return generation != SIZE_MAX && (generation > 0 || m->generations.count < SB_WARM_LEAST);
	return !isfinite(m->stages.startup_end_s) ||
	       (t_s >= m->stages.startup_end_s && t_s <= m->stages.work_end_s);
}

static void add_up(struct sb_garbage_panel *to, const struct sb_model *m, const struct sb_collection *c)
{
	size_t generation = generation_at(m, c->end_s);

	to->generations_s += generation != SIZE_MAX ? c->duration_s : 0;
	if (c->duration_s > 0 && is_warm(m, c->end_s, generation)) {
		to->warm_s += c->duration_s;
		to->warm_count++;
	}
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct garbage *g = calloc(1, sizeof *g);

	(void)model;
	if (!g)
		return sb_fail(STROBE_ENOMEM, "no memory for the collections of '%s'", run->path);
	g->run = run;
	v->self = g;
	v->kinds = 1u << SB_EVENT_EVENT | 1u << SB_EVENT_COUNT | 1u << SB_EVENT_DIGEST_SUM;
	v->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_garbage_panel *to = &model->garbage;
	struct garbage *g = self;

	if (g->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the collections of '%s'", run->path);
	for (size_t i = 0; i < g->used; i++)
		add_up(to, model, &g->all[i]);
	if (g->used)
		qsort(g->all, g->used, sizeof *g->all, longest_first);
	to->long_count = (int64_t)g->used;
	to->count = (int64_t)fmax(g->count, (double)g->used);
	to->total_s = g->total_ns / 1e9;
	to->object_count = (int64_t)g->objects;
	to->longest = sb_model_alloc(model, SB_COLLECTIONS_MAX * sizeof *to->longest);
	while (to->longest && to->longest_count < g->used && to->longest_count < SB_COLLECTIONS_MAX) {
		to->longest[to->longest_count] = g->all[to->longest_count];
		to->longest_count++;
	}
	return 0;
}

static void done(void *self)
{
	struct garbage *g = self;

	if (!g)
		return;
	free(g->all);
	free(g);
}

const struct sb_analysis sb_analysis_garbage = {
	.name = "garbage",
	.begin = begin,
	.finish = finish,
	.done = done,
};
