/* What each rank did itself, between the collectives that all of them share: they leave one together, so what
 * a rank takes until the next, less what it waited in others, is its own. No clock is needed, and what came
 * before they first met (loading code, starting processes) is not in it. */
#include "compare/aggregate.h"

#include "base/error.h"
#include "compare/meet.h"

#include <stdlib.h>
#include <string.h>

enum { SHARED_MIN = 9 /* so many are met at regularly */, CUTS_MAX = SB_WORK_PARTS + 1 };

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

/* ---- where the run is cut ---- */

enum kind { BLOCKING, WAITED, ANY };

/* An asynchronous one may have been over long before its rank looked. */
static bool is_of_kind(const struct sb_meet_part *p, size_t count, enum kind kind)
{
	for (size_t i = 0; i < count; i++)
		if ((kind == BLOCKING && p[i].call->hidden_s > 0) || (kind < ANY && p[i].call->late_end))
			return false;
	return true;
}

static int by_end(const void *x, const void *y)
{
	const struct sb_meet_part *const *a = x, *const *b = y;

	return (*a)->call->end_s < (*b)->call->end_s ? -1 : (*a)->call->end_s > (*b)->call->end_s;
}

/* The collectives of all ranks, in order; each as its first part. */
static size_t find_shared(const struct sb_aggregate *a, const struct sb_meet *m, enum kind kind,
	const struct sb_meet_part **out_shared)
{
	size_t count = 0;

	for (size_t k = 0; k < m->count; k++) {
		const struct sb_meet_part *p = &m->parts[m->all[k].first];

		if (m->all[k].count == a->rank_count && p->call->kind == SB_MEET_ALL &&
			is_of_kind(p, a->rank_count, kind))
			out_shared[count++] = p;
	}
	if (count)
		qsort(out_shared, count, sizeof *out_shared, by_end);
	return count;
}

static size_t part_count_of(size_t shared)
{
	return shared - 1 < SB_WORK_PARTS ? shared - 1 : SB_WORK_PARTS;
}

/* ---- one rank ---- */

struct waited {
	double begin_s, end_s;
};

static int by_begin(const void *x, const void *y)
{
	const struct waited *a = x, *b = y;

	return a->begin_s < b->begin_s ? -1 : a->begin_s > b->begin_s;
}

static double overlap_of(double begin_s, double end_s, double from_s, double to_s)
{
	return fmax(fmin(end_s, to_s) - fmax(begin_s, from_s), 0);
}

/* When it was in a collective and did nothing else, each moment once. */
static size_t find_waiting(const struct sb_aggregate_rank *r, struct waited *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->collective_count; i++)
		out[i] = (struct waited){ r->collectives[i].begin_s + r->collectives[i].hidden_s,
			r->collectives[i].end_s };
	qsort(out, r->collective_count, sizeof *out, by_begin);
	for (size_t i = 0; i < r->collective_count; i++) {
		if (kept && out[i].begin_s < out[kept - 1].end_s)
			out[i].begin_s = out[kept - 1].end_s;
		if (out[i].end_s > out[i].begin_s)
			out[kept++] = out[i];
	}
	return kept;
}

/* Those that are kept stand for all. */
static double factor_of(const struct sb_aggregate_rank *r)
{
	double factor = (double)r->collective_total / (double)r->collective_count;

	return factor >= 1 ? factor : 1;
}

static double between(const struct sb_aggregate_rank *r, const struct waited *waiting, size_t count,
	double from_s, double to_s)
{
	double waited_s = 0, apart_s = 0;

	for (size_t i = 0; i < count; i++)
		waited_s += overlap_of(waiting[i].begin_s, waiting[i].end_s, from_s, to_s);
	for (size_t i = 0; i < r->collective_count; i++)
		if (r->collectives[i].end_s > from_s && r->collectives[i].end_s <= to_s)
			apart_s += r->collectives[i].apart_s;
	return fmax(to_s - from_s - waited_s * factor_of(r) - apart_s, 0);
}

/* cuts_s: in order, one more than there are parts. */
static void measure_rank(
	struct sb_aggregate_rank *r, struct waited *room, const double *cuts_s, size_t part_count)
{
	size_t count = find_waiting(r, room);

