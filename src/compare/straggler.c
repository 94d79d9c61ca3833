/* Which ranks the others wait for: by the work they do, and by who comes last
 * where ranks meet. */
#include "compare/aggregate.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* A straggler does at least this much more than the median rank, and lies
 * this many robust deviations out. */
#define STRAGGLER_RATIO 0.05
#define STRAGGLER_DEVIATIONS 5

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

/* ---- collectives ----------------------------------------------------------- */

static const struct sb_fact_collective *collective_of(
	const struct sb_aggregate_rank *r, const struct sb_fact_collective *like, size_t hint)
{
	for (size_t i = 0; i < r->collective_count; i++) {
		const struct sb_fact_collective *m = &r->collectives[(hint + i) % r->collective_count];

		if (m->occurrence == like->occurrence && m->name == like->name)
			return m;
	}
	return NULL;
}

/* When a rank came to a collective, on the first rank's clock. */
static double arrival(const struct sb_aggregate *a, size_t i, const struct sb_fact_collective *m)
{
	const struct sb_aggregate_rank *r = &a->ranks[i];

	return m->begin_s + ((double)r->start_real_ns - (double)a->ranks[0].start_real_ns) / 1e9 +
	       r->align.offset_s;
}

/* A collective that half of the ranks do not know says nothing about who is late. */
static void judge_collective(
	struct sb_aggregate *a, const struct sb_fact_collective *m, size_t hint, double *arrivals)
{
	size_t last = 0, there = 0;
	double waited = 0;

	for (size_t i = 0; i < a->rank_count; i++) {
		const struct sb_fact_collective *own = collective_of(&a->ranks[i], m, hint);

		arrivals[i] = own ? arrival(a, i, own) : NAN;
		if (!own)
			continue;
		if (!there++ || arrivals[i] > arrivals[last])
			last = i;
	}
	if (there < 2 || there * 2 <= a->rank_count)
		return;
	for (size_t i = 0; i < a->rank_count; i++)
		waited += isnan(arrivals[i]) ? 0 : arrivals[last] - arrivals[i];
	a->collective_count++;
	a->ranks[last].last_count++;
	a->ranks[last].caused_wait_s += waited;
}

int sb_aggregate_meet(struct sb_aggregate *a)
{
	struct sb_align_rank *align = calloc(a->rank_count + 1, sizeof *align);
	double *arrivals = malloc((a->rank_count + 1) * sizeof *arrivals);
	int err = align && arrivals ? 0 : no_memory();

	for (size_t i = 0; i < a->rank_count && !err; i++)
		align[i] = (struct sb_align_rank){ .host = a->ranks[i].host,
			.start_real_ns = a->ranks[i].start_real_ns,
			.collectives = a->ranks[i].collectives,
			.collective_count = a->ranks[i].collective_count };
	if (!err)
		err = sb_align(align, a->rank_count);
	if (!err) {
		a->residual_s = sb_align_residual(align, a->rank_count);
		for (size_t i = 0; i < a->rank_count; i++) {
			a->ranks[i].align = align[i];
			a->ranks[i].caused_wait_s = a->ranks[i].collective_count && a->rank_count > 1 ? 0
												      : NAN;
		}
		for (size_t k = 0; a->rank_count > 1 && k < a->ranks[0].collective_count; k++)
			judge_collective(a, &a->ranks[0].collectives[k], k, arrivals);
	}
	free(align);
	free(arrivals);
	return err;
}

/* ---- work --------------------------------------------------------------- */

/* What a rank did itself: waiting for others is not work. Time outside every
 * stage stays out too, unless nothing else is known. */
static double work_of(const struct sb_aggregate_rank *r)
{
	double wall = r->metrics[SB_METRIC_WALL], outside = r->metrics[SB_METRIC_UNATTRIBUTED];
	double waiting = r->metrics[SB_METRIC_COLLECTIVE], work;

	waiting = isnan(waiting) ? 0 : waiting;
	work = wall - waiting - (isnan(outside) ? 0 : outside);
	return work > 0.01 * wall ? work : wall - waiting;
}

static double median_of(double *values, size_t count)
{
	struct sb_stats s;

	return sb_stats_of(values, count, &s) ? NAN : s.median;
}

/* The stage that makes a rank slow: the largest excess over the median rank. */
static int name_stage(struct sb_aggregate *a, size_t i)
{
	struct sb_aggregate_rank *r = &a->ranks[i];
	double most = 0;

	for (size_t k = 0; k < a->stage_count; k++) {
		const struct sb_aggregate_stage *s = &a->stages[k];
		double excess = s->selves ? s->selves[i] - s->self_s.median : NAN;

		if (isnan(excess) || excess <= most || s->role == STROBE_ROLE_COLLECTIVE)
			continue;
		most = excess;
		free(r->slow_stage);
		r->slow_stage = strdup(s->name);
		if (!r->slow_stage)
			return no_memory();
		r->slow_stage_s = s->selves[i];
		r->slow_stage_median_s = s->self_s.median;
	}
	return 0;
}

int sb_aggregate_find_stragglers(struct sb_aggregate *a)
{
	double *values = malloc((a->rank_count + 1) * sizeof *values), median, deviation;
	int64_t *ranks = malloc((a->rank_count + 1) * sizeof *ranks);
	int err = values && ranks ? 0 : no_memory();

	for (size_t i = 0; i < a->rank_count && !err; i++) {
		values[i] = a->ranks[i].work_s = work_of(&a->ranks[i]);
		ranks[i] = a->ranks[i].rank;
	}
	if (!err && a->rank_count) {
		sb_extent_of(values, ranks, a->rank_count, &a->work_s);
		median = a->work_s.median;
		for (size_t i = 0; i < a->rank_count; i++)
			values[i] = fabs(a->ranks[i].work_s - median);
		deviation = 1.4826 * median_of(values, a->rank_count);
		for (size_t i = 0; i < a->rank_count && !err; i++) {
			struct sb_aggregate_rank *r = &a->ranks[i];

			r->behind_s = r->work_s - median;
			/* what was open where the file ends seems to last to the end of the run */
			r->straggler = a->rank_count > 2 && !r->damage &&
				       r->behind_s > STRAGGLER_RATIO * median &&
				       r->behind_s > STRAGGLER_DEVIATIONS * deviation;
			a->straggler_count += r->straggler;
			if (r->straggler)
				err = name_stage(a, i);
		}
	}
	free(values);
	free(ranks);
	return err;
}
