/* Which times a function is fitted to, and what a process's first generation takes more. For fit.c. */
#ifndef SB_COMPARE_FIT_TIMES_H
#define SB_COMPARE_FIT_TIMES_H

#include "compare/fit_points.h"

/* The axes that vary, as fit.c counts them. */
struct sb_fit_axes {
	const size_t *varies;
	size_t count;
	unsigned repeats;
};

/* Sets `used_s` of the points. Warm times alone where there are enough; else also those of first generations, less what
 * these take more; without any warm one, those as they are. Returns "warm", "first"; NULL: there are too few. */
const char *sb_fit_times_choose(struct sb_fit_points *p, const struct sb_fit_axes *axes, size_t least);
/* What the first ones took beyond what a warm one of their size takes; warm_s: predicted for each point. */
struct sb_fit_first sb_fit_times_first(const struct sb_fit_points *p, const double *warm_s);

#endif
