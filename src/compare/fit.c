/* Will it fit? Functions over the points, what they say of the size that is asked for, and how far it goes. */
#include "compare/fit.h"

#include "base/error.h"
#include "base/knob.h"
#include "compare/fit_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FARTHEST 4 /* times what was measured: further is not given */
#define BY_STAGE_RATIO 0.9 /* of the error of one function: the stages' own must be better */
#define STEP_MOST 16 /* of a size's grid */

const char *const sb_fit_verdict_names[] = { [SB_FIT_UNKNOWN] = "unknown",
	[SB_FIT_FITS] = "fits",
	[SB_FIT_TIGHT] = "tight",
	[SB_FIT_TOO_LARGE] = "too_large",
	SB_NAMES_END };

/* A function over the axes that vary: of the whole, or the sum or largest of its stages. */
struct model {
	bool known, by_stage, largest;
	struct sb_surface whole;
	struct sb_surface *stages;
	size_t stage_count;
	double error_ratio, worst_ratio;
};

struct fitting {
	struct sb_fit *fit;
	struct sb_fit_points points;
	size_t varies[SB_SURFACE_AXES], vary_count; /* axes that have several values */
	unsigned repeats;
	struct model memory, time;
};

/* ---- points of one quantity ---- */

static void x_of(const struct fitting *f, const double *all, double *out)
{
	for (size_t i = 0; i < f->vary_count; i++)
		out[i] = all[f->varies[i]];
}

static size_t column(const struct fitting *f, size_t offset, struct sb_surface_point *out)
{
	size_t count = 0;

	for (size_t i = 0; i < f->points.count; i++) {
		double y = *(const double *)((const char *)&f->points.all[i] + offset);

		if (!(y > 0))
			continue;
		x_of(f, f->points.all[i].x, out[count].x);
		out[count++].y = y;
	}
	return count;
}

static size_t least_count(const struct fitting *f)
{
	return f->vary_count + 2;
}

/* ---- functions ---- */

/* The stages' own functions, taken together, with every point left out once. */
static double together(const struct model *m, struct sb_surface_point *const *points, size_t count,
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
static bool stage_points(const struct fitting *f, bool largest, struct sb_surface_point **out,
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
			x_of(f, p->x, out[s][i].x);
			out[s][i].y = y;
			rest -= y;
		}
		x_of(f, p->x, out[stages][i].x);
		out[stages][i].y = fmax(rest, 1e-4 * whole[i]);
		if (!largest && rest < -0.02 * whole[i])
			return false; /* stages at the same time: they do not add up */
	}
	*out_stages = stages + !largest;
	return true;
}

