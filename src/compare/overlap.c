/* What closes the sum of a diff: stages that ran at the same time count twice, the whole counts once. */
#include "compare/compare.h"

#include <math.h>

static double known(double seconds)
{
	return isnan(seconds) ? 0 : seconds;
}

/* The last bits of a sum are no overlap. */
static double left_over(double sum_s, double total_s)
{
	return fabs(sum_s - total_s) < 1e-9 ? 0 : sum_s - total_s;
}

static const struct sb_metric_change *unattributed(const struct sb_comparison *c)
{
	for (size_t i = 0; i < c->metric_count; i++)
		if (c->metrics[i].metric == SB_METRIC_UNATTRIBUTED)
			return &c->metrics[i];
	return NULL;
}

void sb_compare_overlap(struct sb_comparison *c)
{
	const struct sb_metric_change *rest = unattributed(c);
	double base_s = 0, now_s = 0;

	c->base_overlap_s = c->now_overlap_s = NAN;
	if (!rest || isnan(rest->base) || isnan(rest->now) || isnan(c->total.base) || isnan(c->total.now) ||
		c->jobs.base_rank_count)
		return;
	for (size_t i = 0; i < c->stage_count; i++) {
		if (!c->stages[i].counted)
			continue;
		base_s += known(c->stages[i].base_self_s);
		now_s += known(c->stages[i].now_self_s);
	}
	c->base_overlap_s = left_over(base_s + rest->base, c->total.base);
	c->now_overlap_s = left_over(now_s + rest->now, c->total.now);
	c->overlap_alone = c->base_count == 1 && c->now_count == 1 && !c->per_generation;
}
