/* Which stage was open when. */
#include "analyze/memory/open_stages.h"

#include <stdlib.h>

#define SPANS_MOST 32768u
#define LEAST_NS 100000
#define OPEN_MOST 256 /* stages open at the same time, over all threads */

void sb_stage_spans_done(struct sb_stage_spans *s)
{
	sb_vec_done(&s->all);
}

/* Room again: the shorter ones go. */
static void drop_short(struct sb_stage_spans *s)
{
	struct sb_stage_span *all = s->all.items;

	while (s->all.count >= SPANS_MOST) {
		size_t kept = 0;

		s->least_ns *= 2;
		for (size_t i = 0; i < s->all.count; i++) {
			if (all[i].end_ns - all[i].begin_ns >= s->least_ns)
				all[kept++] = all[i];
		}
		s->all.count = kept;
	}
}

void sb_stage_spans_add(struct sb_stage_spans *s, const struct sb_zone *z)
{
	struct sb_stage_span *span;

	if (!s->least_ns)
		s->least_ns = LEAST_NS;
	if (z->end_ns - z->begin_ns < s->least_ns || z->flags & SB_ZONE_SPAN)
		return;
	if (s->all.count == SPANS_MOST)
		drop_short(s);
	span = sb_vec_push(&s->all, sizeof *span);
	if (!span) {
		s->failed = true;
		return;
	}
	*span = (struct sb_stage_span){ z->begin_ns, z->end_ns, z->name, z->depth, z->role, z->track };
	s->sorted = false;
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_stage_span *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static void sort(struct sb_stage_spans *s)
{
	if (!s->sorted && s->all.count)
		qsort(s->all.items, s->all.count, sizeof(struct sb_stage_span), by_begin);
	s->sorted = true;
}

void sb_stage_spans_at(
	struct sb_stage_spans *s, const int64_t *t_ns, size_t count, const struct sb_stage_span **out_spans)
{
	const struct sb_stage_span *all, *open[OPEN_MOST];
	size_t next = 0, open_count = 0;

	sort(s);
	all = s->all.items;
	for (size_t i = 0; i < count; i++) {
		size_t kept = 0;

		for (; next < s->all.count && all[next].begin_ns <= t_ns[i]; next++) {
			if (all[next].end_ns >= t_ns[i] && open_count < OPEN_MOST)
				open[open_count++] = &all[next];
		}
		out_spans[i] = NULL;
		for (size_t k = 0; k < open_count; k++) {
			if (open[k]->end_ns < t_ns[i])
				continue;
			if (!out_spans[i] || open[k]->depth >= out_spans[i]->depth)
				out_spans[i] = open[k];
			open[kept++] = open[k];
		}
		open_count = kept;
	}
}

const struct sb_stage_span *sb_stage_spans_over(struct sb_stage_spans *s, int64_t from_ns, int64_t to_ns)
{
	const struct sb_stage_span *best = NULL, *all;
	double best_ns = 0;

	sort(s);
	all = s->all.items;
	for (size_t i = 0; i < s->all.count && all[i].begin_ns <= to_ns; i++) {
		int64_t a = all[i].begin_ns > from_ns ? all[i].begin_ns : from_ns;
		int64_t b = all[i].end_ns < to_ns ? all[i].end_ns : to_ns;
		double filled_ns = (double)(b - a);

		if (b < a)
			continue;
		/* a stage inside another that fills nearly as much says more */
		if (best && (all[i].depth > best->depth ? filled_ns < best_ns * 0.8 : filled_ns <= best_ns))
			continue;
		best = &all[i];
		best_ns = filled_ns;
	}
	return best;
}
