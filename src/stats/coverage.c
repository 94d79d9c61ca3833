/* Time that is covered by calls which may overlap. */
#include "stats/coverage.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES = SB_COVERAGE_BINS / SB_COVERAGE_PIECE };

static float *make_piece(struct sb_coverage *c, uint32_t piece)
{
	if (!c->pieces)
		c->pieces = calloc(PIECES, sizeof *c->pieces);
	if (c->pieces && !c->pieces[piece])
		c->pieces[piece] = calloc(SB_COVERAGE_PIECE, sizeof **c->pieces);
	c->last = c->pieces ? c->pieces[piece] : NULL;
	c->last_piece = piece;
	return c->last;
}

/* False: no memory. */
static inline bool fill(struct sb_coverage *c, uint32_t bin, double filled_ns)
{
	uint32_t piece = bin / SB_COVERAGE_PIECE;
	float *to = c->last && c->last_piece == piece ? c->last : make_piece(c, piece);

	if (to)
		to[bin % SB_COVERAGE_PIECE] += (float)filled_ns;
	return to != NULL;
}

static double bin_width(const struct sb_coverage_range *range)
{
	return (double)(range->to_ns - range->from_ns) / SB_COVERAGE_BINS;
}

/* The part of a call that lies in the range; false: nothing. */
static bool cut_to(const struct sb_coverage_range *range, int64_t *begin_ns, int64_t *end_ns)
{
	if (*begin_ns < range->from_ns)
		*begin_ns = range->from_ns;
	if (*end_ns > range->to_ns)
		*end_ns = range->to_ns;
	return *end_ns > *begin_ns;
}

/* Most calls are shorter than a bin. */
static bool fill_bins(struct sb_coverage *c, double width, double begin, double end, double density)
{
	uint32_t i = (uint32_t)begin;
	bool ok = true;

	if (i < SB_COVERAGE_BINS && end <= i + 1.0)
		return fill(c, i, (end - begin) * width * density);
	for (; ok && i < SB_COVERAGE_BINS && (double)i < end; i++) {
		double low = begin > i ? begin : i, high = end < i + 1.0 ? end : i + 1.0;

		ok = fill(c, i, (high - low) * width * density);
	}
	return ok;
}

bool sb_coverage_spread(struct sb_coverage *c, const struct sb_coverage_range *range, int64_t begin_ns,
	int64_t end_ns, int64_t total_ns)
{
	double width = bin_width(range);

	if (!cut_to(range, &begin_ns, &end_ns))
		return true;
	return fill_bins(c, width, (double)(begin_ns - range->from_ns) / width,
		(double)(end_ns - range->from_ns) / width, (double)total_ns / (double)(end_ns - begin_ns));
}

bool sb_coverage_add(
	struct sb_coverage *c, const struct sb_coverage_range *range, int64_t begin_ns, int64_t end_ns)
{
	double width = bin_width(range);

	if (!cut_to(range, &begin_ns, &end_ns))
		return true;
	return fill_bins(c, width, (double)(begin_ns - range->from_ns) / width,
		(double)(end_ns - range->from_ns) / width, 1);
}

bool sb_coverage_join(struct sb_coverage *to, const struct sb_coverage *from)
{
	for (uint32_t p = 0; from->pieces && p < PIECES; p++) {
		const float *more = from->pieces[p];
		float *sum = more ? make_piece(to, p) : NULL;

		if (more && !sum)
			return false;
		for (uint32_t i = 0; more && i < SB_COVERAGE_PIECE; i++)
			sum[i] += more[i];
	}
	return true;
}

int64_t sb_coverage_until_ns(
	const struct sb_coverage *c, const struct sb_coverage_range *range, int64_t until_ns)
{
	double width = bin_width(range), rest = (double)(until_ns - range->from_ns), sum = 0;

	for (uint32_t bin = 0; c->pieces && bin < SB_COVERAGE_BINS && rest > 0; bin++, rest -= width) {
		const float *piece = c->pieces[bin / SB_COVERAGE_PIECE];
		double filled = piece ? piece[bin % SB_COVERAGE_PIECE] : 0,
		       most = rest < width ? rest : width;

		sum += filled < most ? filled : most;
	}
	return (int64_t)sum;
}

int64_t sb_coverage_ns(const struct sb_coverage *c, const struct sb_coverage_range *range)
{
	double width = bin_width(range), sum = 0;

	for (uint32_t p = 0; c->pieces && p < PIECES; p++)
		for (uint32_t i = 0; c->pieces[p] && i < SB_COVERAGE_PIECE; i++)
			sum += c->pieces[p][i] < width ? c->pieces[p][i] : width;
	return (int64_t)sum;
}

void sb_coverage_done(struct sb_coverage *c)
{
	for (uint32_t p = 0; c->pieces && p < PIECES; p++)
		free(c->pieces[p]);
	free(c->pieces);
	*c = (struct sb_coverage){ 0 };
}

/* ---- disjoint intervals -------------------------------------------------- */

