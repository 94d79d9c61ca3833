/* Which rank comes last where ranks meet, and what that costs the others: waiting for the last one is
 * kept apart from what the collective itself takes. Blame is given only where the clocks can tell. */
#include "compare/aggregate.h"

#include "base/error.h"
#include "compare/links.h"
#include "compare/meet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

static double arrival_of(const struct sb_aggregate *a, const struct sb_meet_part *p)
{
	return sb_align_time(&a->ranks[0].align, &a->ranks[p->rank].align, p->call->begin_s);
}

static bool same_clock(const struct sb_aggregate *a, uint32_t x, uint32_t y)
{
	const struct sb_align_rank *p = &a->ranks[x].align, *q = &a->ranks[y].align;

	return x == y || (*p->clock && !strcmp(p->clock, q->clock));
}

/* How far two arrivals may be from what they seem; INFINITY: the clocks cannot tell at all. */
static double doubt_between(const struct sb_aggregate *a, uint32_t x, uint32_t y)
{
	double doubt;

	if (same_clock(a, x, y))
		return 0;
	doubt = a->ranks[x].align.uncertainty_s + a->ranks[y].align.uncertainty_s;
	return isnan(doubt) ? INFINITY : doubt;
}

static size_t last_of(const double *arrivals, size_t count)
{
	size_t last = 0;

	for (size_t i = 1; i < count; i++)
		if (arrivals[i] > arrivals[last])
			last = i;
	return last;
}

/* Whether no other one could have come last as well. */
static bool is_certain(const struct sb_aggregate *a, const struct sb_meet_part *p, const double *arrivals,
	size_t count, size_t last)
{
	for (size_t i = 0; i < count; i++)
		if (i != last && arrivals[last] - arrivals[i] <= doubt_between(a, p[last].rank, p[i].rank))
			return false;
	return true;
}

/* What a rank waited here: until the other came, but not before it began to wait; the rest of its time in there
 * is the exchange's own. */
static double split_wait(const struct sb_meet_part *p, double until_s, struct sb_communication *row)
{
	double took_s = p->call->end_s - p->call->begin_s, exposed_s = fmax(took_s - p->call->hidden_s, 0);
	double waited_s = fmin(fmax(until_s - p->call->hidden_s, 0), exposed_s);

	row->late_wait_s += waited_s;
	row->transfer_s += exposed_s - waited_s;
	row->hidden_s += p->call->hidden_s;
	return waited_s;
}

static void add_to_rank(struct sb_aggregate_rank *r, const struct sb_meet_part *p, double waited_s)
{
	double took_s = p->call->end_s - p->call->begin_s;

	r->late_wait_s += waited_s;
	r->transfer_s += fmax(took_s - p->call->hidden_s, 0) - waited_s;
	r->hidden_s += p->call->hidden_s;
}

/* Until the last one left, on the first rank's clock. */
static double exchange_s(
	const struct sb_aggregate *a, const struct sb_meet_part *p, size_t count, double last_came_s)
{
	double left_s = last_came_s;

	for (size_t i = 0; i < count; i++)
		if (!p[i].call->late_end)
			left_s = fmax(left_s, sb_align_time(&a->ranks[0].align, &a->ranks[p[i].rank].align,
						      p[i].call->end_s));
	return left_s - last_came_s;
}

/* Whether ranks were still starting: what they wait for each other then says nothing of their work. */
static bool is_startup(const struct sb_aggregate *a, const struct sb_meet_part *p, size_t count)
{
	for (size_t i = 0; i < count && a->work_measure == SB_WORK_BETWEEN_COLLECTIVES; i++)
		if (p[i].call->end_s <= a->ranks[p[i].rank].met_s)
			return true;
	return false;
}

static void judge(struct sb_aggregate *a, const struct sb_meet_part *p, size_t count, double *arrivals,
	struct sb_links *links)
{
	struct sb_communication *row = sb_links_row(links, p, count, p->call->group, p->call->name);
	double waited_s = 0;
	size_t last;

	for (size_t i = 0; i < count; i++)
		arrivals[i] = arrival_of(a, &p[i]);
	last = last_of(arrivals, count);
	a->collective_count++;
	for (size_t i = 0; i < count; i++) {
		double one_s = split_wait(&p[i], arrivals[last] - arrivals[i], row);

		add_to_rank(&a->ranks[p[i].rank], &p[i], one_s);
		waited_s += one_s;
	}
	sb_links_moved(links, row, p, count, exchange_s(a, p, count, arrivals[last]));
	if (!is_certain(a, p, arrivals, count, last)) {
		a->unclear_count++;
		return;
	}
	if (is_startup(a, p, count)) {
		a->startup_wait_s += waited_s;
		return;
	}
	for (size_t i = 0; i < count; i++)
		a->ranks[p[i].rank].clear_count++;
	a->ranks[p[last].rank].last_count++;
	sb_links_last(links, row, p[last].rank);
	a->ranks[p[last].rank].caused_wait_s += waited_s;
}

/* ---- one side waits for the other ---- */

/* "p2p:gloo:0-3:0:0>1:7" of a pair with its tag is in "gloo:0-3:0". */
static const char *group_of_pair(struct sb_aggregate *a, const char *pair)
{
	size_t length = strlen(pair);

	if (strncmp(pair, "p2p:", 4) != 0)
		return pair;
	for (int fields = 0; fields < 2 && length > 4; length--)
		fields += pair[length - 1] == ':';
	return sb_strings_text(&a->strings, sb_strings_add(&a->strings, pair + 4, length - 4));
}

