/* The ranks of two jobs: which of them the others wait for now, and did before. */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

static const struct sb_fact_rank *rank_of(const struct sb_facts *f, int64_t rank)
{
	size_t low = 0, high = f->rank_count;

	while (low < high) { /* they are in order */
		size_t middle = low + (high - low) / 2;

		if (f->ranks[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->rank_count && f->ranks[low].rank == rank ? &f->ranks[low] : NULL;
}

static struct sb_straggler_change change_of(const struct sb_fact_rank *before, const struct sb_fact_rank *now)
{
	bool was = before && before->straggler, is = now && now->straggler;
	const struct sb_fact_rank *late = is ? now : before;

	return (struct sb_straggler_change){ .rank = late->rank,
		.change = was && is ? "stayed"
			  : is      ? "came"
				    : "went",
		.host = *late->host ? late->host : NULL,
		.stage = late->slow_stage,
		.base_behind_s = before ? before->behind_s : NAN,
		.now_behind_s = now ? now->behind_s : NAN };
}

static int order_of(const struct sb_straggler_change *s)
{
	return s->change[0] == 'c' ? 0 : s->change[0] == 'w' ? 1 : 2;
}

/* Those that came, then those that went, then those that stayed; the latest first. */
static int by_news(const void *a, const void *b)
{
	const struct sb_straggler_change *x = a, *y = b;
	double late_x = order_of(x) == 1 ? x->base_behind_s : x->now_behind_s;
	double late_y = order_of(y) == 1 ? y->base_behind_s : y->now_behind_s;

	if (order_of(x) != order_of(y))
		return order_of(x) - order_of(y);
	if (late_x != late_y)
		return late_x > late_y ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The first sentence of why two jobs differ, where a rank holds the others up now. */
static int say_who_came(struct sb_comparison *c)
{
	const struct sb_straggler_change *s = c->jobs.stragglers;
	const char *compared = sb_rank_compared(c->jobs.now_rank_count);

	if (!c->jobs.straggler_count || s->change[0] != 'c')
		return 0;
	if (!sb_shows_more_work(s->now_behind_s))
		return sb_comparison_say(&c->explanations, &c->explanation_count,
			"the others wait for rank %lld%s%s now, which does no more work than %s",
			(long long)s->rank, s->host ? " on " : "", s->host ? s->host : "", compared);
	return sb_comparison_say(&c->explanations, &c->explanation_count,
		"the others wait for rank %lld%s%s now: %.2f s more work than %s%s%s", (long long)s->rank,
		s->host ? " on " : "", s->host ? s->host : "", s->now_behind_s, compared,
		s->stage ? ", most of it in " : "", s->stage ? s->stage : "");
}

int sb_compare_jobs(struct sb_comparison *c)
{
	const struct sb_facts *base = c->base[0], *now = c->now[0];
	struct sb_job_sides *j = &c->jobs;

	if (c->base_count != 1 || c->now_count != 1 || !base->ranks || !now->ranks)
		return 0;
	j->base_rank_count = base->rank_count;
	j->now_rank_count = now->rank_count;
	j->base_host_count = base->host_count;
	j->now_host_count = now->host_count;
	j->stragglers = calloc(base->rank_count + now->rank_count + 1, sizeof *j->stragglers);
	if (!j->stragglers)
		return sb_compare_no_memory();
	for (size_t i = 0; i < now->rank_count; i++)
		if (now->ranks[i].straggler)
			j->stragglers[j->straggler_count++] = change_of(
				rank_of(base, now->ranks[i].rank), &now->ranks[i]);
	for (size_t i = 0; i < base->rank_count; i++) {
		const struct sb_fact_rank *later = rank_of(now, base->ranks[i].rank);

		if (base->ranks[i].straggler && !(later && later->straggler))
			j->stragglers[j->straggler_count++] = change_of(&base->ranks[i], later);
	}
	if (j->straggler_count)
		qsort(j->stragglers, j->straggler_count, sizeof *j->stragglers, by_news);
	return say_who_came(c);
}