static void forget_older_half(struct sb_covered *c)
{
	uint32_t half = SB_COVERED_MAX / 2;

	c->floor_ns = c->parts[half - 1].end_ns;
	c->count -= half;
	memmove(c->parts, c->parts + half, c->count * sizeof *c->parts);
}

int64_t sb_covered_add(struct sb_covered *c, int64_t begin_ns, int64_t end_ns)
{
	uint32_t high = c->count, low;
	int64_t known_ns = 0;

	if (!c->parts) {
		c->parts = malloc(SB_COVERED_MAX * sizeof *c->parts);
		c->floor_ns = INT64_MIN;
		if (!c->parts)
			return 0;
	}
	if (begin_ns < c->floor_ns)
		begin_ns = c->floor_ns;
	if (end_ns <= begin_ns)
		return 0;
	while (high && c->parts[high - 1].begin_ns > end_ns)
		high--;
	for (low = high; low && c->parts[low - 1].end_ns >= begin_ns; low--) {
		const struct sb_covered_part *p = &c->parts[low - 1];

		known_ns += p->end_ns - p->begin_ns;
		begin_ns = p->begin_ns < begin_ns ? p->begin_ns : begin_ns;
		end_ns = p->end_ns > end_ns ? p->end_ns : end_ns;
	}
	if (low == high && c->count == SB_COVERED_MAX) {
		forget_older_half(c);
		return sb_covered_add(c, begin_ns, end_ns);
	}
	memmove(c->parts + low + 1, c->parts + high, (c->count - high) * sizeof *c->parts);
	c->count += 1 + low - high;
	c->parts[low] = (struct sb_covered_part){ begin_ns, end_ns };
	return end_ns - begin_ns - known_ns;
}

void sb_covered_done(struct sb_covered *c)
{
	free(c->parts);
	*c = (struct sb_covered){ 0 };
}

/* ---- a union in any order ------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
	const struct sb_covered_part *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Calls of one thread come in order. */
static void put_in_order(struct sb_union *u)
{
	for (uint32_t i = 1; i < u->count; i++) {
		if (u->parts[i].begin_ns < u->parts[i - 1].begin_ns) {
			qsort(u->parts, u->count, sizeof *u->parts, by_begin);
			return;
		}
	}
}

/* In order: the smallest gap of 0, 1, 2, 4 ... ns that joins them to no more than `most` parts. */
static int64_t gap_for(const struct sb_union *u, uint32_t most)
{
	uint32_t wider[65] = { 0 }, left = 1; /* [i]: gaps that 2^(i-1) joins and the one before does not */
	int64_t end_ns = INT64_MIN;
	int i = 63;

	for (uint32_t p = 0; p < u->count; p++) {
		int64_t gap_ns = end_ns == INT64_MIN ? 0 : u->parts[p].begin_ns - end_ns;

		if (gap_ns > 0)
			wider[gap_ns == 1 ? 1 : 65 - __builtin_clzll((uint64_t)gap_ns - 1)]++;
		if (u->parts[p].end_ns > end_ns)
			end_ns = u->parts[p].end_ns;
	}
	while (i > 0 && left + wider[i] <= most)
		left += wider[i--];
	return i ? (int64_t)1 << (i - 1) : 0;
}

/* In order: joins what touches, and what lies no further apart than a gap. */
static void merge(struct sb_union *u, int64_t gap_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < u->count; i++) {
		struct sb_covered_part *last = kept ? &u->parts[kept - 1] : NULL;

		if (!last || u->parts[i].begin_ns - last->end_ns > gap_ns)
			u->parts[kept++] = u->parts[i];
		else if (u->parts[i].end_ns > last->end_ns)
			last->end_ns = u->parts[i].end_ns;
	}
	u->count = kept;
}

static bool union_room(struct sb_union *u)
{
	uint32_t room = u->room ? u->room * 2 : 64;
	struct sb_covered_part *more;

	if (u->count < u->room)
		return true;
	if (u->room >= SB_UNION_MAX) {
		put_in_order(u);
		merge(u, gap_for(u, SB_UNION_MAX / 2));
		return true;
	}
	more = realloc(u->parts, room * sizeof *more);
	if (!more)
		return false;
	u->parts = more;
	u->room = room;
	return true;
}

bool sb_union_add(struct sb_union *u, int64_t begin_ns, int64_t end_ns)
{
	struct sb_covered_part *last = u->count ? &u->parts[u->count - 1] : NULL;

	if (end_ns <= begin_ns)
		return true;
	if (last && begin_ns >= last->begin_ns && begin_ns <= last->end_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return true;
	}
	if (!union_room(u))
		return false;
	u->parts[u->count++] = (struct sb_covered_part){ begin_ns, end_ns };
	return true;
}

int64_t sb_union_ns(struct sb_union *u)
{
	int64_t sum_ns = 0;

	put_in_order(u);
	merge(u, 0);
	for (uint32_t i = 0; i < u->count; i++)
		sum_ns += u->parts[i].end_ns - u->parts[i].begin_ns;
	return sum_ns;
}

void sb_union_done(struct sb_union *u)
{
	free(u->parts);
	*u = (struct sb_union){ 0 };
}
