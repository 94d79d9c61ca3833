/* Adding ranks up. Who holds the others up is in aggregate_straggler.c. */
#include "compare/aggregate.h"

#include "base/error.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGES_MAX 4096
#define MISSING_MAX 65536

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
	a->world_size = -1;
	return a;
}

static void rank_done(struct sb_aggregate_rank *r)
{
	free(r->label);
	free(r->host);
	free(r->id);
	free(r->job);
	free(r->damage);
	free(r->slow_stage);
	free(r->collectives);
}

static void stage_done(struct sb_aggregate_stage *s)
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
		rank_done(&a->ranks[i]);
	for (size_t i = 0; i < a->stage_count; i++)
		stage_done(&a->stages[i]);
	for (size_t i = 0; i < a->problem_count; i++) {
		free(a->problems[i].label);
		free(a->problems[i].what);
	}
	free(a->ranks);
	free(a->stages);
	free(a->problems);
	free(a->missing);
	free(a->scales);
	free(a->job);
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

/* ---- adding a rank ------------------------------------------------------ */

static const char *keep(struct sb_aggregate *a, const char *text)
{
	return text ? sb_strings_text(&a->strings, sb_strings_add(&a->strings, text, strlen(text))) : NULL;
}

/* The worlds of different sizes must not share rows of stages: key them apart. */
static uint32_t stage_number(struct sb_aggregate *a, const struct sb_facts *f, const struct sb_fact_stage *s)
{
	char key[1024];
	int n = snprintf(key, sizeof key, "%lld|%s", (long long)f->world_size, s->key);

	return sb_strings_add(&a->strings, key, n < (int)sizeof key ? (size_t)n : sizeof key - 1);
}

static struct sb_aggregate_stage *stage_of(
	struct sb_aggregate *a, const struct sb_facts *f, const struct sb_fact_stage *s)
{
	uint32_t number = stage_number(a, f, s), index;
	struct sb_aggregate_stage *grown;

	if (sb_map_get(&a->index->by_key, number, &index))
		return &a->stages[index];
	if (a->stage_count >= STAGES_MAX) {
		a->left_out_count++;
		return NULL;
	}
	if (!(a->stage_count & (a->stage_count - 1))) {
		grown = realloc(a->stages, (a->stage_count ? a->stage_count * 2 : 1) * sizeof *grown);
		if (!grown)
			return NULL;
		a->stages = grown;
	}
	if (!sb_map_put(&a->index->by_key, number, (uint32_t)a->stage_count))
		return NULL;
	a->stages[a->stage_count] = (struct sb_aggregate_stage){ .name = keep(a, s->name),
		.code = keep(a, s->code),
		.key = sb_strings_text(&a->strings, number),
		.depth = s->depth,
		.role = s->role,
		.min_s = NAN,
		.max_s = NAN };
	return &a->stages[a->stage_count++];
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
		s = stage_of(a, f, from);
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
	}
	r->collective_count = f->collective_count;
	r->collective_total = f->collective_total;
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
	grown[a->stage_count].key = grown[a->stage_count].name;
	a->stage_count++;
	return 0;
}

int sb_aggregate_add(struct sb_aggregate *a, const struct sb_facts *f)
{
	struct sb_aggregate_rank *r, *grown;

	for (size_t i = 0; i < a->rank_count; i++)
		if (f->rank >= 0 && a->ranks[i].rank == f->rank && a->ranks[i].world_size == f->world_size) {
			char why[512];

			snprintf(why, sizeof why, "is rank %lld again; '%s' was taken", (long long)f->rank,
				a->ranks[i].label);
			return sb_aggregate_broken(a, f->label, why);
		}
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
	if (f->damage)
		r->damage = strdup(f->damage);
	if (!r->label || !r->host || !r->id || !r->job || (f->damage && !r->damage))
		return no_memory();
	if (add_collectives(a, r, f))
		return STROBE_ENOMEM;
	return add_stages(a, f, a->rank_count - 1);
}

