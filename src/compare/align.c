/* Clocks as a graph: machines that meet are linked, and each is set along the surest way from the
 * first rank's. */
#include "compare/align.h"

#include "base/error.h"
#include "base/vec.h"
#include "compare/clock_link.h"
#include "compare/meet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct link {
	uint32_t from, to; /* domains */
	struct sb_vec bounds; /* struct sb_clock_bound: the offset of `to` less that of `from` */
	struct sb_clock_curve curve;
	bool told;
};

/* A domain: what has one clock. */
struct domain {
	const char *clock;
	bool set;
	double uncertainty_s, residual_s, drift_ratio;
	size_t used_count;
	size_t knot_count;
	double knot_s[SB_ALIGN_KNOTS], knot_offset_s[SB_ALIGN_KNOTS];
	/* of the collective that is looked at */
	bool there;
	double first_end_s, last_begin_s; /* by its own time of day, since the first rank's start */
};

struct graph {
	struct sb_align_rank *ranks;
	size_t rank_count;
	uint32_t *domain_of; /* by rank */
	struct domain *domains;
	uint32_t domain_count;
	struct sb_vec links; /* struct link */
	bool no_memory;
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to align the clocks");
}

static const char *clock_of(const struct sb_align_rank *r)
{
	return r->clock && *r->clock ? r->clock : r->host;
}

/* ---- domains ---- */

struct named {
	const char *clock;
	uint32_t rank;
};

static int by_clock(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->clock, y->clock);

	return order ? order : x->rank < y->rank ? -1 : 1;
}

/* Ranks that do not say their machine have a clock each. The first rank's is domain 0. */
static int find_domains(struct graph *g)
{
	struct named *sorted = malloc((g->rank_count + 1) * sizeof *sorted);
	uint32_t first;

	g->domain_of = calloc(g->rank_count + 1, sizeof *g->domain_of);
	g->domains = calloc(g->rank_count + 1, sizeof *g->domains);
	if (!sorted || !g->domain_of || !g->domains) {
		free(sorted);
		return no_memory();
	}
	for (uint32_t i = 0; i < g->rank_count; i++)
		sorted[i] = (struct named){ clock_of(&g->ranks[i]), i };
	qsort(sorted, g->rank_count, sizeof *sorted, by_clock);
	for (size_t i = 0; i < g->rank_count; i++) {
		if (!i || !*sorted[i].clock || strcmp(sorted[i].clock, sorted[i - 1].clock))
			g->domains[g->domain_count++].clock = sorted[i].clock;
		g->domain_of[sorted[i].rank] = g->domain_count - 1;
	}
	free(sorted);
	first = g->domain_of[0];
	for (size_t i = 0; i < g->rank_count; i++) {
		if (g->domain_of[i] == first)
			g->domain_of[i] = 0;
		else if (g->domain_of[i] < first)
			g->domain_of[i]++;
	}
	return 0;
}

/* ---- bounds ---- */

static double time_of_day(const struct graph *g, const struct sb_align_rank *r, double t_s)
{
	return ((double)(int64_t)(r->start_real_ns - g->ranks[0].start_real_ns)) / 1e9 + t_s;
}

static struct link *link_of(struct graph *g, uint32_t from, uint32_t to)
{
	struct link *all = g->links.items, *made;

	/* collectives of a group come one after the other: the last links are looked at first */
	for (size_t i = g->links.count; i-- > 0;)
		if (all[i].from == from && all[i].to == to)
			return &all[i];
	made = sb_vec_push(&g->links, sizeof *made);
	if (!made) {
		g->no_memory = true;
		return NULL;
	}
	made->from = from;
	made->to = to;
	return made;
}

static void add_bound(struct graph *g, uint32_t from, uint32_t to, const struct sb_clock_bound *bound)
{
	struct link *l = link_of(g, from, to);
	struct sb_clock_bound *b = l ? sb_vec_push(&l->bounds, sizeof *b) : NULL;

	if (b)
		*b = *bound;
	else
		g->no_memory = true;
}

/* Leaves (by a's clock) come after arrivals (by b's): one side of how far b is ahead of a. */
static void add_one_side(
	struct graph *g, const struct sb_meet_part *leaves, const struct sb_meet_part *arrives)
{
	uint32_t a = g->domain_of[leaves->rank], b = g->domain_of[arrives->rank];
	double end_s = time_of_day(g, &g->ranks[leaves->rank], leaves->call->end_s);
	double begin_s = time_of_day(g, &g->ranks[arrives->rank], arrives->call->begin_s);
	struct sb_clock_bound bound = {
		.t_s = end_s, .guess_s = NAN, .low_s = -INFINITY, .high_s = INFINITY
	};

	if (a == b)
		return;
	if (a < b) {
		bound.high_s = end_s - begin_s; /* of b's offset less a's */
		add_bound(g, a, b, &bound);
	} else {
		bound.low_s = begin_s - end_s;
		add_bound(g, b, a, &bound);
	}
}

