/* Adding ranks up. What follows from all of them is in aggregate_finish.c, who is late in straggler.c. */
#include "compare/aggregate.h"

#include "base/error.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGES_MAX 4096

struct sb_map_of_stages {
	struct sb_map by_key;
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

struct sb_aggregate *sb_aggregate_new(void)
{
	struct sb_aggregate *a = calloc(1, sizeof *a);

	if (a)
		a->index = calloc(1, sizeof *a->index);
	if (!a || !a->index) {
		free(a);
		no_memory();
		return NULL;
	}
	a->world_size = a->pairs_of = -1;
	return a;
}

void sb_aggregate_rank_done(struct sb_aggregate_rank *r)
{
	free(r->label);
	free(r->host);
	free(r->id);
	free(r->job);
	free(r->name);
	free(r->damage);
	free(r->slow_stage);
	free(r->collectives);
	free(r->stage_lane.names);
	free(r->stage_lane.bins);
}

void sb_aggregate_stage_done(struct sb_aggregate_stage *s)
{
	sb_histogram_done(&s->calls);
	free(s->totals);
	free(s->selves);
}

void sb_aggregate_free(struct sb_aggregate *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->rank_count; i++)
		sb_aggregate_rank_done(&a->ranks[i]);
	for (size_t i = 0; i < a->stage_count; i++)
		sb_aggregate_stage_done(&a->stages[i]);
	for (size_t i = 0; i < a->problem_count; i++) {
		free(a->problems[i].label);
		free(a->problems[i].what);
	}
	for (size_t i = 0; i < a->attempt_count; i++) {
		free(a->attempts[i].label);
		free(a->attempts[i].what);
	}
	free(a->attempts);
	free(a->late_groups);
	free(a->communication);
	free(a->pairs);
	free(a->ranks);
	free(a->stages);
	free(a->problems);
	free(a->missing);
	free(a->scales);
	free(a->made);
	free(a->job);
	free(a->straggler_rule);
	sb_aggregate_drawings_done(a);
	sb_strings_done(&a->strings);
	sb_map_done(&a->index->by_key);
	free(a->index);
	free(a);
}

int sb_aggregate_broken(struct sb_aggregate *a, const char *label, const char *why)
{
	struct sb_aggregate_problem *grown = realloc(a->problems, (a->problem_count + 1) * sizeof *grown);
	struct sb_aggregate_problem p = { strdup(label), strdup(why) };

	if (grown)
		a->problems = grown;
	if (!grown || !p.label || !p.what) {
		free(p.label);
		free(p.what);
		return no_memory();
	}
	a->problems[a->problem_count++] = p;
	return 0;
}

int sb_aggregate_add_attempt(
	struct sb_aggregate *a, int64_t number, const char *label, const char *what, bool taken)
{
	struct sb_aggregate_attempt *grown = realloc(a->attempts, (a->attempt_count + 1) * sizeof *grown);
	struct sb_aggregate_attempt new = { number, strdup(label), strdup(what), taken, false };

	if (grown)
		a->attempts = grown;
	if (!grown || !new.label || !new.what) {
		free(new.label);
		free(new.what);
		return no_memory();
	}
	a->attempts[a->attempt_count++] = new;
	return 0;
}

/* ---- adding a rank ------------------------------------------------------ */

static const char *keep(struct sb_aggregate *a, const char *text)
{
	return text ? sb_strings_text(&a->strings, sb_strings_add(&a->strings, text, strlen(text))) : NULL;
}

const char *sb_aggregate_keep(struct sb_aggregate *a, const char *text)
{
	return keep(a, text);
}

/* The worlds of different sizes must not share rows of stages: key them apart. */
static uint32_t stage_number(struct sb_aggregate *a, const struct sb_facts *f, const struct sb_fact_stage *s)
{
	char key[1024];
	int n = snprintf(key, sizeof key, "%lld|%s", (long long)f->world_size, s->key);

	return sb_strings_add(&a->strings, key, n < (int)sizeof key ? (size_t)n : sizeof key - 1);
}

static int64_t order_of(const struct sb_facts *f, size_t at)
{
	int64_t rank = f->rank < 0 ? -1 : f->rank < INT32_MAX ? f->rank : INT32_MAX;

	return rank * SB_AGGREGATE_ORDER_STEP + (int64_t)at;
}

