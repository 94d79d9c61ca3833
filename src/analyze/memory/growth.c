/* growth: what each generation, step or call leaves behind, of a program without these each second; and whether that ever stops.
 *
 * Readings between the ends of two units become one low-water mark: what a unit takes and
 * gives back again does not count. The slope over these is Theil-Sen's, its significance
 * Mann-Kendall's. */
#include "analyze/analysis.h"
#include "analyze/memory/growth_points.h"
#include "run/open_stages.h"
#include "base/error.h"
#include "base/memory_units.h"
#include "base/role.h"
#include "format/run_keys.h"
#include "stats/statistics.h"
#include "stats/trend.h"

#include <stdlib.h>
#include <string.h>

#define READINGS_MOST 65536u
#define MARKS_MOST 200u
#define MARKS_LEAST 5u
#define P_MOST 0.02
#define LATE_LEAST 0.3 /* of the slope: what the second half must still have */
#define BYTES_LEAST (16 * SB_MB) /* over the whole run: less is noise of allocators */
#define LEAK_LEAST (64 * SB_MB) /* and this of what does not end */
#define EACH_LEAST (8 * SB_MB) /* or this with every generation */
#define LEVEL_LEAST 0.01 /* and of what was there */
#define FILES_LEAST 16
#define CALLS_LEAST 8
#define SECONDS_LEAST 6 /* after the imports, where there is no unit */
#define WHERE_LEAST 0.5 /* of the growth */

#define START_ROLES (1u << STROBE_ROLE_IMPORT | 1u << STROBE_ROLE_LOAD)

struct collected {
	struct sb_run *run;
	struct sb_growth_readings readings;
	int64_t started_ns; /* when the last module was imported, the last weights were loaded */
	struct sb_open_stages stages; /* and steps, iterations */
	bool named[2]; /* the line that keeps what a device, the host holds is known */
	bool failed;
};

/* ---- collecting ---- */

