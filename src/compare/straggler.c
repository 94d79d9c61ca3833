/* Which ranks the others wait for, by the work they do. Who comes last where ranks meet is in
 * lateness.c. */
#include "compare/aggregate.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* A straggler does at least this much more than the median rank, and lies
 * this many robust deviations out. */
#define STRAGGLER_RATIO 0.05
#define STRAGGLER_DEVIATIONS 5
#define COLLECTIVES_MIN 8 /* collectives from which on coming last is no chance */

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

/* ---- work --------------------------------------------------------------- */

/* Loading code takes what the disk takes, before ranks meet: no work of theirs. */
static double imports_of(const struct sb_aggregate *a, size_t rank)
{
	double sum = 0;

	for (size_t k = 0; k < a->stage_count; k++) {
		const struct sb_aggregate_stage *s = &a->stages[k];

		if (s->role == STROBE_ROLE_IMPORT && s->selves && !isnan(s->selves[rank]))
			sum += s->selves[rank];
	}
	return sum;
}

/* Its wall time, less what it waited for others. */
static double own_of(const struct sb_aggregate *a, size_t rank)
{
	const struct sb_aggregate_rank *r = &a->ranks[rank];
	double waiting = r->metrics[SB_METRIC_COLLECTIVE];

	return r->metrics[SB_METRIC_WALL] - (isnan(waiting) ? 0 : waiting) - imports_of(a, rank);
}

static double outside_of(const struct sb_aggregate *a, size_t rank)
{
	double outside = a->ranks[rank].metrics[SB_METRIC_UNATTRIBUTED];

	return isnan(outside) ? 0 : outside;
}

static bool stages_tell(const struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->rank_count; i++)
		if (own_of(a, i) - outside_of(a, i) <= 0.01 * own_of(a, i))
			return false;
	return true;
}

/* What a rank did itself: waiting for others is not work. Time outside every
 * stage stays out too, unless nothing else is known of one of them: ranks are compared by one measure. */
static double work_of(const struct sb_aggregate *a, size_t rank, bool in_stages)
{
	double work = own_of(a, rank) - (in_stages ? outside_of(a, rank) : 0);

	return work < 0 ? 0 : work; /* NaN stays */
}

static double span_of(const struct sb_aggregate_rank *r)
{
	double first = INFINITY, last = -INFINITY;

	for (size_t i = 0; i < r->collective_count; i++) {
		first = fmin(first, r->collectives[i].begin_s);
		last = fmax(last, r->collectives[i].end_s);
	}
	return last - first;
}

/* The others wait for it where they meet: mostly, for certain, and for a good part of that time. */
static bool comes_last(const struct sb_aggregate *a, const struct sb_aggregate_rank *r)
{
	return r->clear_count >= COLLECTIVES_MIN && 2 * r->last_count > r->clear_count && !r->damage &&
	       r->caused_wait_s > STRAGGLER_RATIO * span_of(r) * (double)(a->rank_count - 1);
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
	double most = 0.01 * r->work_s; /* less explains nothing */

	for (size_t k = 0; k < a->stage_count; k++) {
		const struct sb_aggregate_stage *s = &a->stages[k];
		double excess = s->selves ? s->selves[i] - s->self_s.median : NAN;

		if (isnan(excess) || excess <= most || s->role == STROBE_ROLE_COLLECTIVE ||
			s->role == STROBE_ROLE_IMPORT)
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
	bool in_stages = stages_tell(a);

	for (size_t i = 0; i < a->rank_count && !err; i++) {
		values[i] = a->ranks[i].work_s = work_of(a, i, in_stages);
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
			r->straggler |= comes_last(a, r);
			a->straggler_count += r->straggler;
			if (r->straggler)
				err = name_stage(a, i);
		}
	}
	free(values);
	free(ranks);
	return err;
}
