/* A job as one run that can be compared: each metric of its ranks as one value. */
#include "compare/aggregate.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(const char *label)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the facts of the job '%s'", label);
}

/* What a job's value is, of its ranks': a job lasts as long as its slowest rank and needs the
 * memory of its largest; energy adds up; the rest is the median rank's. */
static double value_of_job(const struct sb_across_ranks *e, enum sb_metric metric)
{
	if (!e->count)
		return NAN;
	switch (metric) {
	case SB_METRIC_WALL:
	case SB_METRIC_GPU_MEMORY_PEAK:
	case SB_METRIC_GPU_RESERVED_PEAK:
	case SB_METRIC_RAM_PEAK:
	case SB_METRIC_RSS_PEAK:
	case SB_METRIC_SWAP_PEAK:
	case SB_METRIC_PAGE_CACHE_PEAK:
	case SB_METRIC_GPU_TEMPERATURE: return e->max;
	case SB_METRIC_ENERGY: return e->sum;
	default: return e->median;
	}
}

double sb_job_value(enum sb_metric metric, const double *values, size_t count)
{
	int64_t *ranks = calloc(count + 1, sizeof *ranks);
	struct sb_across_ranks e = { 0 };

	if (ranks)
		sb_across_ranks_of(values, ranks, count, &e);
	free(ranks);
	return value_of_job(&e, metric);
}

static void take_session(struct sb_facts *f, const struct sb_aggregate *a)
{
	const struct sb_aggregate_rank *first = &a->ranks[0];

	f->id = sb_facts_text(f, first->id);
	f->name = sb_facts_text(f, first->name);
	f->host = sb_facts_text(f, first->host);
	f->job = sb_facts_text(f, a->job ? a->job : "");
	f->world_size = a->world_size;
	f->start_real_ns = first->start_real_ns;
	f->median_begin_s = NAN;
	f->complete = !a->missing_count;
	for (size_t i = 0; i < a->rank_count; i++) {
		f->complete = f->complete && a->ranks[i].complete;
		f->live |= a->ranks[i].live;
		if (a->ranks[i].start_real_ns && a->ranks[i].start_real_ns < f->start_real_ns)
			f->start_real_ns = a->ranks[i].start_real_ns;
	}
	for (int m = 0; m < SB_METRIC_COUNT; m++)
		f->metrics[m] = value_of_job(&a->metrics[m], (enum sb_metric)m);
}

static int take_ranks(struct sb_facts *f, const struct sb_aggregate *a)
{
	f->ranks = calloc(a->rank_count + 1, sizeof *f->ranks);
	if (!f->ranks)
		return no_memory(f->label);
	f->host_count = a->host_count;
	for (size_t i = 0; i < a->rank_count; i++) {
		const struct sb_aggregate_rank *r = &a->ranks[i];

		f->ranks[f->rank_count++] = (struct sb_fact_rank){ .rank = r->rank,
			.host = sb_facts_text(f, r->host),
			.label = sb_facts_text(f, r->label),
			.wall_s = r->metrics[SB_METRIC_WALL],
			.work_s = r->work_s,
			.behind_s = r->behind_s,
			.straggler = r->straggler,
			.complete = r->complete,
			.slow_stage = sb_facts_text(f, r->slow_stage) };
	}
	return 0;
}

static int by_order(const void *a, const void *b)
{
	const struct sb_aggregate_stage *x = *(const struct sb_aggregate_stage *const *)a;
	const struct sb_aggregate_stage *y = *(const struct sb_aggregate_stage *const *)b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->key, y->key); /* of runs without a rank */
}

static int64_t parent_of(const struct sb_aggregate_stage *const *sorted, size_t i)
{
	for (size_t k = i; k-- > 0 && sorted[i]->parent_key;)
		if (!strcmp(sorted[k]->key, sorted[i]->parent_key))
			return (int64_t)k;
	return -1;
}

/* A rank that was read first may have had a stage at another place: depth follows the parent. */
static int take_stage(struct sb_facts *f, const struct sb_aggregate *a,
	const struct sb_aggregate_stage *const *sorted, size_t i, double **numbers)
{
	const struct sb_aggregate_stage *s = sorted[i];
	struct sb_fact_stage *to = &f->stages[f->stage_count++];
	struct sb_histogram *calls = &f->histograms[f->histogram_count];

	*to = (struct sb_fact_stage){ .name = sb_facts_text(f, s->name),
		.code = sb_facts_text(f, s->code),
		.parent = parent_of(sorted, i),
		.role = s->role,
		.count = s->total_s.count ? (int64_t)(s->call_count / s->total_s.count) : 0,
		.total_s = s->total_s.median,
		.self_s = s->self_s.median,
		.first_s = NAN,
		.time = { .min = s->min_s, .max = s->max_s, .p50 = s->p50_s, .p95 = s->p95_s },
		.gpu_span_s = NAN,
		.gpu_busy_s = NAN,
		.values = *numbers,
		.spread = { s->total_s.min, s->total_s.max, s->total_s.min_rank, s->total_s.max_rank } };
	to->depth = to->parent < 0 ? 0 : f->stages[to->parent].depth + 1;
	to->time.median = s->p50_s;
	to->time.mean = to->count ? to->total_s / (double)to->count : NAN;
	for (size_t r = 0; r < a->rank_count && s->totals; r++)
		if (!isnan(s->totals[r]))
			(*numbers)[to->value_count++] = s->totals[r];
	*numbers += to->value_count;
	if (!s->calls.total)
		return 0;
	f->histogram_count++;
	if (!sb_histogram_merge(calls, &s->calls))
		return no_memory(f->label);
	to->calls = calls;
	return 0;
}

static int take_stages(struct sb_facts *f, const struct sb_aggregate *a)
{
	const struct sb_aggregate_stage **sorted = malloc((a->stage_count + 1) * sizeof *sorted);
	double *next = f->numbers = malloc((a->stage_count * a->rank_count + 1) * sizeof *f->numbers);
	int err;

	f->stages = calloc(a->stage_count + 1, sizeof *f->stages);
	f->histograms = calloc(a->stage_count + 1, sizeof *f->histograms);
	err = sorted && next && f->stages && f->histograms ? 0 : no_memory(f->label);
	for (size_t i = 0; i < a->stage_count && !err; i++)
		sorted[i] = &a->stages[i];
	if (!err)
		qsort(sorted, a->stage_count, sizeof *sorted, by_order);
	for (size_t i = 0; i < a->stage_count && !err; i++)
		err = take_stage(f, a, sorted, i, &next);
	free(sorted);
	return err ? err : sb_facts_key_stages(f);
}

int sb_facts_of_job(const struct sb_aggregate *a, const char *label, struct sb_facts **out_facts)
{
	struct sb_facts *f = sb_facts_new(label);
	int err = f && a->rank_count ? 0 : no_memory(label);

	if (!err) {
		take_session(f, a);
		err = take_ranks(f, a);
	}
	if (!err)
		err = take_stages(f, a);
	for (size_t i = 0; i < a->pair_count && !err; i++)
		err = sb_facts_add_pair(f, a->pairs[i].scope, a->pairs[i].key, a->pairs[i].value);
	if (err) {
		sb_facts_free(f);
		return err;
	}
	*out_facts = f;
	return 0;
}
