/* Which stage was open when. */
#include "run/open_stages.h"

#include "base/inorder.h"

#include <stdlib.h>

#define SPANS_MOST 32768u
#define LEAST_NS SB_LONG_ZONE_NS
#define OPEN_MOST 256 /* stages open at the same time, over all threads */

void sb_open_stages_done(struct sb_open_stages *s)
{
	sb_vec_done(&s->all);
}

/* Room again: the shorter ones go. */
static void drop_short(struct sb_open_stages *s)
{
	struct sb_open_stage *all = s->all.items;

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

void sb_open_stages_add(struct sb_open_stages *s, const struct sb_zone *z)
{
	bool open = z->flags & SB_ZONE_OPEN; /* however short: the process ended in it */
	struct sb_open_stage *stage;

	if (!s->least_ns)
		s->least_ns = LEAST_NS;
	if ((z->end_ns - z->begin_ns < s->least_ns && !open) || z->flags & SB_ZONE_SPAN ||
		z->role == STROBE_ROLE_PROFILER)
		return;
	if (s->all.count == SPANS_MOST)
		drop_short(s);
	stage = sb_vec_push(&s->all, sizeof *stage);
	if (!stage) {
		s->failed = true;
		return;
	}
	*stage = (struct sb_open_stage){ z->begin_ns, z->end_ns, z->name, z->depth, z->role, z->track };
	if (open && stage->end_ns == stage->begin_ns)
		stage->end_ns++;
	s->sorted = false;
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_open_stage *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static void sort(struct sb_open_stages *s)
{
	if (!s->sorted && s->all.count)
		sb_sort_unless_in_order(s->all.items, s->all.count, sizeof(struct sb_open_stage), by_begin);
	s->sorted = true;
}

void sb_open_stages_at(
	struct sb_open_stages *s, const int64_t *t_ns, size_t count, const struct sb_open_stage **out_stages)
{
	const struct sb_open_stage *all, *open[OPEN_MOST];
	size_t next = 0, open_count = 0;

	sort(s);
	all = s->all.items;
	for (size_t i = 0; i < count; i++) {
		size_t kept = 0;

		for (; next < s->all.count && all[next].begin_ns <= t_ns[i]; next++) {
			if (all[next].end_ns >= t_ns[i] && open_count < OPEN_MOST)
				open[open_count++] = &all[next];
		}
		out_stages[i] = NULL;
		for (size_t k = 0; k < open_count; k++) {
			if (open[k]->end_ns < t_ns[i])
				continue;
			if (!out_stages[i] || open[k]->depth >= out_stages[i]->depth)
				out_stages[i] = open[k];
			open[kept++] = open[k];
		}
		open_count = kept;
	}
}

const struct sb_open_stage *sb_open_stages_over(struct sb_open_stages *s, int64_t from_ns, int64_t to_ns)
{
	const struct sb_open_stage *best = NULL, *all;
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

struct sb_open_stages_gaps sb_open_stages_gaps(struct sb_open_stages *s, int64_t from_ns, int64_t to_ns)
{
	struct sb_open_stages_gaps gaps = { 0, 0, to_ns };
	const struct sb_open_stage *all;
	int64_t until_ns = from_ns;

	sort(s);
	all = s->all.items;
	for (size_t i = 0; i < s->all.count && all[i].begin_ns <= to_ns; i++) {
		if (all[i].end_ns < from_ns)
			continue;
		if (all[i].begin_ns > until_ns) {
			gaps.all_ns += all[i].begin_ns - until_ns;
			gaps.lead_ns = until_ns == from_ns ? gaps.all_ns : gaps.lead_ns;
			gaps.last_ns = all[i].begin_ns - 1;
		}
		until_ns = all[i].end_ns > until_ns ? all[i].end_ns : until_ns;
	}
	if (until_ns < to_ns) {
		gaps.all_ns += to_ns - until_ns;
		gaps.lead_ns = until_ns == from_ns ? gaps.all_ns : gaps.lead_ns;
		gaps.last_ns = to_ns;
	}
	return gaps;
}

const struct sb_open_stage *sb_open_stages_rose(struct sb_open_stages *s, int64_t from_ns, int64_t to_ns)
{
	const struct sb_open_stage *most = sb_open_stages_over(s, from_ns, to_ns), *at;
	int64_t begin_ns;

	if (sb_open_stages_gaps(s, from_ns, to_ns).all_ns * 2 > to_ns - from_ns)
		return NULL;
	sb_open_stages_at(s, &to_ns, 1, &at);
	begin_ns = at && at->begin_ns > from_ns ? at->begin_ns : from_ns;
	if (!most || (at && (to_ns - begin_ns) * 2 >= to_ns - from_ns))
		return at;
	begin_ns = most->begin_ns > from_ns ? most->begin_ns : from_ns;
	return ((most->end_ns < to_ns ? most->end_ns : to_ns) - begin_ns) * 2 >= to_ns - from_ns ? most : at;
}
