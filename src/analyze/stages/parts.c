/* Where the wall time goes, in a few parts and what they overlap: the picture at the
 * top of the page. */
#include "analyze/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 7, OPENED_MOST = 4 };
#define WIDE 0.5 /* of the wall time: a stage that says nothing as one part */
#define WORTH_SHOWING 0.01
#define NOISE 1e-5 /* what bins may be off */
#define LEAST_S 1e-9 /* the last bits of a sum are no time */

struct parts {
	const struct sb_stages_panel *stages;
	struct sb_time_part *all;
	size_t count;
	struct sb_time_part startup; /* part_s 0: none */
};

static bool counts(const struct sb_stage *s)
{
	return s->state != SB_STAGE_SKIPPED && s->state != SB_STAGE_UNTIMED && !s->other_thread;
}

/* Adds what is directly inside a stage (-1: the top level); how long that is in all. */
static double add_inside(struct parts *p, int64_t parent)
{
	double sum_s = 0;

	for (size_t i = 0; i < p->stages->stage_count; i++) {
		const struct sb_stage *s = &p->stages->stages[i];

		if (s->parent != parent || !counts(s))
			continue;
		p->all[p->count++] = (struct sb_time_part){ s->name, SB_TIME_STAGE, (int64_t)i, 0,
			sb_stage_real_s(s), 0 };
		sum_s += sb_stage_real_s(s);
	}
	return sum_s;
}

static size_t large_inside(const struct sb_stages_panel *stages, int64_t parent)
{
	size_t count = 0;

	for (size_t i = 0; i < stages->stage_count; i++) {
		const struct sb_stage *s = &stages->stages[i];

		count += s->parent == parent && counts(s) &&
			 sb_stage_real_s(s) > stages->wall_s * WORTH_SHOWING;
	}
	return count;
}

/* A generation is opened whatever it holds: its name says nothing about where its time goes. */
static bool opens(const struct parts *p, const struct sb_time_part *part)
{
	size_t least = p->stages->stages[part->stage].role == STROBE_ROLE_GENERATION ? 1 : 2;

	return part->part_s > (p->stages->wall_s - p->startup.part_s) * WIDE &&
	       large_inside(p->stages, part->stage) >= least;
}

/* One stage that wraps nearly everything is opened: what is inside, and its own work between. */
static bool open_widest(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct sb_time_part *part = &p->all[i];

		if (part->kind != SB_TIME_STAGE || !opens(p, part))
			continue;
		part->kind = SB_TIME_ITSELF;
		part->part_s -= add_inside(p, part->stage);
		if (part->part_s < 0)
			part->part_s = 0;
		return true;
	}
	return false;
}

static int largest_first(const void *a, const void *b)
{
	const struct sb_time_part *x = a, *y = b;

	if (x->part_s != y->part_s)
		return x->part_s > y->part_s ? -1 : 1;
	return x->stage < y->stage ? -1 : x->stage > y->stage;
}

/* The smallest become one part; those without time go. */
static void keep_largest(struct parts *p)
{
	struct sb_time_part rest = { NULL, SB_TIME_SMALLER, -1, 0, 0, 0 };

	qsort(p->all, p->count, sizeof *p->all, largest_first);
	while (p->count && p->all[p->count - 1].part_s <= 0)
		p->count--;
	while (p->count > PARTS_MOST) {
		rest.part_s += p->all[--p->count].part_s;
		rest.stage_count++;
	}
	if (rest.stage_count)
		p->all[p->count++] = rest;
}

/* All before the pipeline began is one part. */
static void fold_startup(struct parts *p)
{
	struct sb_time_part one = { NULL, SB_TIME_STARTUP, -1, 0, p->stages->startup_unattributed_s, 0 };
	size_t kept = 0;

	if (isnan(p->stages->startup_end_s))
		return;
	for (size_t i = 0; i < p->count; i++) {
		const struct sb_stage *s = &p->stages->stages[p->all[i].stage];
		double before_s = s->startup ? p->all[i].part_s : fmin(s->startup_s, p->all[i].part_s);

		one.part_s += before_s;
		one.stage_count += s->startup;
		p->all[i].part_s -= before_s;
		if (!s->startup)
			p->all[kept++] = p->all[i];
	}
	p->count = kept;
	p->startup = one;
}

/* After the start-up, which has its own. */
static double unattributed_s(const struct parts *p)
{
	double startup_s = p->stages->startup_unattributed_s;

	return p->stages->unattributed_s - (startup_s > 0 ? startup_s : 0);
}

/* What neither the main thread's stages nor nothing covers. */
static void add_elsewhere(struct parts *p)
{
	double rest_s = p->stages->wall_s - unattributed_s(p) - p->startup.part_s;

	for (size_t i = 0; i < p->count; i++)
		rest_s -= p->all[i].part_s;
	if (rest_s > p->stages->wall_s * NOISE)
		p->all[p->count++] = (struct sb_time_part){ NULL, SB_TIME_ELSEWHERE, -1, 0, rest_s, 0 };
}

static void put_first(struct parts *p, struct sb_time_part part)
{
	if (!(part.part_s > 0))
		return;
	memmove(p->all + 1, p->all, p->count * sizeof *p->all);
	p->all[0] = part;
	p->count++;
}

/* Of the wall time: a part of several stages that ran beside each other is no more than that. What the parts
 * add up to beyond it ran at the same time as others of them. */
static double take_ratios(struct parts *p)
{
	double wall_s = p->stages->wall_s, sum_s = 0;

	for (size_t i = 0; i < p->count; i++) {
		p->all[i].part_s = fmin(p->all[i].part_s, wall_s);
		p->all[i].ratio = wall_s > 0 ? p->all[i].part_s / wall_s : 0;
		sum_s += p->all[i].part_s;
	}
	return sum_s - wall_s > wall_s * NOISE ? sum_s - wall_s : 0;
}

void sb_stages_part(struct sb_model *model)
{
	struct sb_stages_panel *s = &model->stages;
	struct parts p = { .stages = s, .all = sb_model_alloc(model, (s->stage_count + 4) * sizeof *p.all) };
	double nothing_s;

	if (!p.all || !s->stage_count)
		return;
	add_inside(&p, -1);
	fold_startup(&p);
	for (int opened = 0; opened < OPENED_MOST && open_widest(&p);)
		opened++;
	keep_largest(&p);
	add_elsewhere(&p);
	nothing_s = unattributed_s(&p);
	if (nothing_s >= LEAST_S)
		p.all[p.count++] = (struct sb_time_part){ NULL, SB_TIME_UNATTRIBUTED, -1, 0, nothing_s, 0 };
	put_first(&p, p.startup);
	s->parts_overlap_s = take_ratios(&p);
	s->parts = p.all;
	s->part_count = p.count;
}
