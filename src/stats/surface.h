/* A value over several sizes, such as peak memory over frames, width and height: the simplest sum of products
 * of the sizes that explains the points, and by leave-one-out how far off it is. Coefficients are never
 * negative: what grows does not make the value smaller. */
#ifndef SB_STATS_SURFACE_H
#define SB_STATS_SURFACE_H

#include <stddef.h>
#include <stdint.h>

#define SB_SURFACE_AXES 6
#define SB_SURFACE_TERMS 2
#define SB_SURFACE_FORMS 32
#define SB_SURFACE_POINTS 100

struct sb_surface_point {
	double x[SB_SURFACE_AXES]; /* above 0 */
	double y; /* above 0 */
};

/* fixed + each[0] * x^power[0] + each[1] * x^power[1] */
struct sb_surface_form {
	uint8_t power[SB_SURFACE_TERMS][SB_SURFACE_AXES];
	size_t term_count;
	double fixed, each[SB_SURFACE_TERMS];
	double error_ratio; /* leave-one-out: root mean square of the relative errors */
};

struct sb_surface {
	size_t axis_count, point_count;
	double error_ratio, worst_ratio; /* of the first form */
	double most; /* the largest value among the points */
	double most_x[SB_SURFACE_AXES], most_product; /* the largest sizes among them, and together */
	double most_squared; /* the same of axes that may be quadratic */
	unsigned repeats;
	struct sb_surface_form forms[SB_SURFACE_FORMS]; /* the first predicts; the others do nearly as well */
	size_t form_count;
};

/* Points are of different sizes, at least two. repeats: bits of axes that only multiply (steps): nothing is
 * quadratic in them. STROBE_EINVAL: too few points. */
int sb_surface_fit(const struct sb_surface_point *points, size_t count, size_t axis_count, unsigned repeats,
	struct sb_surface *out_surface);

/* Of the first form; low and high: over all forms, and at least twice the leave-one-out error, which grows with the value and the
 * sizes beyond the largest point. */
double sb_surface_at(const struct sb_surface *s, const double *x, double *out_low, double *out_high);
/* How many times what was measured a size is; 1: it is inside. */
double sb_surface_reach(const struct sb_surface *s, const double *x);
/* What the first form says of a point when it is fitted to the other ones; NAN: they do not suffice. */
double sb_surface_without(
	const struct sb_surface *s, const struct sb_surface_point *points, size_t count, size_t left_out);

#endif
