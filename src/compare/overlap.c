/* What closes the sum of a diff: stages that ran at the same time count twice, the whole counts once. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>

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

bool sb_compare_is_unattributed(const struct sb_comparison *c, const struct sb_fact_stage *s)
{
	return c->per_generation && s->role == STROBE_ROLE_GENERATION && unattributed(c);
}

static bool has_generation_stage(const struct sb_facts *run)
{
	for (size_t i = 0; i < run->stage_count; i++)
		if (run->stages[i].role == STROBE_ROLE_GENERATION)
			return true;
	return false;
}

/* What the self times and the unattributed time of one run are a sum of. */
static double whole_of(const struct sb_comparison *c, const struct sb_facts *run)
{
	double sum_s = 0;

	if (!c->per_generation)
		return run->metrics[SB_METRIC_WALL];
	if (!run->generation_count)
		return run->metrics[SB_METRIC_GENERATION];
	for (size_t i = 0; i < run->generation_count; i++)
		sum_s += run->generation_s[i] / (double)run->generation_count;
	return sum_s;
}

/* Of one run everything adds up, but for what ran at the same time. */
static double at_once_of(const struct sb_comparison *c, const struct sb_facts *run)
{
	bool inside_only = c->per_generation && has_generation_stage(run);
	double sum_s = c->per_generation ? run->generation_unattributed_s / sb_facts_generations(run)
					 : run->metrics[SB_METRIC_UNATTRIBUTED];

	for (size_t i = 0; i < run->stage_count; i++) {
		const struct sb_fact_stage *s = &run->stages[i];

		if (!s->aside && !sb_compare_is_unattributed(c, s) &&
			(!inside_only || sb_compare_is_inside(run, s)))
			sum_s += known(s->self_s) * sb_compare_share_of_run(c, run, s);
	}
	return sum_s - whole_of(c, run);
}

static double median_at_once(
	const struct sb_comparison *c, const struct sb_facts *const *runs, size_t count, double *scratch)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		double s = at_once_of(c, runs[i]);

		if (!isnan(s))
			scratch[n++] = s < 1e-9 ? 0 : s;
	}
	return n ? sb_compare_median(scratch, n) : 0;
}

/* With one run a side, compared by totals, nothing is a median: all of it ran at the same time. */
static int find_at_once(struct sb_comparison *c)
{
	double *scratch;

	c->base_at_once_s = c->base_overlap_s;
	c->now_at_once_s = c->now_overlap_s;
	if (c->base_count == 1 && c->now_count == 1 && !c->per_generation)
		return 0;
	scratch = malloc((c->base_count + c->now_count + 1) * sizeof *scratch);
	if (!scratch)
		return sb_compare_no_memory();
	c->base_at_once_s = median_at_once(c, c->base, c->base_count, scratch);
	c->now_at_once_s = median_at_once(c, c->now, c->now_count, scratch);
	free(scratch);
	return 0;
}

int sb_compare_overlap(struct sb_comparison *c)
{
	const struct sb_metric_change *rest = unattributed(c);
	double base_s = 0, now_s = 0;

	c->base_overlap_s = c->now_overlap_s = c->base_at_once_s = c->now_at_once_s = NAN;
	if (!rest || isnan(rest->base) || isnan(rest->now) || isnan(c->total.base) || isnan(c->total.now) ||
		c->jobs.base_rank_count)
		return 0;
	for (size_t i = 0; i < c->stage_count; i++) {
		if (!c->stages[i].counted)
			continue;
		base_s += known(c->stages[i].base_self_s);
		now_s += known(c->stages[i].now_self_s);
	}
	c->base_overlap_s = left_over(base_s + rest->base, c->total.base);
	c->now_overlap_s = left_over(now_s + rest->now, c->total.now);
	return find_at_once(c);
}
