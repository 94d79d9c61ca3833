/* The calls of one stage, in the order of time: which moments lie in them, and how much of a time they take. */
#include "analyze/memory/residency.h"

#include <stdlib.h>
#include <string.h>

struct call {
	double begin_s, end_s;
	double until_s; /* the latest end of it and those before it */
};

static int by_begin(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->begin_s < y->begin_s ? -1 : x->begin_s > y->begin_s;
}

bool sb_stage_calls_init(
	struct sb_stage_calls *calls, const struct sb_residency_collected *c, const char *stage)
{
	const struct sb_open_stage *open = c->named.all.items;
	double until_s = -INFINITY;
	struct call *all;

	*calls = (struct sb_stage_calls){ 0 };
	for (size_t i = 0; i < c->named.all.count; i++) {
		struct call *call;

		if (strcmp(c->run->names[open[i].name].text, stage) != 0)
			continue;
		call = sb_vec_push(&calls->all, sizeof *call);
		if (!call)
			return false;
		*call = (struct call){ (double)open[i].begin_ns / 1e9, (double)open[i].end_ns / 1e9, 0 };
	}
	all = calls->all.items;
	if (calls->all.count)
		qsort(all, calls->all.count, sizeof *all, by_begin);
	for (size_t i = 0; i < calls->all.count; i++)
		all[i].until_s = until_s = fmax(until_s, all[i].end_s);
	return true;
}

void sb_stage_calls_done(struct sb_stage_calls *calls)
{
	sb_vec_done(&calls->all);
}

/* How many begin up to a moment. */
static size_t begun(const struct sb_stage_calls *calls, double t_s)
{
	const struct call *all = calls->all.items;
	size_t low = 0, high = calls->all.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].begin_s <= t_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool sb_stage_calls_have(const struct sb_stage_calls *calls, double t_s)
{
	const struct call *all = calls->all.items;
	size_t count = begun(calls, t_s);

	return count && all[count - 1].until_s >= t_s;
}

bool sb_stage_calls_within(const struct sb_stage_calls *calls, double from_s, double to_s,
	double *out_begin_s, double *out_end_s)
{
	const struct call *all = calls->all.items;
	double begin_s = INFINITY, end_s = -INFINITY;

	for (size_t i = 0; i < calls->all.count; i++)
		if (all[i].begin_s >= from_s && all[i].end_s <= to_s) {
			begin_s = fmin(begin_s, all[i].begin_s);
			end_s = fmax(end_s, all[i].end_s);
		}
	if (begin_s > end_s)
		return false;
	*out_begin_s = begin_s;
	*out_end_s = end_s;
	return true;
}
