/* Will it fit? What the functions say of the size that is asked for, and whether there are enough points. */
#include "compare/fit.h"

#include "base/error.h"
#include "base/knob.h"
#include "compare/fit_model.h"
#include "compare/fit_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const sb_fit_verdict_names[] = { [SB_FIT_UNKNOWN] = "unknown",
	[SB_FIT_FITS] = "fits",
	[SB_FIT_TIGHT] = "tight",
	[SB_FIT_TOO_LARGE] = "too_large",
	SB_NAMES_END };

/* ---- what they say of a size ---- */

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
static void take_measured(struct sb_fitting *f)
{
	double all[SB_SURFACE_AXES] = { 0 };

	sb_fit_target(f, all);
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
static int predict_stages(struct sb_fitting *f)
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
	sb_fit_target(f, all);
	sb_fit_x_of(f, all, x);
	for (size_t i = 0; i < f->points.stage_count; i++) {
		const size_t offsets[] = { offsetof(struct sb_fit_point, stage_bytes) + i * sizeof(double),
			offsetof(struct sb_fit_point, stage_s) + i * sizeof(double) };
		double values[2] = { NAN, NAN };

		for (size_t k = 0; k < 2; k++) {
			size_t count = sb_fit_column(f, offsets[k], points);

			if (count >= sb_fit_least_count(f) &&
				!sb_surface_fit(points, count, f->vary_count, f->repeats, s))
				values[k] = sb_surface_at(s, x, &low, &high);
		}
		/* A part takes no more than the whole, whatever its own function says. */
		if (!isnan(values[0]))
			values[0] = fmin(values[0], fit->memory.predicted);
		if (!isnan(values[1]))
			values[1] = fmin(values[1], fit->time.predicted);
		if (!isnan(values[0]) || !isnan(values[1]))
			fit->stages[fit->stage_count++] = (struct sb_fit_stage){ f->points.stages[i],
				values[0], values[1] };
	}
	if (fit->stage_count)
		qsort(fit->stages, fit->stage_count, sizeof *fit->stages, most_memory_first);
	free(s);
	return 0;
}

static void judge(struct sb_fitting *f)
{
	struct sb_fit *fit = f->fit;
	const struct sb_fit_value *m = &fit->memory;

	if (fit->ran_out)
		fit->verdict = SB_FIT_TOO_LARGE;
	else if (isnan(m->predicted) || !(fit->capacity_bytes > 0))
		fit->verdict = SB_FIT_UNKNOWN;
	else if (m->high + fit->context_bytes <= fit->capacity_bytes)
		fit->verdict = fit->extrapolates_ratio > SB_FIT_FARTHEST ? SB_FIT_TIGHT : SB_FIT_FITS;
	else
		fit->verdict = m->low + fit->context_bytes > fit->capacity_bytes ? SB_FIT_TOO_LARGE
										 : SB_FIT_TIGHT;
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
static void count_axes(struct sb_fitting *f, char *missing, size_t size, size_t *out_missing)
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

static int say_more(struct sb_fitting *f, size_t known, size_t missing_count, const char *missing)
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
		snprintf(text, sizeof text, "other than those measured");
	f->fit->more = strdup(text);
	return f->fit->more ? 0 : sb_fail(STROBE_ENOMEM, "no memory for a fit");
}