	r->met_s = cuts_s[0];
	r->together_s = cuts_s[part_count] - cuts_s[0];
	for (size_t i = 0; i < part_count; i++)
		r->work_parts_s[i] = between(r, room, count, cuts_s[i], cuts_s[i + 1]);
}

/* A few collectives tell of the run only if they lie around most of it. */
static bool tells_of_run(const struct sb_aggregate *a, const struct sb_meet_part *const *shared, size_t count)
{
	if (count >= SHARED_MIN)
		return true;
	for (size_t i = 0; i < a->rank_count && count >= 2; i++) {
		double first_s = shared[0][i].call->end_s, last_s = shared[count - 1][i].call->end_s;

		if (!(last_s - first_s > 0.5 * a->ranks[i].metrics[SB_METRIC_WALL]))
			return false;
	}
	return count >= 2;
}

static void measure_shared(
	struct sb_aggregate *a, const struct sb_meet_part *const *shared, size_t count, struct waited *room)
{
	size_t parts = part_count_of(count);
	double cuts_s[CUTS_MAX];

	for (size_t i = 0; i < a->rank_count; i++) {
		for (size_t k = 0; k <= parts; k++) {
			double end_s = shared[k * (count - 1) / parts][i].call->end_s;

			cuts_s[k] = k ? fmax(end_s, cuts_s[k - 1]) : end_s;
		}
		measure_rank(&a->ranks[i], room, cuts_s, parts);
	}
	a->work_part_count = parts;
	a->work_measure = SB_WORK_BETWEEN_COLLECTIVES;
}

/* ---- ranks that never meet all at once: each between its own groups' collectives ---- */

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static size_t own_ends(const struct sb_aggregate_rank *r, double *out_ends_s)
{
	size_t count = 0;

	for (size_t i = 0; i < r->collective_count; i++)
		if (r->collectives[i].kind == SB_MEET_ALL && r->collectives[i].group &&
			!r->collectives[i].late_end)
			out_ends_s[count++] = r->collectives[i].end_s;
	if (count)
		qsort(out_ends_s, count, sizeof *out_ends_s, ascending);
	return count;
}

static void measure_groups(struct sb_aggregate *a, double *ends_s, struct waited *room)
{
	double cuts_s[CUTS_MAX];
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < a->rank_count; i++) {
		size_t count = own_ends(&a->ranks[i], ends_s);

		least = count < least ? count : least;
	}
	if (least < SHARED_MIN)
		return;
	a->work_part_count = part_count_of(least);
	for (size_t i = 0; i < a->rank_count; i++) {
		size_t count = own_ends(&a->ranks[i], ends_s);

		for (size_t k = 0; k <= a->work_part_count; k++)
			cuts_s[k] = ends_s[k * (count - 1) / a->work_part_count];
		measure_rank(&a->ranks[i], room, cuts_s, a->work_part_count);
	}
	a->work_measure = SB_WORK_BETWEEN_COLLECTIVES;
}

int sb_aggregate_measure_work(struct sb_aggregate *a, const struct sb_meet *m)
{
	const struct sb_meet_part **shared = malloc((m->count + 1) * sizeof *shared);
	size_t most = 0, count = 0;
	struct waited *room;
	double *ends_s;
	int err;

	a->work_part_count = 0;
	a->work_measure = SB_WORK_IN_STAGES;
	for (size_t i = 0; i < a->rank_count; i++)
		most = a->ranks[i].collective_count > most ? a->ranks[i].collective_count : most;
	room = malloc((most + 1) * sizeof *room);
	ends_s = malloc((most + 1) * sizeof *ends_s);
	err = shared && room && ends_s ? 0 : no_memory();
	if (!err && a->rank_count > 1) {
		for (int kind = BLOCKING; kind <= ANY && count < SHARED_MIN; kind++)
			count = find_shared(a, m, (enum kind)kind, shared);
		if (tells_of_run(a, shared, count))
			measure_shared(a, shared, count, room);
		else if (count < 2)
			measure_groups(a, ends_s, room);
	}
	free(ends_s);
	free(room);
	free(shared);
	return err;
}
