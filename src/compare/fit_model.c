/* One function of the whole, or one for each stage where these tell more. */
#include "compare/fit_model.h"

#include "base/error.h"

#include <stdlib.h>

#define BY_STAGE_RATIO 0.9 /* of the error of one function: the stages' own must be better */

void sb_fit_x_of(const struct sb_fitting *f, const double *all, double *out)
{
	for (size_t i = 0; i < f->vary_count; i++)
		out[i] = all[f->varies[i]];
}

size_t sb_fit_column(const struct sb_fitting *f, size_t offset, struct sb_surface_point *out)
{
	size_t count = 0;

	for (size_t i = 0; i < f->points.count; i++) {
		double y = *(const double *)((const char *)&f->points.all[i] + offset);

		if (!(y > 0))
			continue;
		sb_fit_x_of(f, f->points.all[i].x, out[count].x);
		out[count++].y = y;
	}
	return count;
}

size_t sb_fit_least_count(const struct sb_fitting *f)
{
	return f->vary_count + 2;
}

/* The stages' own functions, taken together, with every point left out once. */
static double together(const struct sb_fit_model *m, struct sb_surface_point *const *points, size_t count,
	const double *whole, double *out_worst)
{
	double sum = 0;

	*out_worst = 0;
	for (size_t i = 0; i < count; i++) {
		double y = 0, off;

		for (size_t s = 0; s < m->stage_count; s++) {
			double of = sb_surface_without(&m->stages[s], points[s], count, i);

			if (isnan(of))
				return INFINITY;
			y = m->largest ? fmax(y, of) : y + of;
		}
		off = fabs(y / whole[i] - 1);
		sum += off * off;
		*out_worst = fmax(*out_worst, off);
	}
	return sqrt(sum / (double)count);
}

/* The values of each stage at each point; of times the rest of the generation, too. False: some are not known. */
static bool stage_points(const struct sb_fitting *f, bool largest, struct sb_surface_point **out,
	size_t *out_stages, double *whole)
{
	size_t count = f->points.count, stages = f->points.stage_count;

	if (!stages)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct sb_fit_point *p = &f->points.all[i];
		double rest;

		whole[i] = largest ? p->memory_bytes : p->used_s;
		rest = whole[i];
		for (size_t s = 0; s < stages; s++) {
			double y = largest ? p->stage_bytes[s] : p->stage_s[s];

			if (!(y > 0) || !(whole[i] > 0))
				return false;
			sb_fit_x_of(f, p->x, out[s][i].x);
			out[s][i].y = y;
			rest -= y;
		}
		sb_fit_x_of(f, p->x, out[stages][i].x);
		out[stages][i].y = fmax(rest, 1e-4 * whole[i]);
		if (!largest && rest < -0.02 * whole[i])
			return false; /* stages at the same time: they do not add up */
	}
	*out_stages = stages + !largest;
	return true;
}

static int fit_stages(
	struct sb_fitting *f, struct sb_fit_model *m, struct sb_surface_point **points, double *whole)
{
	size_t count = f->points.count, stages = 0;
	double error, worst;
	int err = 0;

	if (count < sb_fit_least_count(f) || !stage_points(f, m->largest, points, &stages, whole))
		return 0;
	m->stages = calloc(stages, sizeof *m->stages);
	if (!m->stages)
		return sb_fail(STROBE_ENOMEM, "no memory for a fit");
	m->stage_count = stages;
	for (size_t s = 0; s < stages && !err; s++)
		err = sb_surface_fit(points[s], count, f->vary_count, f->repeats, &m->stages[s]);
	if (err)
		return err;
	error = together(m, points, count, whole, &worst);
	if (error < BY_STAGE_RATIO * m->error_ratio) {
		m->by_stage = true;
		m->error_ratio = error;
		m->worst_ratio = worst;
	}
	return 0;
}

int sb_fit_model_make(struct sb_fitting *f, size_t offset, bool largest, struct sb_fit_model *m)
{
	struct sb_surface_point *room = calloc((SB_FIT_STAGES + 1) * SB_SURFACE_POINTS, sizeof *room);
	struct sb_surface_point *points[SB_FIT_STAGES + 1];
	double whole[SB_SURFACE_POINTS];
	size_t count;
	int err = 0;

	if (!room)
		return sb_fail(STROBE_ENOMEM, "no memory for a fit");
	for (size_t i = 0; i <= SB_FIT_STAGES; i++)
		points[i] = room + i * SB_SURFACE_POINTS;
	m->largest = largest;
	count = sb_fit_column(f, offset, points[0]);
	if (count >= sb_fit_least_count(f)) {
		err = sb_surface_fit(points[0], count, f->vary_count, f->repeats, &m->whole);
		m->known = !err;
		m->error_ratio = m->whole.error_ratio;
		m->worst_ratio = m->whole.worst_ratio;
	}
	if (m->known)
		err = fit_stages(f, m, points, whole);
	free(room);
	return err;
}

struct sb_fit_value sb_fit_value_at(
	const struct sb_fitting *f, const struct sb_fit_model *m, const double *all)
{
	struct sb_fit_value v = { NAN, NAN, NAN, m->error_ratio, m->worst_ratio, m->by_stage };
	double x[SB_SURFACE_AXES], below = 0, above = 0;

	if (!m->known)
		return (struct sb_fit_value){ NAN, NAN, NAN, NAN, NAN, false };
	sb_fit_x_of(f, all, x);
	if (!m->by_stage) {
		v.predicted = sb_surface_at(&m->whole, x, &v.low, &v.high);
		return v;
	}
	v.predicted = v.low = v.high = 0;
	for (size_t s = 0; s < m->stage_count; s++) {
		double low, high, y = sb_surface_at(&m->stages[s], x, &low, &high);

		below += (y - low) * (y - low);
		above += (high - y) * (high - y);
		v.predicted = m->largest ? fmax(v.predicted, y) : v.predicted + y;
		v.low = fmax(v.low, low);
		v.high = fmax(v.high, high);
	}
	if (!m->largest) { /* errors of stages are not all on one side */
		double off = 2 * m->error_ratio * v.predicted * fmax(1, sb_surface_reach(&m->whole, x));

		v.low = fmax(0, v.predicted - fmax(sqrt(below), off));
		v.high = v.predicted + fmax(sqrt(above), off);
	}
	return v;
}

void sb_fit_target(const struct sb_fitting *f, double *out)
{
	for (size_t i = 0; i < f->points.axis_count; i++)
		out[i] = f->points.axes[i].value;
}