/* ---- finishing ---------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void sb_extent_of(const double *values, const int64_t *ranks, size_t count, struct sb_extent *out_extent)
{
	struct sb_extent e = { 0, NAN, NAN, NAN, 0, NAN, -1, -1 };
	double *sorted = malloc((count + 1) * sizeof *sorted);

	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		if (!e.count || values[i] < e.min) {
			e.min = values[i];
			e.min_rank = ranks[i];
		}
		if (!e.count || values[i] > e.max) {
			e.max = values[i];
			e.max_rank = ranks[i];
		}
		e.sum += values[i];
		if (sorted)
			sorted[e.count] = values[i];
		e.count++;
	}
	e.sum = e.count ? e.sum : NAN;
	e.avg = e.sum / (double)e.count;
	if (e.count && sorted) {
		qsort(sorted, e.count, sizeof *sorted, ascending);
		e.median = sb_stats_percentile(sorted, e.count, 0.5);
	}
	free(sorted);
	*out_extent = e;
}

struct order {
	int64_t rank;
	size_t slot;
};

static int by_rank(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int64_t largest_world(const struct sb_aggregate *a)
{
	int64_t world = -1;

	for (size_t i = 0; i < a->rank_count; i++)
		world = a->ranks[i].world_size > world ? a->ranks[i].world_size : world;
	return world;
}

static int by_world(const void *a, const void *b)
{
	const struct sb_scale *x = a, *y = b;

	return (x->world_size > y->world_size) - (x->world_size < y->world_size);
}

static struct sb_scale *scale_of(struct sb_aggregate *a, int64_t world)
{
	for (size_t i = 0; i < a->scale_count; i++)
		if (a->scales[i].world_size == world)
			return &a->scales[i];
	a->scales[a->scale_count] = (struct sb_scale){ world, 0, NAN, NAN, NAN, NAN, NAN };
	return &a->scales[a->scale_count++];
}

/* A lone process is a world of one. */
static int scale(struct sb_aggregate *a)
{
	const struct sb_scale *first;

	a->scales = calloc(a->rank_count + 1, sizeof *a->scales);
	if (!a->scales)
		return no_memory();
	for (size_t i = 0; i < a->rank_count; i++) {
		const struct sb_aggregate_rank *r = &a->ranks[i];
		struct sb_scale *s = scale_of(a, r->world_size > 0 ? r->world_size : 1);

		s->ranks++;
		s->wall_s = fmax(s->wall_s, r->metrics[SB_METRIC_WALL]);
		s->generation_s = fmax(s->generation_s, r->metrics[SB_METRIC_GENERATION]);
	}
	qsort(a->scales, a->scale_count, sizeof *a->scales, by_world);
	first = &a->scales[0];
	for (size_t i = 0; i < a->scale_count; i++) {
		struct sb_scale *s = &a->scales[i];
		bool video = !isnan(first->generation_s) && !isnan(s->generation_s);

		s->speedup = video ? first->generation_s / s->generation_s : first->wall_s / s->wall_s;
		s->efficiency_split_ratio = s->speedup * (double)first->world_size / (double)s->world_size;
		s->efficiency_kept_ratio = s->speedup;
	}
	if (a->scale_count < 2)
		a->scale_count = 0;
	return 0;
}

