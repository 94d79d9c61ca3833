/* Fitting surfaces: weighted least squares over a list of forms, chosen by leave-one-out. */
#include "stats/surface.h"

#include "base/error.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS (1 + SB_SURFACE_TERMS)
#define NONE SIZE_MAX
#define SIMPLER_RATIO 1.15 /* a form with fewer terms may be this much worse, and */
#define SIMPLER_LEAST 0.002 /* this much more */
#define RIVAL_RATIO(count) \
	(1 + 3 / sqrt((double)(count))) /* a form that the points do not tell from the best one */
#define RIVAL_LEAST 0.003
#define DEVIATIONS 2
#define HIDDEN 2 /* times the deviations: what is seen of a curve on few points may be chance */

/* ---- one form ---- */

static double product(const uint8_t *power, size_t axis_count, const double *x)
{
	double p = 1;

	for (size_t i = 0; i < axis_count; i++)
		for (uint8_t k = 0; k < power[i]; k++)
			p *= x[i];
	return p;
}

static double form_at(const struct sb_surface_form *f, size_t axis_count, const double *x)
{
	double y = f->fixed;

	for (size_t t = 0; t < f->term_count; t++)
		y += f->each[t] * product(f->power[t], axis_count, x);
	return y;
}

/* The normal equations of all columns; relative errors count, so rows are divided by y. */
struct sums {
	double of[COLUMNS][COLUMNS + 1];
	double scale[COLUMNS];
	size_t columns;
};

static void row_of(
	const struct sb_surface_form *f, size_t axis_count, const struct sb_surface_point *p, double *row)
{
	row[0] = 1;
	for (size_t t = 0; t < f->term_count; t++)
		row[1 + t] = product(f->power[t], axis_count, p->x);
}

static void sum_up(struct sums *s, const struct sb_surface_form *f, size_t axis_count,
	const struct sb_surface_point *points, size_t count, size_t left_out)
{
	double row[COLUMNS];

	*s = (struct sums){ .columns = 1 + f->term_count };
	for (size_t i = 0; i < count; i++) {
		row_of(f, axis_count, &points[i], row);
		for (size_t c = 0; c < s->columns; c++)
			s->scale[c] = fmax(s->scale[c], row[c]);
	}
	for (size_t i = 0; i < count; i++) {
		if (i == left_out)
			continue;
		row_of(f, axis_count, &points[i], row);
		for (size_t c = 0; c < s->columns; c++)
			row[c] /= s->scale[c] * points[i].y;
		for (size_t a = 0; a < s->columns; a++) {
			for (size_t b = 0; b < s->columns; b++)
				s->of[a][b] += row[a] * row[b];
			s->of[a][COLUMNS] += row[a];
		}
	}
}

/* Gauss over the columns of a set; false: the points do not tell them apart. */
static bool solve(const struct sums *s, unsigned set, double *out_coefficients)
{
	double m[COLUMNS][COLUMNS + 1];
	size_t of[COLUMNS], n = 0;

	for (size_t c = 0; c < s->columns; c++)
		if (set >> c & 1)
			of[n++] = c;
	for (size_t a = 0; a < n; a++) {
		for (size_t b = 0; b < n; b++)
			m[a][b] = s->of[of[a]][of[b]];
		m[a][COLUMNS] = s->of[of[a]][COLUMNS];
	}
	for (size_t a = 0; a < n; a++) { /* positive definite: no pivot is needed */
		if (!(m[a][a] > 1e-10 * s->of[of[a]][of[a]]))
			return false;
		for (size_t b = 0; b < n; b++) {
			double ratio = m[b][a] / m[a][a];

			if (b == a)
				continue;
			for (size_t c = a; c < n; c++)
				m[b][c] -= ratio * m[a][c];
			m[b][COLUMNS] -= ratio * m[a][COLUMNS];
		}
	}
	memset(out_coefficients, 0, COLUMNS * sizeof *out_coefficients);
	for (size_t a = 0; a < n; a++)
		out_coefficients[of[a]] = m[a][COLUMNS] / m[a][a];
	return true;
}

