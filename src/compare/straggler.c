/* Which ranks the others wait for, by the work they do, and what is said where none stands out. What they do
 * between collectives is measured in rank_work.c, who comes last there in lateness.c. */
#include "compare/aggregate.h"

#include "base/error.h"
#include "base/role.h"
#include "stats/fields.h"
#include "stats/seconds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A straggler does this much more than the median rank, lies this many robust deviations out, and that in most
 * parts of the run; */
#define STRAGGLER_RATIO 0.05
#define STRAGGLER_DEVIATIONS 5
#define WORTH_RATIO 0.01 /* of the time together: less costs the job nothing that is felt */
#define PARTS_MIN 8 /* of the run: fewer cannot tell chance from habit */
/* or once and for all so much more that the others wait for it for as much of their time. */
#define HARM_RATIO 0.20

const char *const sb_work_measures[] = { "stages", "run", "between_collectives", SB_NAMES_END };

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

/* ---- work, where ranks do not meet often enough ------------------------- */

/* Loading code takes what the disk takes, before ranks meet, and strobe's own work is strobe's: no work of theirs. */
static bool is_apart(const struct sb_aggregate_stage *s)
{
	return s->role == STROBE_ROLE_IMPORT || sb_role_work(s->name, s->role) == STROBE_ROLE_PROFILER;
}

static double apart_of(const struct sb_aggregate *a, size_t rank)
{
	double sum = 0;

	for (size_t k = 0; k < a->stage_count; k++) {
		const struct sb_aggregate_stage *s = &a->stages[k];

		if (is_apart(s) && s->selves && !isnan(s->selves[rank]))
			sum += s->selves[rank];
	}
	return sum;
}