static bool is_pair(const struct sb_meet_part *p, size_t count)
{
	return count == 2 && p[0].call->kind != p[1].call->kind && p[0].call->kind >= SB_MEET_SEND &&
	       p[1].call->kind >= SB_MEET_SEND;
}

/* When the one that part i waits for had come: of a pair the other, of a broadcast the root, and the root of a
 * reduce waits for all. */
static double needed_of(const struct sb_aggregate *a, const struct sb_meet_part *p, const double *arrivals,
	size_t count, size_t i)
{
	bool pair = p->call->kind >= SB_MEET_SEND;
	bool is_root = !pair && a->ranks[p[i].rank].rank == p->call->root;
	double needed_s = arrivals[i];

	for (size_t k = 0; k < count; k++) {
		bool root = !pair && a->ranks[p[k].rank].rank == p->call->root;

		if (pair || (p->call->kind == SB_MEET_FROM_ROOT ? root : is_root))
			needed_s = fmax(needed_s, arrivals[k]);
	}
	return needed_s;
}

/* A row of its own, and no blame: a stage of a pipeline is later than the one before it by design. */
static void note_directed(struct sb_aggregate *a, const struct sb_meet_part *p, size_t count,
	double *arrivals, struct sb_links *links)
{
	bool pair = p->call->kind >= SB_MEET_SEND;
	struct sb_communication *row;
	size_t last;

	if (!p->call->group || (pair && !is_pair(p, count)))
		return;
	row = sb_links_row(
		links, p, count, group_of_pair(a, p->call->group), pair ? "send/recv" : p->call->name);
	for (size_t i = 0; i < count; i++)
		arrivals[i] = arrival_of(a, &p[i]);
	for (size_t i = 0; i < count; i++)
		split_wait(&p[i], needed_of(a, p, arrivals, count, i) - arrivals[i], row);
	last = last_of(arrivals, count);
	sb_links_moved(links, row, p, count, exchange_s(a, p, count, arrivals[last]));
	if (is_certain(a, p, arrivals, count, last))
		sb_links_last(links, row, p[last].rank);
}

/* By name alone, a collective that half of the ranks do not know says nothing. */
static bool is_judged(const struct sb_aggregate *a, const struct sb_meet_part *p, size_t count)
{
	return p->call->kind == SB_MEET_ALL && (p->call->group || 2 * count > a->rank_count);
}

/* Those that are kept stand for all. */
static void scale_up(struct sb_aggregate *a)
{
	a->late_wait_s = a->transfer_s = a->hidden_s = a->collective_count ? 0 : NAN;
	for (size_t i = 0; i < a->rank_count; i++) {
		struct sb_aggregate_rank *r = &a->ranks[i];
		double factor = r->collective_count
					? (double)r->collective_total / (double)r->collective_count
					: 1;

		if (!(factor >= 1))
			factor = 1;
		r->late_wait_s *= factor;
		r->transfer_s *= factor;
		r->hidden_s *= factor;
		r->caused_wait_s *= factor;
		a->late_wait_s += r->late_wait_s;
		a->transfer_s += r->transfer_s;
		a->hidden_s += r->hidden_s;
	}
}

static void begin(struct sb_aggregate *a, struct sb_align_rank *align)
{
	a->residual_s = sb_align_residual(align, a->rank_count);
	a->uncertainty_s = sb_align_uncertainty(align, a->rank_count);
	for (size_t i = 0; i < a->rank_count; i++) {
		struct sb_aggregate_rank *r = &a->ranks[i];

		r->align = align[i];
		r->late_wait_s = r->transfer_s = r->hidden_s = 0;
		r->caused_wait_s = r->collective_count && a->rank_count > 1 ? 0 : NAN;
	}
}

int sb_aggregate_meet(struct sb_aggregate *a)
{
	struct sb_align_rank *align = calloc(a->rank_count + 1, sizeof *align);
	double *arrivals = malloc((a->rank_count + 1) * sizeof *arrivals);
	struct sb_links *links = sb_links_new(a->rank_count);
	struct sb_meet meet = { 0 };
	int err = align && arrivals && links ? 0 : no_memory();

	for (size_t i = 0; i < a->rank_count && !err; i++)
		align[i] = (struct sb_align_rank){ .rank = a->ranks[i].rank,
			.host = a->ranks[i].host,
			.clock = a->ranks[i].clock && *a->ranks[i].clock ? a->ranks[i].clock
									 : a->ranks[i].host,
			.start_real_ns = a->ranks[i].start_real_ns,
			.collectives = a->ranks[i].collectives,
			.collective_count = a->ranks[i].collective_count };
	if (!err)
		err = sb_align(align, a->rank_count);
	if (!err)
		begin(a, align);
	if (!err && a->rank_count > 1)
		err = sb_meet_match(align, a->rank_count, &meet);
	if (!err)
		err = sb_aggregate_measure_work(a, &meet);
	for (size_t k = 0; k < meet.count && !err; k++) {
		const struct sb_meet_part *p = &meet.parts[meet.all[k].first];

		if (is_judged(a, p, meet.all[k].count))
			judge(a, p, meet.all[k].count, arrivals, links);
		else
			note_directed(a, p, meet.all[k].count, arrivals, links);
	}
	if (!err)
		scale_up(a);
	if (!err)
		err = sb_links_finish(links, a);
	if (!err)
		err = sb_aggregate_find_late_groups(a, &meet);
	sb_links_free(links);
	sb_meet_done(&meet);
	free(align);
	free(arrivals);
	return err;
}