static int fit_stages(struct fitting *f, struct model *m, struct sb_surface_point **points, double *whole)
{
	size_t count = f->points.count, stages = 0;
	double error, worst;
	int err = 0;

	if (count < least_count(f) || !stage_points(f, m->largest, points, &stages, whole))
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

static int fit_model(struct fitting *f, size_t offset, bool largest, struct model *m)
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
	count = column(f, offset, points[0]);
	if (count >= least_count(f)) {
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

/* ---- what they say of a size ---- */

static struct sb_fit_value value_at(const struct fitting *f, const struct model *m, const double *all)
{
	struct sb_fit_value v = { NAN, NAN, NAN, m->error_ratio, m->worst_ratio, m->by_stage };
	double x[SB_SURFACE_AXES], below = 0, above = 0;

	if (!m->known)
		return (struct sb_fit_value){ NAN, NAN, NAN, NAN, NAN, false };
	x_of(f, all, x);
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

static bool fits(const struct fitting *f, const double *all)
{
	return value_at(f, &f->memory, all).high + f->fit->context_bytes <= f->fit->capacity_bytes;
}

static void target(const struct fitting *f, double *out)
{
	for (size_t i = 0; i < f->points.axis_count; i++)
		out[i] = f->points.axes[i].value;
}

static bool is_same_size(const struct sb_fit_point *p, const double *size)
{
	for (size_t i = 0; i < SB_SURFACE_AXES; i++)
		if (p->x[i] != size[i])
			return false;
	return true;
}

static void take_measured_time(struct sb_fit *fit, const struct sb_fit_point *p)
{
	bool warm = p->time_s > 0;
	double s = warm ? p->time_s : p->first_s;

	fit->time = (struct sb_fit_value){ s, s, s, NAN, NAN, false };
	fit->time_of = warm ? "warm" : "first";
	if (warm && p->first_s > 0)
		fit->first = (struct sb_fit_first){ fmax(0, p->first_s - s), fmax(0, p->first_s - s),
			fmax(0, p->first_s - s), 1 };
}

/* A size that was measured needs no function. */
static void take_measured(struct fitting *f)
{
	double all[SB_SURFACE_AXES] = { 0 };

	target(f, all);
	for (size_t i = 0; i < f->points.count; i++) {
		const struct sb_fit_point *p = &f->points.all[i];

		if (!is_same_size(p, all))
			continue;
		if (!f->time.known)
			take_measured_time(f->fit, p);
		if (!f->memory.known && p->memory_bytes > 0)
			f->fit->memory = (struct sb_fit_value){ p->memory_bytes, p->memory_bytes,
				p->memory_bytes, NAN, NAN, false };
	}
}

static int most_memory_first(const void *a, const void *b)
{
	const struct sb_fit_stage *x = a, *y = b;
	double p = isnan(x->memory_bytes) ? -1 : x->memory_bytes,
	       q = isnan(y->memory_bytes) ? -1 : y->memory_bytes;

	return p > q ? -1 : p < q;
}

/* Each stage by a function of its own; those whose values are not all known are left out. */
static int predict_stages(struct fitting *f)
{
	struct sb_surface_point points[SB_SURFACE_POINTS];
	struct sb_surface *s = malloc(sizeof *s);
	double all[SB_SURFACE_AXES] = { 0 }, x[SB_SURFACE_AXES], low, high;
	struct sb_fit *fit = f->fit;

	fit->stages = calloc(f->points.stage_count + 1, sizeof *fit->stages);
	if (!fit->stages || !s) {
		free(s);
		return sb_fail(STROBE_ENOMEM, "no memory for a fit");
	}
	target(f, all);
	x_of(f, all, x);
	for (size_t i = 0; i < f->points.stage_count; i++) {
		const size_t offsets[] = { offsetof(struct sb_fit_point, stage_bytes) + i * sizeof(double),
			offsetof(struct sb_fit_point, stage_s) + i * sizeof(double) };
		double values[2] = { NAN, NAN };

		for (size_t k = 0; k < 2; k++) {
			size_t count = column(f, offsets[k], points);

			if (count >= least_count(f) &&
				!sb_surface_fit(points, count, f->vary_count, f->repeats, s))
				values[k] = sb_surface_at(s, x, &low, &high);
		}
		if (!isnan(values[0]) || !isnan(values[1]))
			fit->stages[fit->stage_count++] = (struct sb_fit_stage){ f->points.stages[i],
				values[0], values[1] };
	}
	if (fit->stage_count)
		qsort(fit->stages, fit->stage_count, sizeof *fit->stages, most_memory_first);
	free(s);
	return 0;
}

static void judge(struct fitting *f)
{
	struct sb_fit *fit = f->fit;
	const struct sb_fit_value *m = &fit->memory;

	if (fit->ran_out)
		fit->verdict = SB_FIT_TOO_LARGE;
	else if (isnan(m->predicted) || !(fit->capacity_bytes > 0))
		fit->verdict = SB_FIT_UNKNOWN;
	else if (m->high + fit->context_bytes <= fit->capacity_bytes)
		fit->verdict = SB_FIT_FITS;
	else
		fit->verdict = m->low + fit->context_bytes > fit->capacity_bytes ? SB_FIT_TOO_LARGE
										 : SB_FIT_TIGHT;
}

/* ---- the largest that fits ---- */

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
static int64_t grid_of(const struct fitting *f, size_t axis)
{
	int64_t step = 0, first = (int64_t)f->points.axes[axis].value;

	for (size_t i = 0; i < f->points.count; i++)
		step = common_divisor(step, (int64_t)f->points.all[i].x[axis] - first);
	while (step > STEP_MOST && step % 2 == 0)
		step /= 2;
	return step > 0 && step <= STEP_MOST ? step : 1;
}

/* Steps of the grid from the asked value on: the most for which it fits, between those given. */
static int64_t search(const struct fitting *f, size_t axis, int64_t other, double factor_of_other,
	int64_t step, int64_t low, int64_t high)
{
	double all[SB_SURFACE_AXES] = { 0 };

	target(f, all);
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

static void add_largest(struct fitting *f, size_t axis, int64_t other)
{
	const struct sb_fit_axis *a = &f->points.axes[axis];
	int64_t step = grid_of(f, axis), low = -(int64_t)((a->value - 1) / (double)step);
	double ratio = other >= 0 ? f->points.axes[other].value / a->value : 1;
	double farthest = a->most * (other >= 0 ? sqrt(FARTHEST) : FARTHEST);
	int64_t high = (int64_t)((fmax(farthest, a->value) - a->value) / (double)step), found;
	struct sb_fit_largest *l = &f->fit->largest[f->fit->largest_count];
	double all[SB_SURFACE_AXES] = { 0 };

	target(f, all);
	all[axis] = a->value + (double)(low * step);
	if (other >= 0)
		all[other] = all[axis] * ratio;
	if (!fits(f, all))
		return; /* what is asked for beside it does not fit at all */
	found = search(f, axis, other, ratio, step, low, high);
	*l = (struct sb_fit_largest){ other >= 0 ? "width x height" : a->key,
		a->value + (double)(found * step), NAN, found == high };
	if (other >= 0) {
		int64_t other_step = grid_of(f, (size_t)other);

		l->other_value = floor(l->value * ratio / (double)other_step) * (double)other_step;
	}
	f->fit->largest_count++;
}

/* Whether more of it takes more memory at all. */
static bool matters(const struct fitting *f, size_t axis)
{
	double all[SB_SURFACE_AXES] = { 0 }, before;

	target(f, all);
	before = value_at(f, &f->memory, all).predicted;
	all[axis] *= 2;
	return value_at(f, &f->memory, all).predicted > before * 1.001;
}

static int find_largest(struct fitting *f)
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

/* ---- is there enough? ---- */

static bool only_repeats(const char *key)
{
	static const char *const keys[] = { "steps", "iters", "batch", "videos", "forwards" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

/* Axes with several values; those that were asked for with a value that no run had, and only one is known, are missing. */
static void count_axes(struct fitting *f, char *missing, size_t size, size_t *out_missing)
{
	size_t n = 0;

	*out_missing = 0;
	*missing = 0;
	for (size_t i = 0; i < f->points.axis_count; i++) {
		const struct sb_fit_axis *a = &f->points.axes[i];

		if (a->seen_count > 1) {
			f->repeats |= only_repeats(a->key) ? 1u << f->vary_count : 0;
			f->varies[f->vary_count++] = i;
		} else if (a->value != a->least && n < size) {
			n += (size_t)snprintf(
				missing + n, size - n, "%s%s", *out_missing ? ", " : "", a->key);
			++*out_missing;
		}
	}
}

static int say_more(struct fitting *f, size_t known, size_t missing_count, const char *missing)
{
	size_t needed = f->vary_count + missing_count + 2;
	size_t more = needed > known ? needed - known : 0;
	char text[256];

	if (missing_count && more < 2)
		more = 2;
	if (!f->vary_count && !missing_count) /* only the measured size is asked for */
		more = known ? 0 : 1;
	f->fit->more_count = (int64_t)more;
	if (!more)
		return 0;
	if (missing_count)
		snprintf(text, sizeof text, "with other values of %s", missing);
	else
		snprintf(text, sizeof text, "of other sizes");
	f->fit->more = strdup(text);
	return f->fit->more ? 0 : sb_fail(STROBE_ENOMEM, "no memory for a fit");
}

/* By how much the asked size is beyond what was measured: the product of its sizes. */
static double beyond(const struct fitting *f)
{
	double most = 0, asked = 1, farthest = 1;

	for (size_t i = 0; i < f->vary_count; i++) {
		const struct sb_fit_axis *a = &f->points.axes[f->varies[i]];

		asked *= a->value;
		farthest = fmax(farthest, a->value / a->most);
	}
	for (size_t i = 0; i < f->points.count; i++) {
		double product = 1;

		for (size_t k = 0; k < f->vary_count; k++)
			product *= f->points.all[i].x[f->varies[k]];
		most = fmax(most, product);
	}
	farthest = fmax(farthest, asked / most);
	return f->points.count && farthest > 1 ? farthest : NAN;
}

/* ---- all of it ---- */

static void take_capacity(struct fitting *f, const struct sb_facts *run, const struct sb_fit_request *r)
{
	const char *of = f->points.memory_of;
	struct sb_fit *fit = f->fit;
	bool host = of && !strcmp(of, "host");

	fit->capacity_bytes = !isnan(r->capacity_bytes) ? r->capacity_bytes
			      : host                    ? run->sizes.ram_total_bytes
							: run->sizes.vram_total_bytes;
	fit->capacity_of = r->capacity_of ? r->capacity_of : host ? "this machine" : run->sizes.device;
	if (!r->capacity_of)
		fit->ran_out = f->points.ran_out;
}

static int fit_times(struct fitting *f)
{
	struct sb_fit_axes axes = { f->varies, f->vary_count, f->repeats };
	double warm_s[SB_SURFACE_POINTS];
	int err;

	f->fit->time_of = sb_fit_times_choose(&f->points, &axes, least_count(f));
	if (!f->fit->time_of)
		return 0;
	err = fit_model(f, offsetof(struct sb_fit_point, used_s), false, &f->time);
	if (err || !f->time.known || strcmp(f->fit->time_of, "warm"))
		return err;
	for (size_t i = 0; i < f->points.count; i++)
		warm_s[i] = value_at(f, &f->time, f->points.all[i].x).predicted;
	f->fit->first = sb_fit_times_first(&f->points, warm_s);
	return 0;
}

static int work(struct fitting *f, const struct sb_facts *run, const struct sb_fit_request *r)
{
	struct sb_surface_point points[SB_SURFACE_POINTS];
	double all[SB_SURFACE_AXES] = { 0 };
	struct sb_fit *fit = f->fit;
	size_t missing_count, known;
	char missing[128];
	int err;

	count_axes(f, missing, sizeof missing, &missing_count);
	known = column(f, offsetof(struct sb_fit_point, memory_bytes), points);
	known = f->points.memory_of ? known : f->points.count;
	err = say_more(f, known, missing_count, missing);
	take_capacity(f, run, r);
	fit->memory = fit->time = (struct sb_fit_value){ NAN, NAN, NAN, NAN, NAN, false };
	fit->first = (struct sb_fit_first){ NAN, NAN, NAN, 0 };
	if (!err && !missing_count && f->vary_count)
		err = fit_model(f, offsetof(struct sb_fit_point, memory_bytes), true, &f->memory);
	if (!err && !missing_count && f->vary_count && !r->capacity_of)
		err = fit_times(f);
	if (err)
		return err;
	target(f, all);
	fit->memory = value_at(f, &f->memory, all);
	fit->time = value_at(f, &f->time, all);
	take_measured(f);
	if (r->capacity_of) {
		fit->time = (struct sb_fit_value){ NAN, NAN, NAN, NAN, NAN, false };
		fit->first.extra_s = NAN;
	}
	if (isnan(fit->time.predicted))
		fit->time_of = NULL;
	fit->extrapolates_ratio = beyond(f);
	judge(f);
	if (f->memory.known)
		err = predict_stages(f);
	return err ? err : find_largest(f);
}

int sb_fit(const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count,
	const struct sb_fit_request *request, struct sb_fit **out_fit)
{
	struct fitting *f = calloc(1, sizeof *f);
	int err = f ? 0 : sb_fail(STROBE_ENOMEM, "no memory for a fit");

	if (!err && !(f->fit = calloc(1, sizeof *f->fit)))
		err = sb_fail(STROBE_ENOMEM, "no memory for a fit");
	if (!err)
		err = sb_fit_points_take(&f->points, run, others, other_count, request);
	if (!err) {
		f->fit->model = run->sizes.model;
		f->fit->device = run->sizes.device;
		f->fit->run_count = f->points.run_count;
		f->fit->size_count = (int64_t)f->points.count;
		f->fit->memory_of = f->points.memory_of;
		f->fit->context_bytes = f->points.context_bytes;
		f->fit->axis_count = f->points.axis_count;
		f->fit->axes = malloc(sizeof f->points.axes);
		err = f->fit->axes ? 0 : sb_fail(STROBE_ENOMEM, "no memory for a fit");
	}
	if (!err) {
		memcpy(f->fit->axes, f->points.axes, sizeof f->points.axes);
		err = work(f, run, request);
	}
	if (f) {
		sb_fit_points_done(&f->points);
		free(f->memory.stages);
		free(f->time.stages);
	}
	if (err)
		sb_fit_free(f ? f->fit : NULL);
	else
		*out_fit = f->fit;
	free(f);
	return err;
}

void sb_fit_free(struct sb_fit *fit)
{
	if (!fit)
		return;
	free((char *)fit->more);
	free(fit->axes);
	free(fit->stages);
	free(fit->largest);
	free(fit);
}
