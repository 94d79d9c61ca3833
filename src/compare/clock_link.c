/* The offset is where the intervals of most collectives lie over each other (Marzullo's algorithm),
 * window by window once the drift is taken out. A few collectives may be wrong: they are outvoted. */
#include "compare/clock_link.h"

#include "stats/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUNDS_MIN 3 /* the least that lets one of them be wrong */
#define WINDOW_MIN 24 /* collectives of a window */
#define DRIFT_MAX 500e-6 /* no clock of a computer is that far off */
#define DRIFT_USUAL 100e-6 /* nor, as a rule, this far */
#define WRONG_RATIO 0.1 /* of the collectives of a window: leave too late, by a scheduler's whim */
#define AGREE_RATIO 0.5 /* fewer that agree: the data cannot tell */
#define LEAST_S 1e-6

struct edge {
	double at_s;
	int step; /* +1 an interval begins, -1 it ends */
};

static int by_time(const void *a, const void *b)
{
	const struct sb_clock_bound *x = a, *y = b;

	return x->t_s < y->t_s ? -1 : x->t_s > y->t_s;
}

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	return y->step - x->step; /* what begins at a place covers it */
}

/* ---- drift ---- */

/* Median guess, and median time, of a part of the bounds. */
static bool middle_of(
	const struct sb_clock_bound *b, size_t count, double *scratch, double *out_t, double *out_guess)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(b[i].guess_s))
			scratch[n++] = b[i].guess_s;
	if (!n)
		return false;
	sb_stats_sort(scratch, n);
	*out_guess = sb_stats_percentile(scratch, n, 0.5);
	*out_t = b[count / 2].t_s;
	return true;
}

static double median_spread(const struct sb_clock_bound *b, size_t count, double *scratch)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(b[i].guess_s))
			scratch[n++] = b[i].spread_s;
	if (!n)
		return 0;
	sb_stats_sort(scratch, n);
	return sb_stats_percentile(scratch, n, 0.5);
}

/* Between the first and the last third; 0 where it is not more than the collectives' own spread.
 * out_doubt: how far the true drift may be from that. */
static double drift_of(const struct sb_clock_bound *b, size_t count, double *scratch, double *out_doubt)
{
	double t0, t1, x0, x1, slope, spread;

	*out_doubt = DRIFT_USUAL;
	if (count < 9 || !middle_of(b, count / 3, scratch, &t0, &x0) ||
		!middle_of(b + count - count / 3, count / 3, scratch, &t1, &x1) || t1 - t0 < 1e-3)
		return 0;
	slope = (x1 - x0) / (t1 - t0);
	spread = median_spread(b, count, scratch);
	*out_doubt = 2 * spread / (t1 - t0);
	if (fabs(slope) <= DRIFT_MAX && fabs(x1 - x0) > spread)
		return slope;
	*out_doubt = fmin(*out_doubt, DRIFT_USUAL);
	return 0;
}

/* ---- one window ---- */

static size_t make_edges(
	const struct sb_clock_bound *b, size_t count, double slope, double t0, struct edge *edges)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		double line = slope * (b[i].t_s - t0), low = b[i].low_s, high = b[i].high_s;

		if (!isnan(b[i].guess_s)) {
			low = fmax(low, b[i].guess_s - b[i].spread_s);
			high = fmin(high, b[i].guess_s + b[i].spread_s);
		}
		if (!(low <= high))
			continue;
		edges[n++] = (struct edge){ low - line, 1 };
		edges[n++] = (struct edge){ high - line, -1 };
	}
	qsort(edges, n, sizeof *edges, by_place);
	return n;
}

/* The hull of the places that nearly as many intervals cover as cover any. */
static bool cover(const struct edge *edges, size_t count, double *out_low, double *out_high)
{
	size_t intervals = count / 2, most = 0, covered = 0, enough;
	bool inside = false;

	for (size_t i = 0; i < count; i++) {
		covered += (size_t)edges[i].step;
		most = covered > most ? covered : most;
	}
	if (!intervals || (double)most < AGREE_RATIO * (double)intervals)
		return false;
	enough = most - (size_t)(WRONG_RATIO * (double)intervals);
	covered = 0;
	for (size_t i = 0; i < count; i++) {
		covered += (size_t)edges[i].step;
		if (edges[i].step > 0 && covered >= enough && !inside) {
			*out_low = edges[i].at_s;
			inside = true;
		}
		if (edges[i].step < 0 && covered + 1 >= enough)
			*out_high = edges[i].at_s;
	}
	return inside && isfinite(*out_low) && isfinite(*out_high);
}