/* Its wall time, less what it waited for others. */
static double own_of(const struct sb_aggregate *a, size_t rank)
{
	const struct sb_aggregate_rank *r = &a->ranks[rank];
	double waiting = r->metrics[SB_METRIC_COLLECTIVE];

	return r->metrics[SB_METRIC_WALL] - (isnan(waiting) ? 0 : waiting) - apart_of(a, rank);
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
static double work_of(const struct sb_aggregate *a, size_t rank)
{
	double work = 0;

	if (a->work_measure != SB_WORK_BETWEEN_COLLECTIVES)
		work = own_of(a, rank) - (a->work_measure == SB_WORK_IN_STAGES ? outside_of(a, rank) : 0);
	for (size_t i = 0; i < a->work_part_count; i++)
		work += a->ranks[rank].work_parts_s[i];
	return work < 0 ? 0 : work; /* NaN stays */
}

/* What a rank is compared with. */
static double typical_of(double *values, size_t count)
{
	struct sb_stats s;

	if (sb_stats_of(values, count, &s))
		return NAN;
	return count == 2 ? s.min : s.median; /* of two: the other one's, halfway is no rank's */
}

/* ---- who is late -------------------------------------------------------- */

struct rule {
	double median_s, deviation_s;
	const double *part_medians_s; /* of each part of the run, over ranks */
};

enum verdict { LATE, TOO_LITTLE, WITHIN_SPREAD, NOT_STEADY, DAMAGED, TOO_FEW };

/* In how many parts of the run it does more than the median rank. */
static size_t steady_parts(
	const struct sb_aggregate *a, const struct sb_aggregate_rank *r, const struct rule *rule)
{
	size_t count = 0;

	for (size_t i = 0; i < a->work_part_count; i++)
		count += r->work_parts_s[i] > (1 + STRAGGLER_RATIO) * rule->part_medians_s[i];
	return count;
}

static size_t parts_needed(const struct sb_aggregate *a)
{
	return (3 * a->work_part_count + 3) / 4;
}

/* The others lose a good part of their time to it, and it has that much more to do. */
static bool does_harm(
	const struct sb_aggregate *a, const struct sb_aggregate_rank *r, const struct rule *rule)
{
	return a->work_measure == SB_WORK_BETWEEN_COLLECTIVES && r->behind_s > HARM_RATIO * rule->median_s &&
	       r->caused_wait_s > HARM_RATIO * r->together_s * (double)(a->rank_count - 1);
}

static enum verdict judge(
	const struct sb_aggregate *a, const struct sb_aggregate_rank *r, const struct rule *rule)
{
	bool by_parts = a->work_part_count >= PARTS_MIN;

	if (r->damage) /* what was open where the file ends seems to last to the end of the run */
		return DAMAGED;
	if (a->rank_count < 3 && !by_parts)
		return TOO_FEW;
	if (!(r->behind_s > STRAGGLER_RATIO * rule->median_s) || !sb_shows_more_work(r->behind_s) ||
		(a->work_measure == SB_WORK_BETWEEN_COLLECTIVES && r->behind_s < WORTH_RATIO * r->together_s))
		return TOO_LITTLE;
	if (does_harm(a, r, rule))
		return LATE;
	if (a->rank_count > 2 && r->behind_s <= STRAGGLER_DEVIATIONS * rule->deviation_s)
		return WITHIN_SPREAD;
	return by_parts && steady_parts(a, r, rule) < parts_needed(a) ? NOT_STEADY : LATE;
}

/* ---- why none is -------------------------------------------------------- */

static int say_rule(struct sb_aggregate *a, const char *text)
{
	a->straggler_rule = strdup(text);
	return a->straggler_rule ? 0 : no_memory();
}

/* Why what it does more does not count. */
static void say_too_little(char *out, size_t size, const struct sb_aggregate_rank *r, const struct rule *rule)
{
	if (!(r->behind_s > STRAGGLER_RATIO * rule->median_s))
		snprintf(out, size, "; a straggler works over %.0f %% more", 100 * STRAGGLER_RATIO);
	else if (!sb_shows_more_work(r->behind_s))
		snprintf(out, size, "; that is too short to judge");
	else
		snprintf(out, size, "; that is under %.0f %% of the time together", 100 * WORTH_RATIO);
}

/* Of the rank that works most: which part of the rule it does not meet. */
static int explain(struct sb_aggregate *a, const struct rule *rule)
{
	const struct sb_aggregate_rank *most = &a->ranks[0];
	char text[256], more[32];
	int n;

	for (size_t i = 1; i < a->rank_count; i++)
		if (a->ranks[i].behind_s > most->behind_s)
			most = &a->ranks[i];
	sb_text_seconds(more, sizeof more, fmax(most->behind_s, 0));
	n = snprintf(text, sizeof text, "none: rank %" PRId64 " works most, %s (%.1f %%) more than %s",
		most->rank, more, rule->median_s > 0 ? fmax(100 * most->behind_s / rule->median_s, 0) : 0,
		sb_rank_compared(a->rank_count));
	switch (judge(a, most, rule)) {
	case WITHIN_SPREAD:
		snprintf(text + n, sizeof text - (size_t)n,
			"; ranks differ by as much: %d robust deviations are %.2f s", STRAGGLER_DEVIATIONS,
			STRAGGLER_DEVIATIONS * rule->deviation_s);
		break;
	case NOT_STEADY:
		snprintf(text + n, sizeof text - (size_t)n,
			", but in %zu of %zu parts of the run; a straggler does in %zu",
			steady_parts(a, most, rule), a->work_part_count, parts_needed(a));
		break;
	case DAMAGED: snprintf(text + n, sizeof text - (size_t)n, ", by a damaged recording"); break;
	case TOO_FEW: snprintf(text, sizeof text, "none: three ranks at least are needed to tell"); break;
	default: say_too_little(text + n, sizeof text - (size_t)n, most, rule);
	}
	return say_rule(a, text);
}

/* Too little of the world was seen: the rank that is waited for may be elsewhere. */
static bool sees_too_little(const struct sb_aggregate *a)
{
	return a->world_size > 0 && 4 * (int64_t)a->rank_count < 3 * a->world_size;
}

static int explain_partial(struct sb_aggregate *a)
{
	char text[128];

	snprintf(text, sizeof text,
		"not judged: %zu of %" PRId64
		" ranks are here, and those that are waited for may be elsewhere",
		a->rank_count, a->world_size);
	return say_rule(a, text);
}

/* ---- what it is slow at ------------------------------------------------- */

/* The stage that makes a rank slow: the largest excess over the median rank, if it is most of what it is behind. */
static int name_stage(struct sb_aggregate *a, size_t i)
{
	struct sb_aggregate_rank *r = &a->ranks[i];
	double most = fmax(0.5 * r->behind_s, 0.01 * r->work_s);

	for (size_t k = 0; k < a->stage_count; k++) {
		const struct sb_aggregate_stage *s = &a->stages[k];
		double usual = a->rank_count == 2 ? s->self_s.min : s->self_s.median;
		double excess = s->selves ? s->selves[i] - usual : NAN;

		if (isnan(excess) || excess <= most || is_apart(s) || s->role == STROBE_ROLE_COLLECTIVE)
			continue;
		most = excess;
		free(r->slow_stage);
		r->slow_stage = strdup(s->name);
		if (!r->slow_stage)
			return no_memory();
		r->slow_stage_s = s->selves[i];
		r->slow_stage_median_s = usual;
	}
	return 0;
}

/* ---- all of them -------------------------------------------------------- */

static double work_typical_s(const struct sb_aggregate *a)
{
	return a->rank_count == 2 ? a->work_s.min : a->work_s.median;
}

static double compared_work_s(const struct sb_aggregate *a, size_t rank)
{
	return a->rank_count == 2 ? a->ranks[!rank].work_s : a->work_s.median;
}

static void measure(struct sb_aggregate *a, double *values, int64_t *ranks)
{
	if (a->work_measure != SB_WORK_BETWEEN_COLLECTIVES)
		a->work_measure = stages_tell(a) ? SB_WORK_IN_STAGES : SB_WORK_IN_RUN;
	for (size_t i = 0; i < a->rank_count; i++) {
		values[i] = a->ranks[i].work_s = work_of(a, i);
		ranks[i] = a->ranks[i].rank;
	}
	sb_across_ranks_of(values, ranks, a->rank_count, &a->work_s);
	for (size_t i = 0; i < a->rank_count; i++)
		a->ranks[i].behind_s = a->ranks[i].work_s - compared_work_s(a, i);
}

static struct rule rule_of(const struct sb_aggregate *a, double *values, double *part_medians_s)
{
	for (size_t k = 0; k < a->work_part_count; k++) {
		for (size_t i = 0; i < a->rank_count; i++)
			values[i] = a->ranks[i].work_parts_s[k];
		part_medians_s[k] = typical_of(values, a->rank_count);
	}
	for (size_t i = 0; i < a->rank_count; i++)
		values[i] = fabs(a->ranks[i].behind_s);
	return (struct rule){ work_typical_s(a), 1.4826 * typical_of(values, a->rank_count), part_medians_s };
}

static int judge_all(struct sb_aggregate *a, const struct rule *rule)
{
	int err = 0;

	for (size_t i = 0; i < a->rank_count && !err; i++) {
		struct sb_aggregate_rank *r = &a->ranks[i];

		r->straggler = judge(a, r, rule) == LATE;
		a->straggler_count += r->straggler;
		if (r->straggler)
			err = name_stage(a, i);
	}
	return err || a->straggler_count ? err : explain(a, rule);
}

int sb_aggregate_find_stragglers(struct sb_aggregate *a)
{
	double *values = malloc((a->rank_count + 1) * sizeof *values), part_medians_s[SB_WORK_PARTS];
	int64_t *ranks = malloc((a->rank_count + 1) * sizeof *ranks);
	int err = values && ranks ? 0 : no_memory();

	a->straggler_count = 0;
	free(a->straggler_rule);
	a->straggler_rule = NULL;
	if (!err && a->rank_count) {
		struct rule rule;

		measure(a, values, ranks);
		rule = rule_of(a, values, part_medians_s);
		err = sees_too_little(a) ? explain_partial(a) : judge_all(a, &rule);
	}
	free(values);
	free(ranks);
	return err;
}
