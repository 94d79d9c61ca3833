/* Groups that are late as a whole: a stage of a pipeline that begins later, a node that is slower.
 * Their members alone would each look late half of the time. */
#include "compare/aggregate.h"

#include "base/error.h"
#include "compare/meet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 64, COLLECTIVES_MIN = 8 };
#define WORTH_RATIO \
	0.05 /* of the time together, that each of the others waits; less is chance on a busy machine */

struct group {
	const char *name;
	bool *members; /* by rank */
	size_t member_count;
	struct sb_late_group late;
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

/* The groups that met, with who was seen in them. */
static size_t find_groups(const struct sb_aggregate *a, const struct sb_meet *m, struct group *groups)
{
	size_t count = 0;

	for (size_t k = 0; k < m->count; k++) {
		const struct sb_meet_part *p = &m->parts[m->all[k].first];
		size_t at = 0;

		if (!p->call->group || p->call->kind != SB_MEET_ALL || m->all[k].count >= a->rank_count)
			continue;
		while (at < count && strcmp(groups[at].name, p->call->group))
			at++;
		if (at < count || count == GROUPS_MAX)
			continue;
		groups[at].members = calloc(a->rank_count, sizeof *groups[at].members);
		if (!groups[at].members)
			continue;
		groups[at].name = p->call->group;
		for (size_t i = 0; i < m->all[k].count; i++)
			groups[at].members[p[i].rank] = true;
		groups[at].member_count = m->all[k].count;
		count++;
	}
	return count;
}

/* Its first member comes after every other rank, by more than the clocks leave in doubt. */
static void look(const struct sb_aggregate *a, const struct sb_meet_part *p, size_t count, struct group *g)
{
	double first_s = INFINITY, others_s = -INFINITY, sum_s = 0, doubt_s = 0;
	size_t inside = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sb_align_rank *clock = &a->ranks[p[i].rank].align;
		double at_s = sb_align_time(&a->ranks[0].align, clock, p[i].call->begin_s);

		doubt_s = fmax(doubt_s, isnan(clock->uncertainty_s) ? INFINITY : clock->uncertainty_s);
		if (g->members[p[i].rank]) {
			first_s = fmin(first_s, at_s);
			inside++;
		} else {
			others_s = fmax(others_s, at_s);
			sum_s += at_s;
		}
	}
	if (inside < g->member_count || inside == count || 2 * inside > count)
		return; /* it is not in there whole, or it is most of it */
	g->late.shared_count++;
	if (!(first_s - others_s > 2 * doubt_s))
		return;
	g->late.late_count++;
	g->late.wait_s += first_s * (double)(count - inside) - sum_s;
}

static double time_together_s(const struct sb_aggregate *a)
{
	double most_s = 0;

	for (size_t i = 0; i < a->rank_count; i++)
		most_s = fmax(most_s, a->work_measure == SB_WORK_BETWEEN_COLLECTIVES
					      ? a->ranks[i].together_s
					      : a->ranks[i].metrics[SB_METRIC_WALL]);
	return most_s;
}

/* Of many collectives some are looked at: there are so many times more. */
static double times_more(const struct sb_aggregate *a)
{
	double most_ratio = 1;

	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].collective_count)
			most_ratio = fmax(most_ratio,
				(double)a->ranks[i].collective_total / (double)a->ranks[i].collective_count);
	return most_ratio;
}

static bool is_late(const struct sb_aggregate *a, const struct group *g)
{
	const struct sb_late_group *late = &g->late;

	return g->member_count > 1 && late->shared_count >= COLLECTIVES_MIN &&
	       4 * late->late_count >= 3 * late->shared_count &&
	       late->wait_s * times_more(a) >=
		       WORTH_RATIO * time_together_s(a) * (double)(a->rank_count - g->member_count);
}

static int by_wait(const void *x, const void *y)
{
	const struct sb_late_group *a = x, *b = y;

	return a->wait_s > b->wait_s ? -1 : a->wait_s < b->wait_s;
}

int sb_aggregate_find_late_groups(struct sb_aggregate *a, const struct sb_meet *m)
{
	struct group *groups = calloc(GROUPS_MAX + 1, sizeof *groups);
	size_t count = groups ? find_groups(a, m, groups) : 0;

	a->late_groups = calloc(count + 1, sizeof *a->late_groups);
	for (size_t k = 0; k < m->count && count; k++) {
		const struct sb_meet_part *p = &m->parts[m->all[k].first];

		for (size_t i = 0; p->call->kind == SB_MEET_ALL && p->call->group && i < count; i++)
			if (groups[i].member_count < m->all[k].count)
				look(a, p, m->all[k].count, &groups[i]);
	}
	for (size_t i = 0; a->late_groups && i < count; i++) {
		struct sb_late_group *late = &groups[i].late;

		late->group = groups[i].name;
		if (is_late(a, &groups[i]))
			a->late_groups[a->late_group_count++] = *late;
	}
	if (a->late_group_count)
		qsort(a->late_groups, a->late_group_count, sizeof *a->late_groups, by_wait);
	for (size_t i = 0; i < count; i++)
		free(groups[i].members);
	if (!a->late_groups || !groups) {
		free(groups);
		return no_memory();
	}
	free(groups);
	return 0;
}
