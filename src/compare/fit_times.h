/* Which times a function is fitted to, and how much longer a process's first generation takes. For
 * fit.c. */
#ifndef SB_COMPARE_FIT_TIMES_H
#define SB_COMPARE_FIT_TIMES_H

#include "compare/fit_points.h"

/* The axes that vary, as fit.c counts them. */
struct sb_fit_axes {
	const size_t *varies;
	size_t count;
	unsigned repeats;
};

/* Sets `used_s` of the points. Uses warm times alone if there are enough; else also first generations,
 * less their extra time; if there is no warm one, first generations as they are. Returns "warm", "first";
 * NULL: there are too few. */
const char *sb_fit_times_choose(struct sb_fit_points *p, const struct sb_fit_axes *axes, size_t least);
/* What the first ones took beyond what a warm one of their size takes; warm_s: predicted for each point. */
struct sb_fit_first sb_fit_times_first(const struct sb_fit_points *p, const double *warm_s);

#endif