double sb_fit_beyond(const struct sb_fitting *f, const double *all)
{
	double most = 0, asked = 1, farthest = 1;

	for (size_t i = 0; i < f->vary_count; i++) {
		const struct sb_fit_axis *a = &f->points.axes[f->varies[i]];

		asked *= all[f->varies[i]];
		farthest = fmax(farthest, all[f->varies[i]] / a->most);
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

static void take_capacity(struct sb_fitting *f, const struct sb_facts *run, const struct sb_fit_request *r)
{
	const char *of = f->points.memory_of;
	struct sb_fit *fit = f->fit;
	bool host = of && !strcmp(of, "host");

	fit->capacity_bytes = !isnan(r->capacity_bytes) ? r->capacity_bytes
			      : host                    ? run->sizes.ram_total_bytes
							: run->sizes.vram_total_bytes;
	if (host && r->of_gpu)
		fit->capacity_bytes = NAN;
	fit->capacity_of = r->capacity_of ? r->capacity_of : host ? "this machine" : run->sizes.device;
	if (!r->capacity_of)
		fit->ran_out = f->points.ran_out;
}

static int fit_times(struct sb_fitting *f)
{
	struct sb_fit_axes axes = { f->varies, f->vary_count, f->repeats };
	double warm_s[SB_SURFACE_POINTS];
	int err;

	f->fit->time_of = sb_fit_times_choose(&f->points, &axes, sb_fit_least_count(f));
	if (!f->fit->time_of)
		return 0;
	err = sb_fit_model_make(f, offsetof(struct sb_fit_point, used_s), false, &f->time);
	if (err || !f->time.known || strcmp(f->fit->time_of, "warm"))
		return err;
	for (size_t i = 0; i < f->points.count; i++)
		warm_s[i] = sb_fit_value_at(f, &f->time, f->points.all[i].x).predicted;
	f->fit->first = sb_fit_times_first(&f->points, warm_s);
	return 0;
}

static int work(struct sb_fitting *f, const struct sb_facts *run, const struct sb_fit_request *r)
{
	struct sb_surface_point points[SB_SURFACE_POINTS];
	double all[SB_SURFACE_AXES] = { 0 };
	struct sb_fit *fit = f->fit;
	size_t missing_count, known;
	char missing[128];
	int err;

	count_axes(f, missing, sizeof missing, &missing_count);
	known = sb_fit_column(f, offsetof(struct sb_fit_point, memory_bytes), points);
	known = f->points.memory_of ? known : f->points.count;
	err = say_more(f, known, missing_count, missing);
	take_capacity(f, run, r);
	fit->memory = fit->time = (struct sb_fit_value){ NAN, NAN, NAN, NAN, NAN, false };
	fit->first = (struct sb_fit_first){ NAN, NAN, NAN, 0 };
	if (!err && !missing_count && f->vary_count)
		err = sb_fit_model_make(f, offsetof(struct sb_fit_point, memory_bytes), true, &f->memory);
	if (!err && !missing_count && f->vary_count && !r->capacity_of)
		err = fit_times(f);
	if (err)
		return err;
	sb_fit_target(f, all);
	fit->memory = sb_fit_value_at(f, &f->memory, all);
	fit->time = sb_fit_value_at(f, &f->time, all);
	take_measured(f);
	if (r->capacity_of) {
		fit->time = (struct sb_fit_value){ NAN, NAN, NAN, NAN, NAN, false };
		fit->first.extra_s = NAN;
	}
	if (isnan(fit->time.predicted))
		fit->time_of = NULL;
	fit->extrapolates_ratio = sb_fit_beyond(f, all);
	judge(f);
	if (f->memory.known)
		err = predict_stages(f);
	return err ? err : sb_fit_find_largest(f);
}

int sb_fit(const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count,
	const struct sb_fit_request *request, struct sb_fit **out_fit)
{
	struct sb_fitting *f = calloc(1, sizeof *f);
	int err = f ? 0 : sb_fail(STROBE_ENOMEM, "no memory for a fit");

	if (!err && !(f->fit = calloc(1, sizeof *f->fit)))
		err = sb_fail(STROBE_ENOMEM, "no memory for a fit");
	if (!err)
		err = sb_fit_points_take(&f->points, run, others, other_count, request);
	if (!err) {
		f->fit->model = run->sizes.model;
		f->fit->device = run->sizes.device;
		f->fit->run_count = f->points.run_count;
		f->fit->other_count = f->points.other_count;
		f->fit->other_model = f->points.other_model;
		f->fit->summed_count = f->points.summed_count;
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