/* What holds the memory, as the program found it: "memory_grows", "memory_holder". */
static void see_holder(struct collected *c, const struct sb_event *e)
{
	const struct sb_run_attr *of = sb_attr_find(e->attrs, e->attr_count, "of"),
				 *line = sb_attr_find(e->attrs, e->attr_count, "line");

	if (of && of->type == STROBE_TYPE_STRING && line && line->type == STROBE_TYPE_INT && line->i > 0)
		c->named[strcmp(of->s, "host") == 0] = true;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct collected *c = self;
	struct sb_growth_reading *r;

	if (e->kind == SB_EVENT_EVENT) {
		if (strncmp(c->run->names[e->name].text, "memory_", 7) == 0)
			see_holder(c, e);
		return;
	}

	if (strncmp(c->run->names[e->name].text, SB_MEMORY_READING, strlen(SB_MEMORY_READING)) ||
		e->snapshot.allocated_bytes < 0 || c->readings.all.count == READINGS_MOST)
		return;
	r = sb_vec_push(&c->readings.all, sizeof *r);
	if (r)
		*r = (struct sb_growth_reading){ e->t_ns, e->process, e->name, e->snapshot.device,
			(double)e->snapshot.allocated_bytes };
	else
		c->failed = true;
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct collected *c = self;

	if (1u << z->role & START_ROLES)
		c->started_ns = z->end_ns > c->started_ns ? z->end_ns : c->started_ns;
	else
		sb_open_stages_add(&c->stages, z);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct collected *c = calloc(1, sizeof *c);

	(void)model;
	if (!c)
		return sb_fail(STROBE_ENOMEM, "no memory to look for growth");
	c->run = run;
	c->readings.run = run;
	v->self = c;
	v->kinds = 1u << SB_EVENT_SNAPSHOT | 1u << SB_EVENT_EVENT;
	v->roles = SB_STAGE_ROLES | 1u << STROBE_ROLE_STEP | 1u << STROBE_ROLE_ITERATION |
		   1u << STROBE_ROLE_BLOCK | START_ROLES;
	v->only_long = true; /* as open_stages.c keeps them */
	v->zone = see_zone;
	v->event = see_event;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct sb_growth_reading *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static const struct sb_growth_kind kinds[] = {
	{ "vram", SB_MEMORY_READING_DEVICE, "gpu", "process_memory_mb", NULL, SB_MB },
	{ "host", SB_MEMORY_READING_HOST, "process", "rss_mb", "file_mb", SB_MB },
	{ "pinned", SB_MEMORY_READING_PINNED, "process", "pinned_mb", NULL, SB_MB },
	{ "open_files", SB_MEMORY_READING_FILES, "process", "open_file_count", NULL, 1 },
};

#define KINDS (sizeof kinds / sizeof *kinds)

/* ---- units ---- */

struct units {
	const char *per, *stage;
	double *end_s;
	size_t count;
};

static bool units_of_generations(const struct sb_model *model, struct units *u)
{
	size_t count = model->generations.whole_run ? 0 : model->generations.count;

	*u = (struct units){ .per = "generation", .end_s = malloc((count + 1) * sizeof *u->end_s) };
	for (size_t i = 0; u->end_s && i < count; i++)
		u->end_s[u->count++] = model->generations.all[i].end_s;
	return u->end_s;
}

/* The ends of zones of a role, or of a name. */
static bool units_of_zones(
	struct collected *c, struct units *u, const char *per, uint32_t roles, uint32_t name, bool by_name)
{
	const struct sb_open_stage *all = c->stages.all.items;

	*u = (struct units){ .per = per, .end_s = malloc((c->stages.all.count + 1) * sizeof *u->end_s) };
	for (size_t i = 0; u->end_s && i < c->stages.all.count; i++)
		if (all[i].role < 32 && 1u << all[i].role & roles && (!by_name || all[i].name == name))
			u->end_s[u->count++] = (double)all[i].end_ns / 1e9;
	if (u->end_s && u->count)
		sb_stats_sort(u->end_s, u->count);
	return u->end_s;
}

/* The outermost stage that is called often; of several the one that takes longest. */
static bool often_called(struct collected *c, uint32_t *out_name)
{
	const struct sb_open_stage *all = c->stages.all.items;
	struct tally {
		int64_t count, total_ns;
		uint32_t depth;
	} *of = calloc(c->run->name_count + 1, sizeof *of), *best = NULL;

	for (size_t i = 0; of && i < c->stages.all.count; i++) {
		struct tally *t = &of[all[i].name];

		t->depth = !t->count || all[i].depth < t->depth ? all[i].depth : t->depth;
		t->count++;
		t->total_ns += all[i].end_ns - all[i].begin_ns;
	}
	for (uint32_t i = 0; of && i < c->run->name_count; i++)
		if (of[i].count >= CALLS_LEAST &&
			(!best || of[i].depth < best->depth ||
				(of[i].depth == best->depth && of[i].total_ns > best->total_ns))) {
			best = &of[i];
			*out_name = i;
		}
	free(of);
	return best;
}

/* ---- marks: the lowest reading after each unit ---- */

struct marks {
	double x[MARKS_MOST + 1], y[MARKS_MOST + 1];
	size_t count;
	double level; /* the first one's */
};

/* Units that are left out at the front: they load, compile and fill caches. */
static size_t warm_up(const struct units *u)
{
	if (strcmp(u->per, "generation") == 0)
		return u->count > 6 ? 2 : 1;
	return u->count > 20 ? u->count / 10 : 2;
}

static void marks_of(const struct sb_growth_points *p, const struct units *u, struct marks *m)
{
	size_t group = u->count / MARKS_MOST + 1, ended = 0, last = SIZE_MAX;

	m->count = 0;
	for (size_t i = 0; i < p->count; i++) {
		size_t bin;

		while (ended < u->count && u->end_s[ended] <= p->t_s[i])
			ended++;
		/* After the last unit the program takes itself down. */
		if (ended < warm_up(u) || (ended == u->count && m->count && p->value[i] < m->y[m->count - 1]))
			continue;
		bin = ended / group;
		if (bin == last) {
			m->y[m->count - 1] = fmin(m->y[m->count - 1], p->value[i]);
			continue;
		}
		if (m->count == MARKS_MOST)
			break;
		m->x[m->count] = (double)ended;
		m->y[m->count++] = p->value[i];
		last = bin;
	}
	m->level = m->count ? m->y[0] : NAN;
}

/* Over the whole run. */
static bool is_something(const struct marks *m, const struct sb_trend *t, const char *of, double units)
{
	double least = strcmp(of, "open_files") == 0 ? FILES_LEAST
						     : fmax(BYTES_LEAST, LEVEL_LEAST * m->level);

	return t->slope * units >= least;
}

/* A leak is as large as is certain: the low end of its interval. Memory that goes up and down, as weights that are moved do,
 * has a wide one. */
static bool is_leak(const struct sb_trend *t, const char *of, const struct units *u)
{
	return strcmp(of, "open_files") == 0 || t->low * (double)u->count >= LEAK_LEAST ||
	       (strcmp(u->per, "generation") == 0 && t->low >= EACH_LEAST);
}

static enum sb_growth_verdict judge(
	const struct marks *m, const struct sb_trend *t, const char *of, const struct units *u)
{
	size_t half = m->count / 2;
	struct sb_trend late;

	if (m->count < MARKS_LEAST || t->p > P_MOST || !(t->slope > 0) ||
		!is_something(m, t, of, (double)u->count))
		return SB_GROWTH_STEADY;
	if (sb_stats_trend(m->x + half, m->y + half, m->count - half, &late) != 0 ||
		!(late.slope >= LATE_LEAST * t->slope))
		return SB_GROWTH_SETTLES;
	return is_leak(t, of, u) ? SB_GROWTH_GROWS : SB_GROWTH_STEADY;
}

/* What a step leaves behind is not what comes between two generations: where one generation's marks are enough, the slope is the
 * middle one of the generations', and the interval holds theirs. */
static void within_generations(
	const struct sb_model *model, const struct units *u, struct marks *m, struct sb_trend *t)
{
	double slopes[MARKS_MOST], low = t->low, high = t->high;
	size_t count = 0, from = 0;

	for (size_t i = 0; i < model->generations.count && !model->generations.whole_run; i++) {
		size_t to = from;
		struct sb_trend one;

		while (to < m->count && u->end_s[(size_t)m->x[to] - 1] <= model->generations.all[i].end_s)
			to++;
		if (to - from >= MARKS_LEAST &&
			sb_stats_trend(m->x + from, m->y + from, to - from, &one) == 0) {
			slopes[count++] = one.slope;
			low = fmin(low, one.low);
			high = fmax(high, one.high);
		}
		from = to;
	}
	if (!count)
		return;
	sb_stats_sort(slopes, count);
	if (!(slopes[count / 2] > 0))
		return;
	t->slope = slopes[count / 2];
	t->low = low;
	t->high = high;
}

/* ---- where ---- */

/* Rises and falls between two readings, put down to the stage in their middle: where the line that keeps it is known, that says
 * more, and may run after the stage. */
static const char *where_of(struct collected *c, struct sb_model *model, const struct sb_growth_points *p,
	double from_s, double growth)
{
	int64_t *middle_ns = malloc((p->count + 1) * sizeof *middle_ns);
	const struct sb_open_stage **stage = malloc((p->count + 1) * sizeof *stage);
	double *net = calloc(c->run->name_count + 1, sizeof *net), most = 0;
	const char *name = NULL;

	for (size_t i = 1; middle_ns && i < p->count; i++)
		middle_ns[i] = (int64_t)((p->t_s[i - 1] + p->t_s[i]) / 2 * 1e9);
	if (middle_ns && stage && net && p->count > 1)
		sb_open_stages_at(&c->stages, middle_ns + 1, p->count - 1, stage + 1);
	for (size_t i = 1; middle_ns && stage && net && i < p->count; i++)
		if (stage[i] && p->t_s[i] > from_s)
			net[stage[i]->name] += p->value[i] - p->value[i - 1];
	for (uint32_t i = 0; net && i < c->run->name_count; i++)
		if (net[i] > most && net[i] >= WHERE_LEAST * growth) {
			most = net[i];
			name = c->run->names[i].text;
		}
	free(middle_ns);
	free(stage);
	free(net);
	return sb_model_text(model, name);
}

/* ---- rows ---- */

static int add_row(struct collected *c, struct sb_model *model, const struct units *u, const char *of,
	struct sb_growth_points *p)
{
	struct sb_growth *row = &model->memory.growth[model->memory.growth_count];
	struct marks *m = malloc(sizeof *m);
	struct sb_trend t;
	int err = m ? 0 : sb_fail(STROBE_ENOMEM, "no memory to look for growth");

	if (!err) {
		marks_of(p, u, m);
		err = sb_stats_trend(m->x, m->y, m->count, &t);
	}
	if (!err && m->count >= MARKS_LEAST) {
		enum sb_growth_verdict verdict = judge(m, &t, of, u);
		double growth = t.slope * (double)u->count;

		if (verdict == SB_GROWTH_GROWS && strcmp(u->per, "step") == 0)
			within_generations(model, u, m, &t);
		*row = (struct sb_growth){ of, u->per, u->stage, NULL, verdict, (int64_t)u->count,
			(int64_t)m->count, t.slope, t.low, t.high, t.p };
		if (row->verdict == SB_GROWTH_GROWS && strcmp(u->per, "generation") != 0 &&
			sb_growth_is_given_back(p, model))
			row->verdict = SB_GROWTH_RETURNED;
		if (row->verdict == SB_GROWTH_GROWS && !c->named[strcmp(of, "vram") != 0])
			row->where = where_of(c, model, p, u->end_s[warm_up(u) - 1], growth);
		model->memory.growth_count++;
	}
	free(m);
	return err;
}

static int look_at(struct collected *c, struct sb_model *model, const struct units *u)
{
	int err = 0;

	for (size_t i = 0; !err && u->count >= MARKS_LEAST && i < KINDS; i++) {
		struct sb_growth_points p;

		err = sb_growth_points_of(&c->readings, model, &kinds[i], &p)
			      ? add_row(c, model, u, kinds[i].of, &p)
			      : sb_fail(STROBE_ENOMEM, "no memory to look for growth");
		sb_growth_points_done(&p);
	}
	return err;
}

static int look_at_calls(struct collected *c, struct sb_model *model)
{
	struct units u = { 0 };
	uint32_t name;
	int err = 0;

	if (!often_called(c, &name))
		return 0;
	if (!units_of_zones(c, &u, "call", ~0u, name, true))
		return sb_fail(STROBE_ENOMEM, "no memory to look for growth");
	u.stage = sb_model_text(model, c->run->names[name].text);
	err = look_at(c, model, &u);
	free(u.end_s);
	return err;
}

/* Seconds of the run after its start-up: for a program whose work has no name. */
static int look_at_time(struct collected *c, struct sb_model *model)
{
	double from_s = (double)c->started_ns / 1e9, wall_s = (double)c->run->to_ns / 1e9 - from_s;
	struct units u = { .per = "second" };
	int err;

	if (!(wall_s >= SECONDS_LEAST))
		return 0;
	u.end_s = malloc((size_t)wall_s * sizeof *u.end_s);
	if (!u.end_s)
		return sb_fail(STROBE_ENOMEM, "no memory to look for growth");
	while (u.count < (size_t)wall_s) {
		u.end_s[u.count] = from_s + (double)(u.count + 1);
		u.count++;
	}
	err = look_at(c, model, &u);
	free(u.end_s);
	return err;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct collected *c = self;
	struct units generations = { 0 }, steps = { 0 };
	int err = 0;

	(void)run;
	model->memory.growth = sb_model_alloc(model, SB_GROWTH_UNITS * KINDS * sizeof *model->memory.growth);
	if (c->failed || c->stages.failed || !model->memory.growth ||
		!units_of_generations(model, &generations) ||
		!units_of_zones(c, &steps, "step", 1u << STROBE_ROLE_STEP, 0, false))
		err = sb_fail(STROBE_ENOMEM, "no memory to look for growth");
	if (!err && c->readings.all.count)
		qsort(c->readings.all.items, c->readings.all.count, sizeof(struct sb_growth_reading),
			by_time);
	if (!err)
		err = look_at(c, model, &generations);
	if (!err)
		err = look_at(c, model, &steps);
	if (!err && generations.count < MARKS_LEAST && steps.count < MARKS_LEAST)
		err = look_at_calls(c, model);
	if (!err && !model->memory.growth_count)
		err = look_at_time(c, model);
	free(generations.end_s);
	free(steps.end_s);
	return err;
}

static void done(void *self)
{
	struct collected *c = self;

	if (!c)
		return;
	sb_vec_done(&c->readings.all);
	sb_open_stages_done(&c->stages);
	free(c);
}

const struct sb_analysis sb_analysis_growth = {
	.name = "growth",
	.begin = begin,
	.finish = finish,
	.done = done,
};