/* The best coefficients that are not negative: every set of columns is tried, there are seven. */
static bool fit(struct sb_surface_form *f, size_t axis_count, const struct sb_surface_point *points,
	size_t count, size_t left_out)
{
	double best = -1, c[COLUMNS], found[COLUMNS] = { 0 };
	struct sums s;

	sum_up(&s, f, axis_count, points, count, left_out);
	for (unsigned set = 1; set < 1u << s.columns; set++) {
		double explained = 0;
		bool negative = false;

		if (!solve(&s, set, c))
			continue;
		for (size_t i = 0; i < s.columns; i++) {
			negative |= c[i] < 0;
			explained += c[i] * s.of[i][COLUMNS];
		}
		if (negative || explained <= best + 1e-12)
			continue;
		best = explained;
		memcpy(found, c, sizeof found);
	}
	f->fixed = found[0] / s.scale[0];
	for (size_t t = 0; t < f->term_count; t++)
		f->each[t] = found[1 + t] / s.scale[1 + t];
	return best > 0;
}

/* Root mean square of the relative errors when each point is left out; also the worst. */
static double leave_one_out(struct sb_surface_form f, size_t axis_count,
	const struct sb_surface_point *points, size_t count, double *out_worst)
{
	double sum = 0;

	*out_worst = 0;
	for (size_t i = 0; i < count; i++) {
		double off;

		if (!fit(&f, axis_count, points, count, i))
			return INFINITY;
		off = fabs(form_at(&f, axis_count, points[i].x) / points[i].y - 1);
		sum += off * off;
		*out_worst = fmax(*out_worst, off);
	}
	return sqrt(sum / (double)count);
}

/* ---- all forms ---- */

struct trial {
	const struct sb_surface_point *points;
	size_t count, axis_count;
	unsigned repeats;
	struct sb_vec forms; /* struct sb_surface_form */
	bool failed;
};

static void set_power(const struct trial *t, unsigned set, bool squared, uint8_t *power)
{
	for (size_t i = 0; i < t->axis_count; i++)
		power[i] = !(set >> i & 1) ? 0 : squared && !(t->repeats >> i & 1) ? 2 : 1;
}

static void try_form(
	struct trial *t, unsigned first, bool first_squared, unsigned second, bool second_squared)
{
	struct sb_surface_form f = { .term_count = (size_t)(first > 0) + (size_t)(second > 0) }, *kept;
	double worst;

	if (t->count < f.term_count + 2) /* with one point left out, a form needs as many as it has parts */
		return;
	set_power(t, first, first_squared, f.power[0]);
	set_power(t, second, second_squared, f.power[1]);
	f.error_ratio = leave_one_out(f, t->axis_count, t->points, t->count, &worst);
	if (!isfinite(f.error_ratio) || !fit(&f, t->axis_count, t->points, t->count, NONE))
		return;
	kept = sb_vec_push(&t->forms, sizeof *kept);
	if (kept)
		*kept = f;
	else
		t->failed = true;
}

static void try_forms(struct trial *t)
{
	unsigned sets = 1u << t->axis_count;

	try_form(t, 0, false, 0, false);
	for (unsigned a = 1; a < sets; a++) {
		bool can_square = a & ~t->repeats;

		try_form(t, a, false, 0, false);
		if (can_square) {
			try_form(t, a, true, 0, false);
			try_form(t, a, false, a, true);
		}
		for (unsigned b = a + 1; b < sets; b++)
			try_form(t, a, false, b, false);
	}
}

static int by_error(const void *a, const void *b)
{
	const struct sb_surface_form *x = a, *y = b;

	return x->error_ratio < y->error_ratio ? -1 : x->error_ratio > y->error_ratio;
}

/* Forms are sorted by their error. The simplest among the good ones predicts; one that does not depend on the sizes only where
 * none that does is nearly as good: under noise it would say the same of every size. */
static size_t choose(const struct sb_surface_form *forms, size_t count)
{
	double most = forms[0].error_ratio * SIMPLER_RATIO + SIMPLER_LEAST;
	size_t chosen = 0;

	for (size_t i = 1; i < count && forms[i].error_ratio <= most; i++)
		if (forms[i].term_count &&
			(!forms[chosen].term_count || forms[i].term_count < forms[chosen].term_count))
			chosen = i;
	return chosen;
}

