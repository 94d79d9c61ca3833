/* Values, means and largest values of a series. */
#include "stats/series.h"

#include <math.h>
#include <string.h>

const struct sb_series_column *sb_series_column_find(const struct sb_series *series, const char *name)
{
	for (size_t i = 0; series && i < series->column_count; i++)
		if (!strcmp(series->columns[i].name, name))
			return &series->columns[i];
	return NULL;
}

/* The first row at or after t_s. */
static size_t row_at(const struct sb_series *s, double t_s)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->t_s[mid] < t_s)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

double sb_series_at(const struct sb_series *s, const struct sb_series_column *c, double t_s)
{
	size_t i;
	double share;

	if (!s || !c || !s->count || t_s < s->t_s[0] || t_s > s->t_s[s->count - 1])
		return NAN;
	i = row_at(s, t_s);
	if (i == 0 || s->t_s[i] == t_s)
		return c->values[i];
	share = (t_s - s->t_s[i - 1]) / (s->t_s[i] - s->t_s[i - 1]);
	return c->values[i - 1] + share * (c->values[i] - c->values[i - 1]);
}

double sb_series_max(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double max = NAN;

	if (!s || !c)
		return NAN;
	for (size_t i = row_at(s, from_s); i < s->count && s->t_s[i] <= to_s; i++) {
		if (!isnan(c->values[i]) && !(c->values[i] <= max))
			max = c->values[i];
	}
	return max;
}

static double integrate(const struct sb_series *s, const struct sb_series_column *c, double from_s,
	double to_s, double *out_known_s)
{
	double sum = 0, known_s = 0;
	size_t i = row_at(s, from_s);

	for (i = i ? i : 1; i < s->count && s->t_s[i - 1] < to_s; i++) {
		double a_s = fmax(s->t_s[i - 1], from_s), b_s = fmin(s->t_s[i], to_s);
		double a = sb_series_at(s, c, a_s), b = sb_series_at(s, c, b_s);

		if (isnan(a) || isnan(b) || b_s <= a_s)
			continue;
		sum += (a + b) / 2 * (b_s - a_s);
		known_s += b_s - a_s;
	}
	*out_known_s = known_s;
	return known_s > 0 ? sum : NAN;
}

double sb_series_integral(
	const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double known_s;

	return s && c ? integrate(s, c, from_s, to_s, &known_s) : NAN;
}

double sb_series_mean(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double known_s, sum;

	if (!s || !c)
		return NAN;
	sum = integrate(s, c, from_s, to_s, &known_s);
	if (isnan(sum))
		return sb_series_at(s, c, (from_s + to_s) / 2);
	return sum / known_s;
}

/* The first row, a mean since the one before it, that ends after from_s. */
static size_t first_held(const struct sb_series *s, double from_s)
{
	size_t i = 1;

	for (size_t high = s ? s->count : 0; i < high;) {
		size_t middle = i + (high - i) / 2;

		if (s->t_s[middle] > from_s)
			high = middle;
		else
			i = middle + 1;
	}
	return i;
}

double sb_series_rows_s(const struct sb_series *s, double from_s, double to_s)
{
	size_t first = first_held(s, from_s), last = first_held(s, to_s);

	if (!s || first >= s->count)
		return 0;
	if (last > first && s->t_s[last - 1] >= to_s)
		last--;
	return s->t_s[last < s->count ? last : s->count - 1] - s->t_s[first - 1];
}

double sb_series_held_mean(const struct sb_series *s, const struct sb_series_column *c, double from_s,
	double to_s, double *out_known_s)
{
	double sum = 0;

	*out_known_s = 0;
	for (size_t i = first_held(s, from_s); s && c && i < s->count && s->t_s[i - 1] < to_s; i++) {
		double begin_s = s->t_s[i - 1] > from_s ? s->t_s[i - 1] : from_s;
		double end_s = s->t_s[i] < to_s ? s->t_s[i] : to_s;

		if (end_s <= begin_s || isnan(c->values[i]))
			continue;
		sum += c->values[i] * (end_s - begin_s);
		*out_known_s += end_s - begin_s;
	}
	return *out_known_s > 0 ? sum / *out_known_s : NAN;
}