/* Keeps the ranks of one world, ordered; slots of stages follow. */
static int settle_ranks(struct sb_aggregate *a, size_t **out_slots)
{
	struct order *order = malloc((a->rank_count + 1) * sizeof *order);
	struct sb_aggregate_rank *kept = malloc((a->rank_count + 1) * sizeof *kept);
	size_t *slots = malloc((a->rank_count + 1) * sizeof *slots), count = 0;
	int64_t next = 0;

	if (!order || !kept || !slots) {
		free(order);
		free(kept);
		free(slots);
		return no_memory();
	}
	/* they have no rank: they are runs, numbered as they came, and no ranks of one job */
	a->unranked = a->rank_count > 1 && a->world_size < 0;
	for (size_t i = 0; i < a->rank_count; i++)
		a->unranked = a->unranked && a->ranks[i].rank < 0;
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].rank < 0 && a->world_size < 0)
			a->ranks[i].rank = next++;
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].world_size == a->world_size)
			order[count++] = (struct order){ a->ranks[i].rank, i };
		else
			rank_done(&a->ranks[i]);
	qsort(order, count, sizeof *order, by_rank);
	for (size_t i = 0; i < count; i++) {
		kept[i] = a->ranks[order[i].slot];
		slots[i] = order[i].slot;
	}
	free(a->ranks);
	free(order);
	a->ranks = kept;
	a->rank_count = count;
	*out_slots = slots;
	return 0;
}

/* Of the ranks that are kept; none where they come from several jobs. */
static int note_job(struct sb_aggregate *a)
{
	const char *job = a->rank_count ? a->ranks[0].job : NULL;

	if (!job || !*job)
		return 0;
	for (size_t i = 1; i < a->rank_count; i++)
		if (!a->ranks[i].job || strcmp(a->ranks[i].job, job) != 0)
			return 0;
	a->job = strdup(job);
	return a->job ? 0 : no_memory();
}

static int note_missing(struct sb_aggregate *a)
{
	size_t at = 0;

	if (a->world_size <= 0 || a->world_size > MISSING_MAX)
		return 0;
	a->missing = calloc((size_t)a->world_size, sizeof *a->missing);
	if (!a->missing)
		return no_memory();
	for (int64_t rank = 0; rank < a->world_size; rank++) {
		while (at < a->rank_count && a->ranks[at].rank < rank)
			at++;
		if (at >= a->rank_count || a->ranks[at].rank != rank)
			a->missing[a->missing_count++] = rank;
	}
	return 0;
}

static int extend_metrics(struct sb_aggregate *a)
{
	double *values = malloc((a->rank_count + 1) * sizeof *values);
	int64_t *ranks = malloc((a->rank_count + 1) * sizeof *ranks);

	if (!values || !ranks) {
		free(values);
		free(ranks);
		return no_memory();
	}
	for (size_t i = 0; i < a->rank_count; i++)
		ranks[i] = a->ranks[i].rank;
	for (int m = 0; m < SB_METRIC_COUNT; m++) {
		for (size_t i = 0; i < a->rank_count; i++)
			values[i] = a->ranks[i].metrics[m];
		sb_extent_of(values, ranks, a->rank_count, &a->metrics[m]);
	}
	a->wait_s = a->metrics[SB_METRIC_COLLECTIVE].count ? a->metrics[SB_METRIC_COLLECTIVE].sum : 0;
	a->wait_ratio = a->metrics[SB_METRIC_COLLECTIVE].count ? a->wait_s / a->metrics[SB_METRIC_WALL].sum
							       : NAN;
	free(values);
	free(ranks);
	return 0;
}

/* Between neighbours, as everywhere else, and never outside what was measured. */
static double call_quantile_s(const struct sb_aggregate_stage *s, double q)
{
	uint64_t total = s->calls.total;
	double at = total > 1 ? q * (double)(total - 1) : 0, below = floor(at), low_s, high_s, value_s;

	if (!total)
		return NAN;
	low_s = sb_histogram_quantile(&s->calls, total > 1 ? below / (double)(total - 1) : 0) / 1e9;
	high_s = total > 1 && below + 1 < (double)total
			 ? sb_histogram_quantile(&s->calls, (below + 1) / (double)(total - 1)) / 1e9
			 : low_s;
	value_s = low_s + (high_s - low_s) * (at - below);
	if (value_s < s->min_s)
		value_s = s->min_s;
	return value_s > s->max_s ? s->max_s : value_s;
}