/* All sizes together, but for some. */
static double size_of(size_t axis_count, const double *x, unsigned without)
{
	double all = 1;

	for (size_t i = 0; i < axis_count; i++)
		all *= without >> i & 1 ? 1 : x[i];
	return all;
}

int sb_surface_fit(const struct sb_surface_point *points, size_t count, size_t axis_count, unsigned repeats,
	struct sb_surface *out)
{
	struct trial t = { points, count, axis_count, repeats, { 0 }, false };
	struct sb_surface_form *forms;
	size_t chosen;
	double most;

	if (count < 2 || count > SB_SURFACE_POINTS || axis_count > SB_SURFACE_AXES)
		return sb_fail(
			STROBE_EINVAL, "%zu points over %zu sizes give no function", count, axis_count);
	try_forms(&t);
	if (t.failed || !t.forms.count) {
		sb_vec_done(&t.forms);
		return t.failed ? sb_fail(STROBE_ENOMEM, "no memory to fit a function")
				: sb_fail(STROBE_EINVAL, "%zu points fit no function", count);
	}
	forms = t.forms.items;
	qsort(forms, t.forms.count, sizeof *forms, by_error);
	chosen = choose(forms, t.forms.count);
	most = forms[0].error_ratio * RIVAL_RATIO(count) + RIVAL_LEAST;
	*out = (struct sb_surface){
		.repeats = repeats, .axis_count = axis_count, .point_count = count, .form_count = 1
	};
	out->forms[0] = forms[chosen];
	for (size_t i = 0; i < t.forms.count && forms[i].error_ratio <= most; i++)
		if (i != chosen && out->form_count < SB_SURFACE_FORMS)
			out->forms[out->form_count++] = forms[i];
	for (size_t i = 0; i < count; i++) {
		out->most = fmax(out->most, points[i].y);
		out->most_product = fmax(out->most_product, size_of(axis_count, points[i].x, 0));
		out->most_squared = fmax(out->most_squared, size_of(axis_count, points[i].x, repeats));
		for (size_t k = 0; k < axis_count; k++)
			out->most_x[k] = fmax(out->most_x[k], points[i].x[k]);
	}
	out->error_ratio = leave_one_out(out->forms[0], axis_count, points, count, &out->worst_ratio);
	sb_vec_done(&t.forms);
	return 0;
}

double sb_surface_reach(const struct sb_surface *s, const double *x)
{
	double most = fmax(1, size_of(s->axis_count, x, 0) / s->most_product);

	for (size_t i = 0; i < s->axis_count; i++)
		most = fmax(most, x[i] / s->most_x[i]);
	return most;
}

/* Of few points one form of many always looks better than it is. */
static double deviations(const struct sb_surface *s)
{
	double spare = (double)s->point_count - (double)s->forms[0].term_count - 1;

	return DEVIATIONS * sqrt((double)s->point_count / fmax(1, spare));
}

/* What the error is a share of. Beyond the largest point it grows with the sizes, and as a quadratic part would that the
 * noise has hidden among the points. */
static double farther(const struct sb_surface *s, const double *x, double y)
{
	double reach = sb_surface_reach(s, x),
	       squared = fmax(1, size_of(s->axis_count, x, s->repeats) / s->most_squared);

	return fmax(y * fmax(reach, y / s->most), HIDDEN * s->most * (reach * squared - 1));
}

double sb_surface_at(const struct sb_surface *s, const double *x, double *out_low, double *out_high)
{
	double y = form_at(&s->forms[0], s->axis_count, x), low = y, high = y;
	double off = deviations(s) * s->error_ratio * farther(s, x, y);

	for (size_t i = 1; i < s->form_count; i++) {
		double other = form_at(&s->forms[i], s->axis_count, x);

		low = fmin(low, other);
		high = fmax(high, other);
	}
	*out_low = fmax(0, low - off);
	*out_high = high + off;
	return y;
}

double sb_surface_without(
	const struct sb_surface *s, const struct sb_surface_point *points, size_t count, size_t left_out)
{
	struct sb_surface_form f = s->forms[0];

	if (!fit(&f, s->axis_count, points, count, left_out))
		return NAN;
	return form_at(&f, s->axis_count, points[left_out].x);
}