/* ---- the whole ---- */

struct fit {
	double slope, t0;
	double slope_doubt;
	struct edge *edges;
	double *scratch;
	size_t scratch_count;
};

static void take_residuals(struct fit *f, const struct sb_clock_bound *b, size_t count, double middle)
{
	for (size_t i = 0; i < count; i++)
		if (!isnan(b[i].guess_s))
			f->scratch[f->scratch_count++] = fabs(
				b[i].guess_s - f->slope * (b[i].t_s - f->t0) - middle);
}

/* How far the line may be from the clock between two knots, and beside the first and the last, where the clock may go on
 * turning as it did between them: what it turns there. */
static double bend_of(const struct sb_clock_curve *c, const struct fit *f)
{
	double bend = 0;

	for (size_t i = 1; i < c->knot_count; i++) {
		double a = c->offset_s[i - 1] - f->slope * (c->knot_s[i - 1] - f->t0);
		double b = c->offset_s[i] - f->slope * (c->knot_s[i] - f->t0);

		bend = fmax(bend, fabs(b - a));
	}
	return bend;
}

static bool fit_windows(struct fit *f, const struct sb_clock_bound *b, size_t count, struct sb_clock_curve *c)
{
	size_t windows = count / WINDOW_MIN;

	windows = windows < 1 ? 1 : windows > SB_CLOCK_KNOTS ? SB_CLOCK_KNOTS : windows;
	for (size_t w = 0; w < windows; w++) {
		size_t from = count * w / windows, to = count * (w + 1) / windows;
		size_t edges = make_edges(b + from, to - from, f->slope, f->t0, f->edges);
		double low = NAN, high = NAN, middle;

		if (!cover(f->edges, edges, &low, &high))
			return false;
		middle = (low + high) / 2;
		c->knot_s[c->knot_count] = b[from + (to - from) / 2].t_s;
		c->offset_s[c->knot_count] = middle + f->slope * (c->knot_s[c->knot_count] - f->t0);
		c->knot_count++;
		c->uncertainty_s = fmax(c->uncertainty_s,
			(high - low) / 2 + f->slope_doubt * (b[to - 1].t_s - b[from].t_s) / 2);
		take_residuals(f, b + from, to - from, middle);
	}
	c->uncertainty_s = fmax(c->uncertainty_s + bend_of(c, f), LEAST_S);
	return true;
}

bool sb_clock_link_fit(struct sb_clock_bound *bounds, size_t count, struct sb_clock_curve *out_curve)
{
	struct fit f = { .edges = malloc((2 * count + 1) * sizeof *f.edges),
		.scratch = malloc((count + 1) * sizeof *f.scratch) };
	struct sb_clock_curve c = { .used_count = count };
	bool told = false;

	if (f.edges && f.scratch && count >= BOUNDS_MIN) {
		qsort(bounds, count, sizeof *bounds, by_time);
		f.slope = drift_of(bounds, count, f.scratch, &f.slope_doubt);
		f.t0 = bounds[count / 2].t_s;
		told = fit_windows(&f, bounds, count, &c);
	}
	if (told) {
		c.drift_ratio = f.slope;
		sb_stats_sort(f.scratch, f.scratch_count);
		c.residual_s = f.scratch_count ? sb_stats_percentile(f.scratch, f.scratch_count, 0.95) : NAN;
		*out_curve = c;
	}
	free(f.edges);
	free(f.scratch);
	return told;
}

double sb_clock_curve_at(const struct sb_clock_curve *c, double t_s)
{
	size_t i = 1;
	double slope = c->drift_ratio;

	if (!c->knot_count)
		return 0;
	if (t_s <= c->knot_s[0] || c->knot_count == 1)
		return c->offset_s[0] + slope * (t_s - c->knot_s[0]);
	if (t_s >= c->knot_s[c->knot_count - 1])
		return c->offset_s[c->knot_count - 1] + slope * (t_s - c->knot_s[c->knot_count - 1]);
	while (c->knot_s[i] < t_s)
		i++;
	return c->offset_s[i - 1] + (c->offset_s[i] - c->offset_s[i - 1]) * (t_s - c->knot_s[i - 1]) /
					    (c->knot_s[i] - c->knot_s[i - 1]);
}
