/* Collecting values over time in bounded memory. */
#include "analyze/sampled.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define ROW_LIMIT_LEAST 16u
#define BIN_ROWS 4u /* merged into two: each column's minimum and maximum */
#define INTERVAL_LEAST_S 1e-12 /* the first sample has none before it */

int sb_sampled_init(struct sb_sampled *s, const char *const *columns, size_t column_count, size_t row_limit)
{
	memset(s, 0, sizeof *s);
	s->row_limit = row_limit < ROW_LIMIT_LEAST ? ROW_LIMIT_LEAST : row_limit - row_limit % BIN_ROWS;
	s->bin_limit = 1;
	s->columns = calloc(column_count + 1, sizeof *s->columns);
	if (!s->columns)
		return sb_fail(STROBE_ENOMEM, "no memory for samples");
	s->column_count = column_count;
	for (size_t i = 0; i < column_count; i++) {
		struct sb_sampled_column *c = &s->columns[i];

		c->name = columns[i];
		c->first = c->last = c->min = c->max = c->max_t_s = NAN;
	}
	return 0;
}

void sb_sampled_done(struct sb_sampled *s)
{
	for (size_t i = 0; i < s->column_count; i++)
		free(s->columns[i].values);
	free(s->columns);
	free(s->t_s);
	memset(s, 0, sizeof *s);
}

static int grow(struct sb_sampled *s)
{
	size_t capacity = s->row_capacity ? s->row_capacity * 2 : 64;
	double *t;

	if (capacity > s->row_limit)
		capacity = s->row_limit;
	t = realloc(s->t_s, capacity * sizeof *t);
	if (!t)
		return sb_fail(STROBE_ENOMEM, "no memory for samples");
	s->t_s = t;
	for (size_t i = 0; i < s->column_count; i++) {
		double *v = realloc(s->columns[i].values, capacity * sizeof *v);

		if (!v)
			return sb_fail(STROBE_ENOMEM, "no memory for samples");
		s->columns[i].values = v;
	}
	s->row_capacity = capacity;
	return 0;
}

/* The minimum and maximum of four rows, in the order they occurred. */
static void row_extremes(const double *values, double *out_first, double *out_second)
{
	size_t low = BIN_ROWS, high = BIN_ROWS;

	for (size_t i = 0; i < BIN_ROWS; i++) {
		if (isnan(values[i]))
			continue;
		if (low == BIN_ROWS || values[i] < values[low])
			low = i;
		if (high == BIN_ROWS || values[i] >= values[high])
			high = i;
	}
	if (low == BIN_ROWS) {
		*out_first = *out_second = NAN;
		return;
	}
	*out_first = values[low < high ? low : high];
	*out_second = values[low < high ? high : low];
}

static void merge_extremes(struct sb_sampled *s)
{
	size_t out = 0;

	for (size_t i = 0; i < s->row_count; i += BIN_ROWS, out += 2) {
		double first_t_s = s->t_s[i], last_t_s = s->t_s[i + BIN_ROWS - 1];

		for (size_t c = 0; c < s->column_count; c++) {
			double *v = s->columns[c].values;
			double first, second;

			row_extremes(v + i, &first, &second);
			v[out] = first;
			v[out + 1] = second;
		}
		s->t_s[out] = first_t_s;
		s->t_s[out + 1] = last_t_s;
	}
	s->row_count = out;
	s->bin_limit = s->bin_limit == 1 ? BIN_ROWS : s->bin_limit * 2;
}

static bool is_gap(const struct sb_sampled *s, size_t row)
{
	for (size_t c = 0; c < s->column_count; c++)
		if (!isnan(s->columns[c].values[row]))
			return false;
	return true;
}

static double weighted(double a, double a_s, double b, double b_s)
{
	return isnan(a) ? b : isnan(b) ? a : (a * a_s + b * b_s) / (a_s + b_s);
}