/* Ranks are read in any order: what a stage is, the lowest rank that has it says. */
static void describe(
	struct sb_aggregate *a, const struct sb_facts *f, size_t at, struct sb_aggregate_stage *out)
{
	const struct sb_fact_stage *s = &f->stages[at];

	out->name = keep(a, s->name);
	out->code = keep(a, s->code);
	out->order = order_of(f, at);
	out->parent_key = s->parent < 0
				  ? NULL
				  : sb_strings_text(&a->strings, stage_number(a, f, &f->stages[s->parent]));
	out->depth = s->depth;
	out->role = s->role;
}

static struct sb_aggregate_stage *new_stage(struct sb_aggregate *a, uint32_t number)
{
	struct sb_aggregate_stage *grown;

	if (!(a->stage_count & (a->stage_count - 1))) {
		grown = realloc(a->stages, (a->stage_count ? a->stage_count * 2 : 1) * sizeof *grown);
		if (!grown)
			return NULL;
		a->stages = grown;
	}
	if (!sb_map_put(&a->index->by_key, number, (uint32_t)a->stage_count))
		return NULL;
	a->stages[a->stage_count] = (struct sb_aggregate_stage){
		.key = sb_strings_text(&a->strings, number), .order = INT64_MAX, .min_s = NAN, .max_s = NAN
	};
	return &a->stages[a->stage_count++];
}

static struct sb_aggregate_stage *stage_of(struct sb_aggregate *a, const struct sb_facts *f, size_t at)
{
	uint32_t number = stage_number(a, f, &f->stages[at]), index;
	struct sb_aggregate_stage *s;

	if (sb_map_get(&a->index->by_key, number, &index)) {
		s = &a->stages[index];
	} else if (a->stage_count >= STAGES_MAX) {
		a->left_out_count++;
		return NULL;
	} else {
		s = new_stage(a, number);
	}
	if (s && order_of(f, at) < s->order)
		describe(a, f, at, s);
	return s;
}

static bool stage_room(struct sb_aggregate_stage *s, size_t slot)
{
	size_t room = s->rank_room ? s->rank_room : 16;
	double *totals, *selves;

	if (slot < s->rank_room)
		return true;
	while (room <= slot)
		room *= 2;
	totals = realloc(s->totals, room * sizeof *totals);
	if (totals)
		s->totals = totals;
	selves = realloc(s->selves, room * sizeof *selves);
	if (selves)
		s->selves = selves;
	if (!totals || !selves)
		return false;
	for (size_t i = s->rank_room; i < room; i++)
		s->totals[i] = s->selves[i] = NAN;
	s->rank_room = room;
	return true;
}

static int add_stages(struct sb_aggregate *a, const struct sb_facts *f, size_t slot)
{
	for (size_t i = 0; i < f->stage_count; i++) {
		const struct sb_fact_stage *from = &f->stages[i];
		struct sb_aggregate_stage *s;

		if (isnan(from->total_s))
			continue;
		s = stage_of(a, f, i);
		if (!s && a->left_out_count)
			continue;
		if (!s || !stage_room(s, slot))
			return no_memory();
		s->totals[slot] = (isnan(s->totals[slot]) ? 0 : s->totals[slot]) + from->total_s;
		s->selves[slot] = (isnan(s->selves[slot]) ? 0 : s->selves[slot]) + from->self_s;
		s->call_count += (uint64_t)from->count;
		s->min_s = fmin(s->min_s, from->time.min);
		s->max_s = fmax(s->max_s, from->time.max);
		if (from->calls && !sb_histogram_merge(&s->calls, from->calls))
			return no_memory();
	}
	return 0;
}

static int add_collectives(struct sb_aggregate *a, struct sb_aggregate_rank *r, const struct sb_facts *f)
{
	if (!f->collective_count)
		return 0;
	r->collectives = malloc(f->collective_count * sizeof *r->collectives);
	if (!r->collectives)
		return no_memory();
	for (size_t i = 0; i < f->collective_count; i++) {
		r->collectives[i] = f->collectives[i];
		r->collectives[i].name = keep(a, f->collectives[i].name);
		r->collectives[i].group = keep(a, f->collectives[i].group);
	}
	r->collective_count = f->collective_count;
	r->collective_total = f->collective_total;
	return 0;
}

