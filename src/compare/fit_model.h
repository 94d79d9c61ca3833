/* Peak memory and time as functions of the sizes that vary between the points, and what they say of a size. For fit.c. */
#ifndef SB_COMPARE_FIT_MODEL_H
#define SB_COMPARE_FIT_MODEL_H

#include "compare/fit_points.h"

/* A function over the axes that vary: of the whole, or the sum or largest of its stages. */
struct sb_fit_model {
	bool known, by_stage, largest;
	struct sb_surface whole;
	struct sb_surface *stages;
	size_t stage_count;
	double error_ratio, worst_ratio;
};

struct sb_fitting {
	struct sb_fit *fit;
	struct sb_fit_points points;
	size_t varies[SB_SURFACE_AXES], vary_count; /* axes that have several values */
	unsigned repeats;
	struct sb_fit_model memory, time;
};

/* Of all axes, those that vary. */
void sb_fit_x_of(const struct sb_fitting *f, const double *all, double *out);

/* The points that have the quantity at this offset of struct sb_fit_point; returns how many. */
size_t sb_fit_column(const struct sb_fitting *f, size_t offset, struct sb_surface_point *out);
size_t sb_fit_least_count(const struct sb_fitting *f); /* of points, for a function */

/* Makes the function of a quantity. It stays unknown where too few points have it.
 * largest: the whole is the largest of its stages, else their sum. */
int sb_fit_model_make(struct sb_fitting *f, size_t offset, bool largest, struct sb_fit_model *m);

/* all: a value for every axis. */
struct sb_fit_value sb_fit_value_at(
	const struct sb_fitting *f, const struct sb_fit_model *m, const double *all);
void sb_fit_target(const struct sb_fitting *f, double *out); /* the size that is asked for */

/* By how much a size is beyond what was measured, as a ratio: the farthest of its axes, and of their product; NAN: it is not. */
double sb_fit_beyond(const struct sb_fitting *f, const double *all);

/* fit_largest.c: how far each size may grow while all else is as asked for. */
int sb_fit_find_largest(struct sb_fitting *f);

#endif
