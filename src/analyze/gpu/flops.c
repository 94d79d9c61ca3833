/* flops: operations of model calls, given to the zones they were made in. A zone says which shape its model was called
 * with; what a shape takes is recorded once, when the session ends. */
#include "analyze/warm_calls.h"
#include "analyze/analysis.h"

#include "base/error.h"
#include "base/map.h"
#include "base/role.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shape {
	uint32_t process;
	int64_t number;
	double flops; /* NAN: not counted */
	const char *why, *precision; /* the model's memory */
	bool on_cpu;
};

#define FLOPS_MOST 1e30 /* of a call; what is more is a damaged file's */
#define SHAPES_MOST 1e9 /* the recorder numbers them from 1 on */
#define SERVED "a cache served their steps, and what such a step still computes is not known"
#define NO_SHAPE "the shapes they were called with were not recorded"
#define OTHER_METHOD "only calls of models and of diffusers' VAEs (decode and encode) are counted"

struct called { /* a path's calls with one shape */
	uint32_t path, process;
	int64_t shape; /* 0: a VAE's, of which only models that it calls have one */
	bool served; /* their steps were, by a cache */
	int64_t count;
};

struct flops {
	const struct sb_run *run;
	struct sb_model *model;
	struct sb_vec shapes; /* struct shape */
	struct sb_vec calls; /* struct called */
	struct sb_map call_of; /* of a hash of path, process and shape */
	struct sb_map vae_paths; /* path -> 1: its zones are calls of a VAE, 0: not */
	struct sb_map shape_at; /* process << 32 | number -> index of shapes */
	struct sb_warm_calls warm;
	struct sb_call_flops *by_path;
	uint32_t path_room;
	int err;
};

static const char *text_of(struct flops *f, const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_STRING ? sb_model_text(f->model, a->s) : NULL;
}

static bool is_on_cpu(const struct sb_event *e)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, "device");

	return a && a->type == STROBE_TYPE_STRING && !strcmp(a->s, "cpu");
}

static void take_event(void *self, const struct sb_event *e)
{
	struct flops *f = self;
	double number = sb_attr_number(e->attrs, e->attr_count, "shape"),
	       flops = sb_attr_number(e->attrs, e->attr_count, "flops");
	struct shape *s;

	if (f->err || !(number >= 1 && number < SHAPES_MOST) ||
		strcmp(f->run->names[e->name].text, SB_EVENT_FLOPS) != 0)
		return;
	s = sb_vec_push(&f->shapes, sizeof *s);
	if (!s || !sb_map_put(&f->shape_at, (uint64_t)e->process << 32 | (uint64_t)number,
			  (uint32_t)f->shapes.count - 1)) {
		f->err = sb_fail(STROBE_ENOMEM, "no memory for operation counts");
		return;
	}
	*s = (struct shape){ e->process, (int64_t)number, flops <= FLOPS_MOST ? flops : NAN,
		text_of(f, e, "why"), text_of(f, e, "precision"), is_on_cpu(e) };
}

static bool is_a_vae(enum strobe_role work)
{
	return work == STROBE_ROLE_VAE_DECODE || work == STROBE_ROLE_VAE_ENCODE;
}

static bool is_of_vae(struct flops *f, const struct sb_zone *z)
{
	uint32_t known;

	if (sb_map_get(&f->vae_paths, z->path, &known))
		return known;
	known = is_a_vae(sb_role_work(f->run->names[z->name].text, z->role));
	if (!sb_map_put(&f->vae_paths, z->path, known))
		f->err = sb_fail(STROBE_ENOMEM, "no memory for operation counts");
	return known;
}

/* What a shape takes is known before the zones. */
static const struct shape *shape_of(struct flops *f, uint32_t process, double number)
{
	uint32_t index;

	if (!(number >= 1 && number < SHAPES_MOST) ||
		!sb_map_get(&f->shape_at, (uint64_t)process << 32 | (uint64_t)number, &index))
		return NULL;
	return (const struct shape *)f->shapes.items + index;
}