static const struct sb_meet_part *part_of(
	const struct graph *g, const struct sb_meet_part *p, size_t count, int64_t rank)
{
	for (size_t i = 0; i < count; i++)
		if (g->ranks[p[i].rank].rank == rank)
			return &p[i];
	return NULL;
}

/* broadcast and scatter: who receives leaves after the root has come; reduce and gather: the root
 * leaves after all have; a receive ends after its send began. */
static void add_directed(struct graph *g, const struct sb_meet_part *p, size_t count)
{
	const struct sb_meet_part *root = NULL;

	if (p->call->kind >= SB_MEET_SEND) {
		for (size_t i = 0; i + 1 < count; i++)
			if (p[i].call->kind != p[i + 1].call->kind)
				add_one_side(g, p[i].call->kind == SB_MEET_RECV ? &p[i] : &p[i + 1],
					p[i].call->kind == SB_MEET_RECV ? &p[i + 1] : &p[i]);
		return;
	}
	root = part_of(g, p, count, p->call->root);
	for (size_t i = 0; root && i < count; i++)
		if (&p[i] != root)
			add_one_side(g, p->call->kind == SB_MEET_FROM_ROOT ? &p[i] : root,
				p->call->kind == SB_MEET_FROM_ROOT ? root : &p[i]);
}

static void note_part(struct graph *g, const struct sb_meet_part *p, double *least_s)
{
	struct domain *d = &g->domains[g->domain_of[p->rank]];
	double end_s = time_of_day(g, &g->ranks[p->rank], p->call->end_s);
	double begin_s = time_of_day(g, &g->ranks[p->rank], p->call->begin_s);

	d->first_end_s = d->there ? fmin(d->first_end_s, end_s) : end_s;
	d->last_begin_s = d->there ? fmax(d->last_begin_s, begin_s) : begin_s;
	d->there = true;
	/* only who was still waiting when it ended left with the others */
	*least_s = fmin(*least_s, p->call->end_s - p->call->begin_s);
}

static uint32_t first_domain(const struct graph *g, const struct sb_meet_part *p, size_t count)
{
	uint32_t first = UINT32_MAX;

	for (size_t i = 0; i < count; i++)
		if (g->domain_of[p[i].rank] < first)
			first = g->domain_of[p[i].rank];
	return first;
}

/* All come before any leaves; all leave within the time of the one that came last. */
static void add_all(struct graph *g, const struct sb_meet_part *p, size_t count)
{
	uint32_t from = first_domain(g, p, count);
	const struct domain *a = &g->domains[from];
	double least_s = INFINITY;
	bool late = false;

	for (size_t i = 0; i < count; i++) {
		note_part(g, &p[i], &least_s);
		late |= p[i].call->late_end;
	}
	for (size_t i = 0; i < count; i++) {
		struct domain *b = &g->domains[g->domain_of[p[i].rank]];

		if (b != a && b->there) {
			struct sb_clock_bound bound = { .t_s = a->first_end_s,
				.low_s = a->last_begin_s - b->first_end_s,
				.high_s = a->first_end_s - b->last_begin_s,
				.guess_s = late ? NAN : a->first_end_s - b->first_end_s,
				.spread_s = least_s };

			add_bound(g, from, g->domain_of[p[i].rank], &bound);
		}
		b->there = false;
	}
	g->domains[from].there = false;
}

static void add_bounds(struct graph *g, const struct sb_meet *m)
{
	for (size_t k = 0; k < m->count; k++) {
		const struct sb_meet_part *p = &m->parts[m->all[k].first];
		size_t count = m->all[k].count;

		if (p->call->kind != SB_MEET_ALL)
			add_directed(g, p, count);
		else if (p->call->group || 2 * count > g->rank_count)
			add_all(g, p, count);
	}
}

/* ---- the surest way ---- */

static struct link *surest_link(struct graph *g)
{
	struct link *all = g->links.items, *best = NULL;
	double least = INFINITY;

	for (size_t i = 0; i < g->links.count; i++) {
		const struct domain *from = &g->domains[all[i].from], *to = &g->domains[all[i].to];
		double sum = all[i].curve.uncertainty_s + (from->set ? from : to)->uncertainty_s;

		if (!all[i].told || from->set == to->set || sum >= least)
			continue;
		least = sum;
		best = &all[i];
	}
	return best;
}

static double offset_at(const struct domain *d, double t_s)
{
	struct sb_clock_curve c = { .knot_count = d->knot_count, .drift_ratio = d->drift_ratio };

	memcpy(c.knot_s, d->knot_s, sizeof c.knot_s);
	memcpy(c.offset_s, d->knot_offset_s, sizeof c.offset_s);
	return sb_clock_curve_at(&c, t_s);
}