static int add_stage_lane(
	struct sb_aggregate *a, struct sb_aggregate_rank *r, const struct sb_stage_lane *from)
{
	struct sb_stage_lane *to = &r->stage_lane;

	if (!from->name_count)
		return 0;
	to->names = calloc(from->name_count, sizeof *to->names);
	to->bins = malloc(SB_STAGE_LANE_BINS);
	if (!to->names || !to->bins)
		return no_memory();
	for (size_t i = 0; i < from->name_count; i++)
		to->names[i] = keep(a, from->names[i]);
	to->name_count = from->name_count;
	memcpy(to->bins, from->bins, SB_STAGE_LANE_BINS);
	return 0;
}

int sb_aggregate_add_stage(
	struct sb_aggregate *a, const struct sb_aggregate_stage *stage, const char *name, const char *code)
{
	struct sb_aggregate_stage *grown = realloc(a->stages, (a->stage_count + 1) * sizeof *grown);

	if (!grown)
		return no_memory();
	a->stages = grown;
	grown[a->stage_count] = *stage;
	grown[a->stage_count].name = keep(a, name);
	grown[a->stage_count].code = *code ? keep(a, code) : NULL;
	a->stage_count++;
	return 0;
}

int sb_aggregate_add_pair(
	struct sb_aggregate *a, enum sb_fact_scope scope, const char *key, const char *value)
{
	struct sb_fact_pair *grown = realloc(a->pairs, (a->pair_count + 1) * sizeof *grown);

	if (!grown)
		return no_memory();
	a->pairs = grown;
	a->pairs[a->pair_count++] = (struct sb_fact_pair){ scope, keep(a, key), keep(a, value) };
	return 0;
}

/* What is set is the same on all ranks as a rule: the first one's is kept. */
static int keep_pairs(struct sb_aggregate *a, const struct sb_facts *f)
{
	struct sb_fact_pair *pairs;

	if (a->pairs_of >= 0 && a->pairs_of <= f->rank)
		return 0;
	pairs = malloc((f->pair_count + 1) * sizeof *pairs);
	if (!pairs)
		return no_memory();
	for (size_t i = 0; i < f->pair_count; i++)
		pairs[i] = (struct sb_fact_pair){ f->pairs[i].scope, keep(a, f->pairs[i].key),
			keep(a, f->pairs[i].value) };
	free(a->pairs);
	a->pairs = pairs;
	a->pair_count = f->pair_count;
	a->pairs_of = f->rank < 0 ? 0 : f->rank;
	return 0;
}

int sb_aggregate_add(struct sb_aggregate *a, const struct sb_facts *f)
{
	struct sb_aggregate_rank *r, *grown;

	if (!(a->rank_count & (a->rank_count - 1))) {
		grown = realloc(a->ranks, (a->rank_count ? a->rank_count * 2 : 1) * sizeof *grown);
		if (!grown)
			return no_memory();
		a->ranks = grown;
	}
	r = &a->ranks[a->rank_count];
	*r = (struct sb_aggregate_rank){ .rank = f->rank,
		.label = strdup(f->label),
		.host = strdup(f->host),
		.id = strdup(f->id),
		.job = strdup(f->job),
		.name = strdup(f->name),
		.world_size = f->world_size,
		.start_real_ns = f->start_real_ns,
		.complete = f->complete,
		.live = f->live,
		.work_s = NAN,
		.behind_s = NAN,
		.caused_wait_s = NAN,
		.slow_stage_s = NAN,
		.slow_stage_median_s = NAN };
	memcpy(r->metrics, f->metrics, sizeof r->metrics);
	a->report_count++;
	a->rank_count++;
	r->gpu = keep(a, f->gpu);
	r->clock = keep(a, f->clock);
	r->failure = keep(a, f->failure);
	if (f->damage)
		r->damage = strdup(f->damage);
	if (!r->label || !r->host || !r->id || !r->job || !r->name || (f->damage && !r->damage))
		return no_memory();
	if (add_collectives(a, r, f) || add_stage_lane(a, r, &f->stage_lane) || keep_pairs(a, f))
		return STROBE_ENOMEM;
	return add_stages(a, f, a->rank_count - 1);
}