static bool has_room(struct flops *f, uint32_t path)
{
	if (path >= f->path_room) {
		uint32_t room = path * 2 + 64;
		struct sb_call_flops *more = realloc(f->by_path, room * sizeof *more);

		if (!more)
			return false;
		memset(more + f->path_room, 0, (room - f->path_room) * sizeof *more);
		f->by_path = more;
		f->path_room = room;
	}
	return true;
}

/* Its step was, by a cache: the number is of a call that computes everything. */
static bool is_served(const struct flops *f, const struct sb_zone *z)
{
	return sb_warm_generations_served(f->warm.generations, z);
}

/* The call that ends, with what it called, is one of the warm ones or of the others. */
static bool end_call(struct flops *f, const struct sb_zone *z, double number)
{
	bool served = number >= 1 && is_served(f, z);
	const struct shape *shape = z->flags & SB_ZONE_OPEN || served ? NULL
								      : shape_of(f, z->process, number);
	enum sb_call_kind kind = SB_CALL_COLD;
	struct sb_call_flops *p, *parent;

	if (z->flags & SB_ZONE_SPAN)
		return true;
	if (!has_room(f, z->path))
		return false;
	p = &f->by_path[z->path];
	p->open += shape && shape->flops >= 0 ? shape->flops : 0;
	p->cpu_open += shape && shape->on_cpu && shape->flops >= 0 ? shape->flops : 0;
	p->cached_open += served;
	p->unnumbered_count += isnan(number);
	if (z->flags & SB_ZONE_RECURSIVE)
		return true;
	if (sb_warm_calls_counts(z) && !sb_warm_calls_kind(&f->warm, z, &kind))
		return false;
	p->of[kind] += p->open;
	p->cpu_of[kind] += p->cpu_open;
	p->cached_of[kind] += p->cached_open;
	parent = &f->by_path[sb_run_path(f->run, z->path)->parent];
	parent->open += p->open;
	parent->cpu_open += p->cpu_open;
	parent->cached_open += p->cached_open;
	p->open = p->cpu_open = 0;
	p->cached_open = 0;
	return true;
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct flops *f = self;
	double number = z->attr_count ? sb_attr_number(z->attrs, z->attr_count, "flops_shape") : NAN;
	bool method = isnan(number) && is_of_vae(f, z), served = number >= 1 && is_served(f, z);
	struct called *c;
	uint64_t key;
	uint32_t index;

	if (!f->err && !end_call(f, z, number))
		f->err = sb_fail(STROBE_ENOMEM, "no memory for operation counts");
	if (method)
		number = 0;
	if (f->err || !(method || (number >= 1 && number < SHAPES_MOST)) || z->flags & SB_ZONE_OPEN)
		return;
	key = sb_hash64((uint64_t)z->path << 32 | z->process) ^ ((uint64_t)number << 1 | served);
	if (sb_map_get(&f->call_of, key, &index)) {
		((struct called *)f->calls.items)[index].count++;
		return;
	}
	index = (uint32_t)f->calls.count;
	c = sb_vec_push(&f->calls, sizeof *c);
	if (!c || !sb_map_put(&f->call_of, key, index)) {
		f->err = sb_fail(STROBE_ENOMEM, "no memory for operation counts");
		return;
	}
	*c = (struct called){ z->path, z->process, (int64_t)number, served, 1 };
}

/* ---- the analysis ---- */

static void free_flops(void *self)
{
	struct flops *f = self;

	if (!f)
		return;
	sb_vec_done(&f->shapes);
	sb_vec_done(&f->calls);
	sb_map_done(&f->call_of);
	sb_map_done(&f->vae_paths);
	sb_map_done(&f->shape_at);
	sb_warm_calls_done(&f->warm);
	free(f->by_path);
	free(f);
}

static bool has_counts(const struct sb_run *run)
{
	for (uint32_t i = 0; i < run->name_count; i++)
		if (!strcmp(run->names[i].text, SB_EVENT_FLOPS))
			return true;
	return false;
}