/* The link's knots are kept; what the way before adds is read at them. */
static void follow(struct graph *g, const struct link *l)
{
	bool back = g->domains[l->to].set;
	const struct domain *from = &g->domains[back ? l->to : l->from];
	struct domain *to = &g->domains[back ? l->from : l->to];
	double sign = back ? -1 : 1;

	to->set = true;
	to->uncertainty_s = from->uncertainty_s + l->curve.uncertainty_s;
	to->residual_s = fmax(from->residual_s, l->curve.residual_s);
	to->drift_ratio = from->drift_ratio + sign * l->curve.drift_ratio;
	to->used_count = l->curve.used_count;
	to->knot_count = l->curve.knot_count;
	for (size_t i = 0; i < to->knot_count; i++) {
		to->knot_s[i] = l->curve.knot_s[i];
		to->knot_offset_s[i] = sign * l->curve.offset_s[i] + offset_at(from, to->knot_s[i]);
	}
}

static void set_clocks(struct graph *g)
{
	struct link *all = g->links.items, *next;

	for (size_t i = 0; i < g->links.count; i++)
		all[i].told = sb_clock_link_fit(all[i].bounds.items, all[i].bounds.count, &all[i].curve);
	g->domains[0].set = true;
	while ((next = surest_link(g)))
		follow(g, next);
}

static void tell_rank(struct graph *g, size_t i)
{
	struct sb_align_rank *r = &g->ranks[i];
	const struct domain *d = &g->domains[g->domain_of[i]];

	r->offset_s = 0;
	r->drift_ratio = r->uncertainty_s = r->residual_s = NAN;
	r->matched_count = d->used_count;
	r->knot_count = 0;
	if (!g->domain_of[i]) {
		r->method = SB_ALIGN_SAME_HOST;
		r->uncertainty_s = r->residual_s = r->drift_ratio = 0;
	} else if (!d->set) {
		r->method = SB_ALIGN_REAL_TIME;
		r->matched_count = 0;
	} else {
		r->method = SB_ALIGN_COLLECTIVES;
		r->knot_count = d->knot_count;
		memcpy(r->knot_s, d->knot_s, sizeof r->knot_s);
		memcpy(r->knot_offset_s, d->knot_offset_s, sizeof r->knot_offset_s);
		r->offset_s = d->knot_offset_s[d->knot_count / 2];
		r->drift_ratio = -d->drift_ratio;
		r->uncertainty_s = d->uncertainty_s;
		r->residual_s = d->residual_s;
	}
}

static void graph_done(struct graph *g)
{
	struct link *all = g->links.items;

	for (size_t i = 0; i < g->links.count; i++)
		sb_vec_done(&all[i].bounds);
	sb_vec_done(&g->links);
	free(g->domain_of);
	free(g->domains);
}

int sb_align(struct sb_align_rank *ranks, size_t count)
{
	struct graph g = { .ranks = ranks, .rank_count = count };
	struct sb_meet meet = { 0 };
	int err;

	if (!count)
		return 0;
	err = find_domains(&g);
	if (!err && g.domain_count > 1)
		err = sb_meet_match(ranks, count, &meet);
	if (!err) {
		add_bounds(&g, &meet);
		set_clocks(&g);
		err = g.no_memory ? no_memory() : 0;
	}
	for (size_t i = 0; i < count && !err; i++)
		tell_rank(&g, i);
	sb_meet_done(&meet);
	graph_done(&g);
	return err;
}

double sb_align_time(const struct sb_align_rank *first, const struct sb_align_rank *r, double t_s)
{
	double day_s = (double)(int64_t)(r->start_real_ns - first->start_real_ns) / 1e9 + t_s;
	struct sb_clock_curve c = { .knot_count = r->knot_count,
		.drift_ratio = isnan(r->drift_ratio) ? 0 : -r->drift_ratio };

	if (!r->knot_count)
		return day_s + (isnan(r->offset_s) ? 0 : r->offset_s);
	memcpy(c.knot_s, r->knot_s, sizeof c.knot_s);
	memcpy(c.offset_s, r->knot_offset_s, sizeof c.offset_s);
	return day_s + sb_clock_curve_at(&c, day_s);
}

double sb_align_residual(const struct sb_align_rank *ranks, size_t count)
{
	double worst = NAN;

	for (size_t i = 1; i < count; i++)
		worst = fmax(worst, ranks[i].residual_s);
	return count == 1 ? 0 : worst;
}

double sb_align_uncertainty(const struct sb_align_rank *ranks, size_t count)
{
	double worst = NAN;

	for (size_t i = 1; i < count; i++)
		worst = fmax(worst, ranks[i].uncertainty_s);
	return count == 1 ? 0 : worst;
}

const char *const sb_align_names[] = { "same_host", "collectives", "real_time", SB_NAMES_END };
