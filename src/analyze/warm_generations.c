/* Looks for cold generations and steps before the zones of a run are added up: zones come as they end, so that what a call is
 * inside of is not known then. */
#include "analyze/warm_generations.h"

#include "analyze/model.h"
#include "analyze/warm_calls.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE_MOST 64 /* generations that may run at the same time and whose calls are still those of one */

struct track_steps { /* since its last generation */
	int64_t count;
	struct sb_warm_span first;
};

struct finding {
	struct sb_warm_calls calls;
	struct sb_vec all, cold_steps, served_steps; /* struct sb_warm_span */
	struct sb_vec tracks; /* struct track_steps */
	uint32_t process; /* of the last step, and 1 */
	bool no_memory;
};

static struct track_steps *steps_of(struct finding *f, uint32_t track)
{
	while (f->tracks.count <= track)
		if (!sb_vec_push(&f->tracks, sizeof(struct track_steps))) {
			f->no_memory = true;
			return NULL;
		}
	return (struct track_steps *)f->tracks.items + track;
}

static void add(struct finding *f, struct sb_vec *to, struct sb_warm_span span)
{
	struct sb_warm_span *n = sb_vec_push(to, sizeof *n);

	if (n)
		*n = span;
	else
		f->no_memory = true;
}

/* A step comes after those inside it: such a one is not another step. */
static void see_step(struct finding *f, struct sb_warm_span span)
{
	struct track_steps *t = steps_of(f, span.track);

	if (!span.warm)
		add(f, &f->cold_steps, span);
	if (!t)
		return;
	if (!t->count || span.begin_ns <= t->first.begin_ns) {
		t->first = span;
		t->count = 1;
	} else {
		t->count++;
	}
}

static void see_generation(struct finding *f, struct sb_warm_span span)
{
	struct track_steps *t = steps_of(f, span.track);

	add(f, &f->all, span);
	if (!t)
		return;
	if (t->count > 1 && t->first.begin_ns >= span.begin_ns)
		add(f, &f->cold_steps, t->first);
	t->count = 0;
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct finding *f = self;
	enum sb_call_kind kind = SB_CALL_COLD;
	struct sb_warm_span span = { z->process, z->track, z->begin_ns, z->end_ns, false };

	if (!sb_warm_calls_counts(z) || f->no_memory)
		return;
	if (!sb_warm_calls_kind(&f->calls, z, &kind)) {
		f->no_memory = true;
		return;
	}
	if (z->role == STROBE_ROLE_STEP) {
		span.warm = kind != SB_CALL_COLD && f->process == z->process + 1;
		f->process = z->process + 1;
		see_step(f, span);
		if (sb_attr_number(z->attrs, z->attr_count, "cached") > 0 ||
			sb_attr_number(z->attrs, z->attr_count, "partly_cached") > 0)
			add(f, &f->served_steps, span);
	} else {
		span.warm = kind == SB_CALL_WARM;
		see_generation(f, span);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_warm_span *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/* Where none of a process is warm, the calls inside them are judged by themselves. */
static void warm_where_none_is(struct sb_warm_span *all, size_t count)
{
	for (size_t i = 0, end; i < count; i = end) {
		bool any = false;

		for (end = i; end < count && all[end].process == all[i].process; end++)
			any = any || all[end].warm;
		for (size_t k = i; k < end && !any; k++)
			all[k].warm = true;
	}
}

static int keep(struct sb_model *model, struct sb_vec *from, struct sb_warm_span **out, size_t *out_count)
{
	if (from->count)
		qsort(from->items, from->count, sizeof **out, by_begin);
	*out = sb_model_alloc(model, (from->count + 1) * sizeof **out);
	if (!*out)
		return sb_fail(STROBE_ENOMEM, "no memory for the calls of stages");
	if (from->count)
		memcpy(*out, from->items, from->count * sizeof **out);
	*out_count = from->count;
	return 0;
}

int sb_warm_generations_find(struct sb_run *run, struct sb_model *model)
{
	struct sb_warm_generations *g = &model->warm_generations;
	struct finding f = { 0 };
	struct sb_visitor v = {
		.self = &f, .roles = 1u << STROBE_ROLE_GENERATION | 1u << STROBE_ROLE_STEP, .zone = see_zone
	};
	int err;

	if (g->found)
		return 0;
	err = sb_warm_calls_init_alone(&f.calls, run);
	if (!err)
		err = sb_run_visit(run, &v, 1);
	if (!err && f.no_memory)
		err = sb_fail(STROBE_ENOMEM, "no memory for the calls of stages");
	if (!err)
		err = keep(model, &f.all, &g->all, &g->count);
	if (!err)
		err = keep(model, &f.cold_steps, &g->cold_steps, &g->cold_step_count);
	if (!err)
		err = keep(model, &f.served_steps, &g->served_steps, &g->served_step_count);
	if (!err)
		warm_where_none_is(g->all, g->count);
	g->found = !err;
	sb_warm_calls_done(&f.calls);
	sb_vec_done(&f.all);
	sb_vec_done(&f.cold_steps);
	sb_vec_done(&f.served_steps);
	sb_vec_done(&f.tracks);
	return err;
}

/* The one around the zone: of several at the same time that of its track, else a warm one. NULL: none. */
static const struct sb_warm_span *around(
	const struct sb_warm_span *all, size_t count, const struct sb_zone *z)
{
	const struct sb_warm_span *found = NULL;
	size_t low = 0, high = count;

	while (low < high) { /* the first that begins after it */
		size_t middle = low + (high - low) / 2;

		if (all[middle].process < z->process ||
			(all[middle].process == z->process && all[middle].begin_ns <= z->begin_ns))
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < AT_ONCE_MOST && low && all[low - 1].process == z->process; i++) {
		const struct sb_warm_span *s = &all[--low];

		if (s->end_ns < z->end_ns)
			continue;
		if (s->track == z->track)
			return s;
		found = found && (found->warm || !s->warm) ? found : s;
	}
	return found;
}

bool sb_warm_generations_cold(const struct sb_warm_generations *g, const struct sb_zone *z)
{
	const struct sb_warm_span *in, *step;

	if (z->role == STROBE_ROLE_GENERATION)
		return false;
	in = around(g->all, g->count, z);
	step = around(g->cold_steps, g->cold_step_count, z);
	return (in && !in->warm) || (step && step->track == z->track);
}

bool sb_warm_generations_served(const struct sb_warm_generations *g, const struct sb_zone *z)
{
	const struct sb_warm_span *step = around(g->served_steps, g->served_step_count, z);

	return step && step->track == z->track;
}
