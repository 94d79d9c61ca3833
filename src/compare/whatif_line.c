/* Least squares over a handful of runs, with the error of a prediction. */
#include "compare/whatif_line.h"

#include <math.h>

struct sb_whatif_line sb_whatif_line_fit(const struct sb_whatif_point *p, size_t count)
{
	struct sb_whatif_line l = { .count = count, .least = INFINITY, .most = -INFINITY };
	double xs = 0;

	for (size_t i = 0; i < count; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= p[k].x == p[i].x;
		l.values += !seen;
		l.least = fmin(l.least, p[i].x);
		l.most = fmax(l.most, p[i].x);
		l.digit_s = fmax(l.digit_s, p[i].digit_s);
		l.mean_x += p[i].x / (double)count;
		l.mean_s += p[i].call_s / (double)count;
	}
	if (l.values < 2)
		return l;
	for (size_t i = 0; i < count; i++) {
		l.xx += (p[i].x - l.mean_x) * (p[i].x - l.mean_x);
		xs += (p[i].x - l.mean_x) * (p[i].call_s - l.mean_s);
	}
	l.each_s = fmax(0, xs / l.xx);
	l.fixed_s = l.mean_s - l.each_s * l.mean_x;
	if (l.fixed_s < 0) { /* through nothing: no stage takes less */
		l.fixed_s = 0;
		l.each_s = l.mean_s / l.mean_x;
	}
	for (size_t i = 0; i < count; i++) {
		double off = p[i].call_s - l.fixed_s - l.each_s * p[i].x;

		l.squares += off * off;
	}
	return l;
}

double sb_whatif_line_lever(const struct sb_whatif_line *l, double x)
{
	double beyond = fmax(fmax(l->least - x, x - l->most), 0);

	return 1 + 2 * beyond / (l->most - l->least);
}

static double level(const struct sb_whatif_line *l, double x)
{
	return fmax(l->mean_s, sb_whatif_line_at(l, x));
}

struct sb_whatif_spread sb_whatif_line_spread(
	const struct sb_whatif_line *l, const struct sb_whatif_spread *spread, double x)
{
	double at_s = level(l, x);

	return sb_whatif_spread_join(*spread, l->squares / (at_s * at_s), (double)l->count - 2);
}

double sb_whatif_line_off(const struct sb_whatif_line *l, const struct sb_whatif_spread *spread, double x)
{
	struct sb_whatif_spread left = sb_whatif_line_spread(l, spread, x);
	double far = (x - l->mean_x) * (x - l->mean_x) / l->xx;

	return sb_student_t(left.freedom) * left.ratio * level(l, x) * sqrt(1 + 1 / (double)l->count + far);
}
