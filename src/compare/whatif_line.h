/* A fixed part and a part for each unit, fitted over runs, and how far another run may be from it. */
#ifndef SB_COMPARE_WHATIF_LINE_H
#define SB_COMPARE_WHATIF_LINE_H

#include "compare/whatif_spread.h"

struct sb_whatif_point {
	double x, call_s; /* units; time of one call */
	double digit_s; /* to which the time was printed; 0: it was measured */
};

struct sb_whatif_line {
	double fixed_s, each_s;
	double mean_x, mean_s, xx; /* of the points; xx: squares of x beside its mean */
	double squares; /* of what the line leaves */
	double digit_s; /* the coarsest of the points; 0: they were measured */
	double least, most; /* x seen */
	size_t count, values; /* points; different x */
};

/* By least squares; nothing is below 0. Only values of out is set where there are fewer than two. */
struct sb_whatif_line sb_whatif_line_fit(const struct sb_whatif_point *p, size_t count);

/* What one call takes at x. */
static inline double sb_whatif_line_at(const struct sb_whatif_line *l, double x)
{
	return l->fixed_s + l->each_s * x;
}

/* How far another run may be from the line at x: by what runs differ, what the line leaves, how far x lies from the
 * points, and how few they are. */
double sb_whatif_line_off(const struct sb_whatif_line *l, const struct sb_whatif_spread *spread, double x);
/* The spread with what the line leaves: runs that lie far from it differ as much elsewhere. */
struct sb_whatif_spread sb_whatif_line_spread(
	const struct sb_whatif_line *l, const struct sb_whatif_spread *spread, double x);
/* What half a digit at the ends of the line makes at x: as much between them, more beyond. */
double sb_whatif_line_lever(const struct sb_whatif_line *l, double x);

#endif