/* over_gaps: a pair with a gap in it becomes one, since no value may reach over it. */
static void merge_pairs(struct sb_sampled *s, bool over_gaps)
{
	size_t out = 0;

	for (size_t i = 0, next; i < s->row_count; i = next, out++) {
		double before_s = out ? s->t_s[out - 1] : s->t_s[i] - INTERVAL_LEAST_S;
		bool two = i + 1 < s->row_count, gap = is_gap(s, i) || (two && is_gap(s, i + 1));
		bool pair = two && (over_gaps || !gap);

		next = pair ? i + 2 : i + 1;
		for (size_t c = 0; c < s->column_count; c++) {
			double *v = s->columns[c].values;

			v[out] = !pair ? v[i]
				 : gap ? NAN
				       : weighted(v[i], s->t_s[i] - before_s, v[i + 1],
						 s->t_s[i + 1] - s->t_s[i]);
		}
		s->t_s[out] = s->t_s[next - 1];
	}
	s->row_count = out;
	s->bin_limit *= 2;
}

/* Gaps stay where they are, unless they are most of it: the rows have a limit. */
static void merge_means(struct sb_sampled *s)
{
	merge_pairs(s, false);
	if (s->row_count > s->row_limit / 4 * 3)
		merge_pairs(s, true);
}

static int add_row(struct sb_sampled *s, double t_s, const double *values)
{
	if (s->row_count == s->row_capacity) {
		int err = grow(s);

		if (err)
			return err;
	}
	s->t_s[s->row_count] = t_s;
	for (size_t i = 0; i < s->column_count; i++)
		s->columns[i].values[s->row_count] = values[i];
	s->row_count++;
	return 0;
}

static void begin_bin(struct sb_sampled *s, const double *values, double interval_s)
{
	for (size_t i = 0; i < s->column_count; i++) {
		struct sb_sampled_column *c = &s->columns[i];
		bool known = !isnan(values[i]);

		c->bin.low = c->bin.high = values[i];
		c->bin.sum = known ? values[i] * interval_s : 0;
		c->bin.known_s = known ? interval_s : 0;
		c->bin.high_first = false;
	}
	s->bin_count = 1;
}

static void widen_bin(struct sb_sampled_column *c, double value, double interval_s)
{
	if (isnan(value))
		return;
	if (!(value >= c->bin.low)) {
		c->bin.high_first = !isnan(c->bin.low);
		c->bin.low = value;
	}
	if (!(value < c->bin.high)) {
		c->bin.high_first = false;
		c->bin.high = value;
	}
	c->bin.sum += value * interval_s;
	c->bin.known_s += interval_s;
}

/* The rows of the newest bin, as they are with one more sample. */
static int add_to_bin(struct sb_sampled *s, double t_s, const double *values, double interval_s)
{
	bool means = s->merge == SB_SAMPLED_MEANS;

	if (!means && s->bin_count == 1) {
		int err = add_row(s, t_s, values);

		if (err)
			return err;
	}
	s->bin_count++;
	s->t_s[s->row_count - 1] = t_s;
	for (size_t i = 0; i < s->column_count; i++) {
		struct sb_sampled_column *c = &s->columns[i];
		double *last = &c->values[s->row_count - 1];

		widen_bin(c, values[i], interval_s);
		if (means) {
			*last = c->bin.known_s > 0 ? c->bin.sum / c->bin.known_s : NAN;
			continue;
		}
		last[-1] = c->bin.high_first ? c->bin.high : c->bin.low;
		last[0] = c->bin.high_first ? c->bin.low : c->bin.high;
	}
	return 0;
}

static bool unknown(const struct sb_sampled *s, const double *values)
{
	for (size_t i = 0; i < s->column_count; i++)
		if (!isnan(values[i]))
			return false;
	return true;
}

static int place(struct sb_sampled *s, double t_s, const double *values)
{
	bool gap = s->merge == SB_SAMPLED_MEANS && unknown(s, values);
	double interval_s = s->sample_count ? fmax(t_s - s->last_t_s, INTERVAL_LEAST_S) : INTERVAL_LEAST_S;
	int err;

	if (!gap && s->bin_count && s->bin_count < s->bin_limit)
		return add_to_bin(s, t_s, values, interval_s);
	if (s->row_count >= s->row_limit) {
		if (s->merge == SB_SAMPLED_MEANS)
			merge_means(s);
		else
			merge_extremes(s);
	}
	err = add_row(s, t_s, values);
	if (!err)
		begin_bin(s, values, interval_s);
	if (gap)
		s->bin_count = 0;
	return err;
}