/* They are said when the session ends: a part of the run does not have them. */
static int read_shapes_of_all(struct flops *f, struct sb_run *run)
{
	struct sb_visitor v = { .self = f, .kinds = 1u << SB_EVENT_EVENT, .event = take_event };
	int err;

	run->is_cut = false;
	err = sb_run_visit(run, &v, 1);
	run->is_cut = true;
	return err ? err : f->err;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct flops *f;
	int err;

	if (!has_counts(run))
		return 0;
	f = calloc(1, sizeof *f);
	err = f ? sb_warm_calls_init(&f->warm, run, model)
		: sb_fail(STROBE_ENOMEM, "no memory for operation counts");
	if (!err) {
		f->run = run;
		f->model = model;
		err = run->is_cut ? read_shapes_of_all(f, run) : 0;
	}
	if (err) {
		free_flops(f);
		return err;
	}
	*v = (struct sb_visitor){ .self = f,
		.kinds = run->is_cut ? 0 : 1u << SB_EVENT_EVENT,
		.roles = SB_EVERY_ZONE,
		.zone = take_zone,
		.event = take_event };
	return 0;
}

static void add(struct sb_flop_sums *to, const struct sb_flop_sums *from)
{
	to->flops += from->flops;
	to->cpu_flops += from->cpu_flops;
	to->uncounted_count += from->uncounted_count;
	to->cached_count += from->cached_count;
	to->why = to->why ? to->why : from->why;
	if (from->precision && (!to->precision || from->precision_flops > to->precision_flops)) {
		to->precision = from->precision;
		to->precision_flops = from->precision_flops;
	}
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct flops *f = self;
	struct sb_path_flops *p = &model->path_flops;
	uint32_t path_count = sb_run_path_count(run);
	struct of_path {
		int64_t method_count; /* calls of a VAE's other methods */
		bool numbered; /* some of its calls are of models whose shape is known */
	} * of_path;

	if (!f || f->err || !f->calls.count || !f->shapes.count)
		return f ? f->err : 0;
	p->all = sb_model_alloc(model, (path_count + 1) * sizeof *p->all);
	of_path = sb_model_alloc(model, (path_count + 1) * sizeof *of_path);
	if (!p->all || !of_path)
		return 0;
	p->calls = sb_model_alloc(model, (path_count + 1) * sizeof *p->calls);
	if (!p->calls)
		return 0;
	for (uint32_t i = 0; i < path_count && i < f->path_room; i++)
		p->calls[i] = f->by_path[i];
	p->path_count = path_count;
	for (size_t i = 0; i < f->calls.count; i++) {
		const struct called *c = (const struct called *)f->calls.items + i;
		const struct shape *s = shape_of(f, c->process, (double)c->shape);
		bool counted = s && s->flops >= 0 && !c->served;
		double flops = counted ? s->flops * (double)c->count : 0;

		if (!c->shape) {
			of_path[c->path].method_count += c->count;
			continue;
		}
		of_path[c->path].numbered = true;
		add(&p->all[c->path],
			&(struct sb_flop_sums){ flops, counted && s->on_cpu ? flops : 0,
				counted ? 0 : c->count, c->served ? c->count : 0,
				counted     ? NULL
				: c->served ? SERVED
				: s         ? (s->why ? s->why : "what they take is not known")
					    : "the session did not end in order",
				counted ? s->precision : NULL, counted && s->on_cpu ? 0 : flops });
	}
	for (uint32_t i = path_count; i-- > 1;) {
		if (of_path[i].numbered && p->calls[i].unnumbered_count)
			add(&p->all[i],
				&(struct sb_flop_sums){
					.uncounted_count = p->calls[i].unnumbered_count, .why = NO_SHAPE });
		if (of_path[i].method_count && !p->all[i].flops &&
			!p->all[i].uncounted_count) /* what is inside has been added */
			add(&p->all[i], &(struct sb_flop_sums){ .uncounted_count = of_path[i].method_count,
						.why = OTHER_METHOD });
		add(&p->all[sb_run_path(run, i)->parent], &p->all[i]);
	}
	return 0;
}

const struct sb_analysis sb_analysis_flops = { "flops", begin, finish, free_flops };