static void extend_stage(struct sb_aggregate *a, struct sb_aggregate_stage *s, double *values, int64_t *ranks)
{
	for (int self = 0; self < 2; self++) {
		for (size_t i = 0; i < a->rank_count; i++) {
			values[i] = self ? s->selves[i] : s->totals[i];
			ranks[i] = a->ranks[i].rank;
		}
		sb_extent_of(values, ranks, a->rank_count, self ? &s->self_s : &s->total_s);
	}
	s->imbalance_s = s->total_s.max - s->total_s.avg;
	s->imbalance_ratio = s->total_s.avg > 0 ? s->total_s.max / s->total_s.avg - 1 : NAN;
	s->p50_s = call_quantile_s(s, 0.50);
	s->p95_s = call_quantile_s(s, 0.95);
	s->p99_s = call_quantile_s(s, 0.99);
}

/* From slots, in the order of reading, to ranks in their order. */
static bool reorder(struct sb_aggregate *a, struct sb_aggregate_stage *s, const size_t *slots)
{
	double *selves = malloc((a->rank_count + 1) * sizeof *selves);
	double *totals = malloc((a->rank_count + 1) * sizeof *totals);

	if (!selves || !totals) {
		free(selves);
		free(totals);
		return false;
	}
	for (size_t i = 0; i < a->rank_count; i++) {
		selves[i] = slots[i] < s->rank_room ? s->selves[slots[i]] : NAN;
		totals[i] = slots[i] < s->rank_room ? s->totals[slots[i]] : NAN;
	}
	free(s->selves);
	free(s->totals);
	s->selves = selves;
	s->totals = totals;
	s->rank_room = a->rank_count;
	return true;
}

static int by_imbalance(const void *a, const void *b)
{
	const struct sb_aggregate_stage *x = a, *y = b;

	if (x->imbalance_s != y->imbalance_s)
		return x->imbalance_s < y->imbalance_s ? 1 : -1;
	if (x->total_s.sum != y->total_s.sum)
		return x->total_s.sum < y->total_s.sum ? 1 : -1;
	return strcmp(x->key, y->key);
}

static int settle_stages(struct sb_aggregate *a, const size_t *slots)
{
	double *values = malloc((a->rank_count + 1) * sizeof *values);
	int64_t *ranks = malloc((a->rank_count + 1) * sizeof *ranks);
	size_t count = 0;
	int err = values && ranks ? 0 : no_memory();

	for (size_t i = 0; i < a->stage_count && !err; i++) {
		struct sb_aggregate_stage *s = &a->stages[i];

		if (s->rank_room && !reorder(a, s, slots))
			err = no_memory();
		else if (s->rank_room)
			extend_stage(a, s, values, ranks);
		if (!err && !s->total_s.count) {
			stage_done(s); /* of another world */
			continue;
		}
		if (count != i) {
			a->stages[count] = *s;
			memset(s, 0, sizeof *s);
		}
		count++;
	}
	if (!err) {
		a->stage_count = count;
		if (count)
			qsort(a->stages, count, sizeof *a->stages, by_imbalance);
	}
	free(values);
	free(ranks);
	return err;
}

static void count_hosts(struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->rank_count; i++) {
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = !strcmp(a->ranks[i].host, a->ranks[k].host);
		a->host_count += !seen && *a->ranks[i].host;
	}
}

int sb_aggregate_finish(struct sb_aggregate *a)
{
	size_t *slots = NULL;
	int err = scale(a);

	a->percentile_error_ratio = SB_HISTOGRAM_ERROR_RATIO;
	a->world_size = largest_world(a);
	if (!err)
		err = settle_ranks(a, &slots);
	if (!err)
		err = note_job(a);
	if (!err)
		err = note_missing(a);
	if (!err)
		err = extend_metrics(a);
	if (!err)
		err = settle_stages(a, slots);
	if (!err)
		err = sb_aggregate_meet(a);
	if (!err && !a->unranked)
		err = sb_aggregate_find_stragglers(a);
	if (!err)
		count_hosts(a);
	free(slots);
	return err ? err : sb_aggregate_draw(a);
}