/* A mean has been that since the sample before it; else there are straight lines between known values. */
static void integrate(const struct sb_sampled *s, struct sb_sampled_column *c, double t_s, double value)
{
	bool means = s->merge == SB_SAMPLED_MEANS;
	double interval_s = means && s->sample_count ? t_s - s->last_t_s
			    : !means && c->count     ? t_s - c->previous_t_s
						     : 0;

	c->integral += (means ? value : (value + c->last) / 2) * interval_s;
	c->known_s += interval_s;
}

static void count_value(const struct sb_sampled *s, struct sb_sampled_column *c, double t_s, double value)
{
	if (isnan(value))
		return;
	if (!c->count) {
		c->first = c->min = c->max = c->last = value;
		c->max_t_s = t_s;
	}
	integrate(s, c, t_s, value);
	if (value < c->min)
		c->min = value;
	if (value > c->max) {
		c->max = value;
		c->max_t_s = t_s;
	}
	c->sum += value;
	c->last = value;
	c->previous_t_s = t_s;
	c->count++;
}

int sb_sampled_add(struct sb_sampled *s, double t_s, const double *values)
{
	int err;

	if (s->sample_count && t_s < s->last_t_s)
		return 0;
	err = place(s, t_s, values);
	if (err)
		return err;
	for (size_t i = 0; i < s->column_count; i++)
		count_value(s, &s->columns[i], t_s, values[i]);
	s->last_t_s = t_s;
	s->sample_count++;
	return 0;
}

static int store_column(const struct sb_sampled *s, const struct sb_sampled_column *from,
	struct sb_model *model, struct sb_series_column *to)
{
	size_t known = 0;
	int err;

	to->name = sb_model_text(model, from->name);
	to->values = sb_model_alloc(model, s->row_count * sizeof(double));
	if (!to->name || !to->values)
		return sb_fail(STROBE_ENOMEM, "no memory for samples");
	for (size_t i = 0; i < s->row_count; i++) {
		if (!isnan(from->values[i]))
			to->values[known++] = from->values[i];
	}
	err = sb_stats_of(to->values, known, &to->stats); /* percentiles and deviation: of the rows kept */
	if (err)
		return err;
	memcpy(to->values, from->values, s->row_count * sizeof(double));
	to->stats.count = from->count;
	to->stats.total = from->sum;
	to->stats.min = from->min;
	to->stats.max = from->max;
	to->stats.last = from->last;
	to->stats.mean = from->known_s > 0 ? from->integral / from->known_s : from->sum / (double)from->count;
	to->first = from->first;
	to->max_t_s = from->max_t_s;
	to->integral = from->known_s > 0 ? from->integral : NAN;
	return 0;
}

int sb_sampled_store(const struct sb_sampled *s, struct sb_model *model, struct sb_series *out_series)
{
	struct sb_series stored = {
		.device = -1, .count = s->row_count, .recorded_count = (size_t)s->sample_count
	};

	if (!s->row_count) {
		*out_series = stored;
		return 0;
	}
	stored.t_s = sb_model_alloc(model, s->row_count * sizeof(double));
	stored.columns = sb_model_alloc(model, (s->column_count + 1) * sizeof *stored.columns);
	if (!stored.t_s || !stored.columns)
		return sb_fail(STROBE_ENOMEM, "no memory for samples");
	memcpy(stored.t_s, s->t_s, s->row_count * sizeof(double));
	for (size_t i = 0; i < s->column_count; i++) {
		int err;

		if (!s->columns[i].count)
			continue;
		err = store_column(s, &s->columns[i], model, &stored.columns[stored.column_count++]);
		if (err)
			return err;
	}
	*out_series = stored;
	return 0;
}
