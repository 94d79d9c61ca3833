/* Warm and first generations: a process's first one also makes the context, loads kernels, tunes. That depends little on the
 * size, so it is one number for a model: found from sizes that were measured both ways, or as the number that lets first
 * and warm times lie on one function best. */
#include "compare/fit_times.h"

#include "stats/statistics.h"

#include <stdlib.h>
#include <string.h>

#define TRIED 48 /* numbers between nothing and the shortest first generation */

static size_t count_known(const struct sb_fit_points *p, size_t offset)
{
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		count += *(const double *)((const char *)&p->all[i] + offset) > 0;
	return count;
}

/* Warm where it is known, else the first one without what it takes more. */
static void use(struct sb_fit_points *p, double extra_s)
{
	for (size_t i = 0; i < p->count; i++) {
		struct sb_fit_point *one = &p->all[i];

		one->used_s = one->time_s > 0 ? one->time_s : one->first_s - extra_s;
	}
}

static double error_with(
	struct sb_fit_points *p, const struct sb_fit_axes *axes, double extra_s, struct sb_surface *room)
{
	struct sb_surface_point points[SB_SURFACE_POINTS];
	size_t count = 0;

	use(p, extra_s);
	for (size_t i = 0; i < p->count; i++) {
		if (!(p->all[i].used_s > 0))
			continue;
		for (size_t k = 0; k < axes->count; k++)
			points[count].x[k] = p->all[i].x[axes->varies[k]];
		points[count++].y = p->all[i].used_s;
	}
	return sb_surface_fit(points, count, axes->count, axes->repeats, room) ? INFINITY : room->error_ratio;
}

static double shortest_first(const struct sb_fit_points *p)
{
	double least = INFINITY;

	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].first_s > 0)
			least = fmin(least, p->all[i].first_s);
	return least;
}

/* The one that lets all lie on a function best. */
static bool search_extra(struct sb_fit_points *p, const struct sb_fit_axes *axes)
{
	struct sb_surface *room = malloc(sizeof *room);
	double best = INFINITY, found = NAN, most = shortest_first(p);

	for (int i = 0; room && i < TRIED; i++) {
		double extra_s = most * i / TRIED, error = error_with(p, axes, extra_s, room);

		if (error < best) {
			best = error;
			found = extra_s;
		}
	}
	free(room);
	if (isnan(found))
		return false;
	use(p, found);
	return true;
}

const char *sb_fit_times_choose(struct sb_fit_points *p, const struct sb_fit_axes *axes, size_t least)
{
	size_t warm = count_known(p, offsetof(struct sb_fit_point, time_s)),
	       first = count_known(p, offsetof(struct sb_fit_point, first_s)), all = 0;

	for (size_t i = 0; i < p->count; i++) {
		p->all[i].used_s = p->all[i].time_s;
		all += p->all[i].time_s > 0 || p->all[i].first_s > 0;
	}
	if (warm >= least)
		return "warm";
	if (warm >= 2 && all > least && search_extra(p, axes))
		return "warm";
	for (size_t i = 0; i < p->count; i++)
		p->all[i].used_s = p->all[i].first_s;
	return first >= least ? "first" : NULL;
}

struct sb_fit_first sb_fit_times_first(const struct sb_fit_points *p, const double *warm_s)
{
	double extras[SB_SURFACE_POINTS];
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct sb_fit_point *one = &p->all[i];
		double warm = one->time_s > 0 ? one->time_s : warm_s[i];

		if (one->first_s > 0 && warm > 0)
			extras[count++] = fmax(0, one->first_s - warm);
	}
	if (!count)
		return (struct sb_fit_first){ NAN, NAN, NAN, 0 };
	sb_stats_sort(extras, count);
	return (struct sb_fit_first){ (extras[(count - 1) / 2] + extras[count / 2]) / 2, extras[0],
		extras[count - 1], (int64_t)count };
}
