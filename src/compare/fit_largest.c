/* The largest size that fits: each axis alone, width and height together. */
#include "compare/fit_model.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define STEP_MOST 16 /* of a size's grid */

static bool has_room(const struct sb_fitting *f, const double *all)
{
	return sb_fit_value_at(f, &f->memory, all).high + f->fit->context_bytes <= f->fit->capacity_bytes;
}

/* No size is said to fit that is too far to tell. */
static bool fits(const struct sb_fitting *f, const double *all)
{
	return !(sb_fit_beyond(f, all) > SB_FIT_FARTHEST) && has_room(f, all);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

/* Which values a size takes: multiples of what the known ones differ by (4 k + 1 frames, pixels by 16). */
static int64_t grid_of(const struct sb_fitting *f, size_t axis)
{
	int64_t step = 0, first = (int64_t)f->points.axes[axis].value;

	for (size_t i = 0; i < f->points.count; i++)
		step = common_divisor(step, (int64_t)f->points.all[i].x[axis] - first);
	while (step > STEP_MOST && step % 2 == 0)
		step /= 2;
	return step > 0 && step <= STEP_MOST ? step : 1;
}

/* Steps of the grid from the asked value on: the most for which it fits, between those given. */
static int64_t search(const struct sb_fitting *f, size_t axis, int64_t other, double factor_of_other,
	int64_t step, int64_t low, int64_t high)
{
	double all[SB_SURFACE_AXES] = { 0 };

	sb_fit_target(f, all);
	while (low < high) {
		int64_t mid = low + (high - low + 1) / 2;

		all[axis] = f->points.axes[axis].value + (double)(mid * step);
		if (other >= 0)
			all[other] = all[axis] * factor_of_other;
		if (fits(f, all))
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

static void add_largest(struct sb_fitting *f, size_t axis, int64_t other)
{
	const struct sb_fit_axis *a = &f->points.axes[axis];
	int64_t step = grid_of(f, axis), low = -(int64_t)((a->value - 1) / (double)step);
	double ratio = other >= 0 ? f->points.axes[other].value / a->value : 1;
	double farthest = a->most * (other >= 0 ? sqrt(SB_FIT_FARTHEST) : SB_FIT_FARTHEST);
	int64_t high = (int64_t)floor((farthest - a->value) / (double)step), found;
	struct sb_fit_largest *l = &f->fit->largest[f->fit->largest_count];
	double all[SB_SURFACE_AXES] = { 0 };

	sb_fit_target(f, all);
	all[axis] = a->value + (double)(low * step);
	if (other >= 0)
		all[other] = all[axis] * ratio;
	if (high < low || !fits(f, all))
		return; /* what is asked for beside it does not fit at all, or is too far itself */
	found = search(f, axis, other, ratio, step, low, high);
	all[axis] = a->value + (double)((found + 1) * step);
	if (other >= 0)
		all[other] = all[axis] * ratio;
	*l = (struct sb_fit_largest){ other >= 0 ? "width x height" : a->key,
		a->value + (double)(found * step), NAN, found == high || has_room(f, all) };
	if (other >= 0) {
		int64_t other_step = grid_of(f, (size_t)other);

		l->other_value = floor(l->value * ratio / (double)other_step) * (double)other_step;
	}
	f->fit->largest_count++;
}

/* Whether more of it takes more memory at all. */
static bool matters(const struct sb_fitting *f, size_t axis)
{
	double all[SB_SURFACE_AXES] = { 0 }, before;

	sb_fit_target(f, all);
	before = sb_fit_value_at(f, &f->memory, all).predicted;
	all[axis] *= 2;
	return sb_fit_value_at(f, &f->memory, all).predicted > before * 1.001;
}

int sb_fit_find_largest(struct sb_fitting *f)
{
	int64_t width = -1, height = -1;

	f->fit->largest = calloc(f->points.axis_count + 1, sizeof *f->fit->largest);
	if (!f->fit->largest)
		return sb_fail(STROBE_ENOMEM, "no memory for a fit");
	if (!f->memory.known || !(f->fit->capacity_bytes > 0))
		return 0;
	for (size_t i = 0; i < f->vary_count; i++) {
		size_t axis = f->varies[i];

		if (!strcmp(f->points.axes[axis].key, "width"))
			width = (int64_t)axis;
		else if (!strcmp(f->points.axes[axis].key, "height"))
			height = (int64_t)axis;
		else if (matters(f, axis))
			add_largest(f, axis, -1);
	}
	if (width >= 0 && height >= 0 && (matters(f, (size_t)width) || matters(f, (size_t)height)))
		add_largest(f, (size_t)width, height);
	else if ((width >= 0 || height >= 0) && matters(f, (size_t)(width >= 0 ? width : height)))
		add_largest(f, (size_t)(width >= 0 ? width : height), -1);
	return 0;
}
