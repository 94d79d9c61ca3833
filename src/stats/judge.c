/* Is one series of measurements really different from another: the rank test,
 * and the verdict that joins it with a tolerance. */
#include "stats/fields.h"
#include "stats/statistics.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_COUNT_MAX 20

const struct sb_tolerance sb_tolerance_default = { .ratio = 0.02, .absolute = 0.01, .alpha = 0.05 };

struct ranked {
	double value;
	double rank;
	size_t position; /* base first, then new, in measuring order */
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static int by_position(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->position > y->position) - (x->position < y->position);
}

/* Equal values share their middle rank. Returns the sum of t^3 - t over ties. */
static double assign_ranks(struct ranked *all, size_t count)
{
	double ties = 0;

	qsort(all, count, sizeof *all, by_value);
	for (size_t i = 0; i < count;) {
		size_t end = i;
		double t;

		while (end < count && all[end].value == all[i].value)
			end++;
		t = (double)(end - i);
		for (size_t k = i; k < end; k++)
			all[k].rank = ((double)i + (double)end + 1) / 2;
		ties += t * t * t - t;
		i = end;
	}
	qsort(all, count, sizeof *all, by_position);
	return ties;
}

/* Products of neighbours and squares, around the series' own mean rank. */
static void add_neighbours(const struct ranked *series, size_t count, double *products, double *squares)
{
	double mean = 0, previous = 0;

	for (size_t i = 0; i < count; i++)
		mean += series[i].rank / (double)count;
	for (size_t i = 0; i < count; i++) {
		double d = series[i].rank - mean;

		*squares += d * d;
		if (i)
			*products += d * previous;
		previous = d;
	}
}

/* By how much correlation widens the test's deviation. */
static double inflation_of(const struct ranked *all, size_t base_count, size_t now_count)
{
	double products = 0, squares = 0, correlation, noise;

	add_neighbours(all, base_count, &products, &squares);
	add_neighbours(all + base_count, now_count, &products, &squares);
	if (squares <= 0)
		return 1;
	correlation = products / squares;
	/* two standard deviations of what independent values show; with one, every sixth test would be
	 * widened for no reason */
	noise = 2 / sqrt((double)(base_count + now_count));
	if (correlation <= noise)
		return 1;
	/* short series hide correlation: their own mean follows the drift */
	correlation += (1 + 3 * correlation) * 2 / (double)(base_count + now_count);
	if (correlation > 0.9)
		correlation = 0.9;
	return sqrt((1 + correlation) / (1 - correlation));
}

/* A drift that makes 2.5 of 1 within a series does not make 20 of 1 between two: the nearest values of both
 * lie twice as far apart as the slower series reaches. */
static bool stand_apart(const struct ranked *all, size_t base_count, size_t now_count)
{
	double low[2] = { INFINITY, INFINITY }, high[2] = { 0, 0 };
	int slower;

	for (size_t i = 0; i < base_count + now_count; i++) {
		low[i >= base_count] = fmin(low[i >= base_count], all[i].value);
		high[i >= base_count] = fmax(high[i >= base_count], all[i].value);
	}
	slower = low[1] > low[0];
	return low[!slower] >= 0 && low[slower] > 0 &&
	       low[slower] * low[slower] > 2 * high[slower] * high[!slower];
}

/* P(U <= u) by counting arrangements: ways[a][b][s] over the smaller first. */
static int exact_tail(size_t n, size_t m, double u, double *out_p)
{
	size_t size = n * m + 1;
	double *ways = calloc((n + 1) * size, sizeof *ways);
	double total = 0, tail = 0;

	if (!ways)
		return sb_fail(STROBE_ENOMEM, "no memory for the rank test");
	/* Choosing n of n + m ranks: each new value exceeds 0..m base values,
	 * without falling below its predecessor. */
	ways[0] = 1;
	for (size_t exceed = 0; exceed <= m; exceed++)
		for (size_t k = 1; k <= n; k++)
			for (size_t s = exceed; s < size; s++)
				ways[k * size + s] += ways[(k - 1) * size + s - exceed];
	for (size_t s = 0; s < size; s++) {
		total += ways[n * size + s];
		if ((double)s <= u)
			tail += ways[n * size + s];
	}
	free(ways);
	*out_p = tail / total;
	return 0;
}

static double normal_tail(double z)
{
	return 0.5 * erfc(z / sqrt(2));
}

static int test_ranks(
	const struct ranked *all, size_t n, size_t m, double ties, struct sb_rank_test *out_test)
{
	double base_count = (double)n, now_count = (double)m, both = base_count + now_count;
	double rank_sum = 0, u, smaller, deviation, z;

	for (size_t i = n; i < n + m; i++)
		rank_sum += all[i].rank;
	u = rank_sum - now_count * (now_count + 1) / 2;
	smaller = fmin(u, base_count * now_count - u);
	out_test->effect = u / (base_count * now_count);
	out_test->inflation = stand_apart(all, n, m) ? 1 : inflation_of(all, n, m);
	if (n <= EXACT_COUNT_MAX && m <= EXACT_COUNT_MAX && ties == 0 && out_test->inflation == 1) {
		int err = exact_tail(m, n, smaller, &out_test->p);

		out_test->exact = true;
		out_test->p = fmin(1, 2 * out_test->p);
		return err;
	}
	deviation = sqrt(base_count * now_count / 12 * (both + 1 - ties / (both * (both - 1))));
	z = (base_count * now_count / 2 - smaller - 0.5) / (deviation * out_test->inflation);
	out_test->p = deviation > 0 ? fmin(1, 2 * normal_tail(fmax(0, z))) : 1;
	return 0;
}

int sb_stats_rank_test(const double *base, size_t base_count, const double *now, size_t now_count,
	struct sb_rank_test *out_test)
{
	struct ranked *all = malloc((base_count + now_count + 1) * sizeof *all);
	struct sb_rank_test test = { 1, 0.5, false, 1 };
	double ties;
	int err = 0;

	if (!all)
		return sb_fail(STROBE_ENOMEM, "no memory for the rank test");
	for (size_t i = 0; i < base_count + now_count; i++)
		all[i] = (struct ranked){ i < base_count ? base[i] : now[i - base_count], 0, i };
	if (base_count && now_count) {
		ties = assign_ranks(all, base_count + now_count);
		err = test_ranks(all, base_count, now_count, ties, &test);
	}
	free(all);
	if (!err)
		*out_test = test;
	return err;
}

/* ---- the judgement ------------------------------------------------------ */

#define PAIRED_VALUES_MAX 400 /* a side, evenly picked from more */

/* The smallest p that so few values allow: 0.1 with 3 and 3. */
static bool test_can_speak(size_t n, size_t m, double alpha)
{
	double arrangements = 1;

	for (size_t i = 1; i <= n; i++)
		arrangements = arrangements * (double)(m + i) / (double)i;
	return 2 / arrangements <= alpha;
}

size_t sb_judge_count_needed(double alpha)
{
	size_t n = 2;

	while (!test_can_speak(n, n, alpha) && n < 100)
		n++;
	return n;
}

static enum sb_verdict direction(double ratio, bool higher_is_worse)
{
	return (ratio > 1) == higher_is_worse ? SB_VERDICT_WORSE : SB_VERDICT_BETTER;
}

/* Picks values at even distances, so that early and late ones are kept alike. */
static size_t pick(const double *values, size_t count, const double **out_first, size_t *out_stride)
{
	*out_first = values;
	*out_stride = (count + PAIRED_VALUES_MAX - 1) / PAIRED_VALUES_MAX;
	return (count + *out_stride - 1) / *out_stride;
}

/* The median of new / base over all pairs (Hodges and Lehmann): what the rank test is about.
 * Falls back to the ratio of the medians if a value is not positive. */
static int shift_of(const double *base, size_t base_count, const double *now, size_t now_count, double *shift)
{
	size_t base_stride, now_stride, n = pick(base, base_count, &base, &base_stride),
					m = pick(now, now_count, &now, &now_stride), used = 0;
	double *pairs = malloc((n * m + 1) * sizeof *pairs);
	struct sb_stats s;
	int err = 0;

	if (!pairs)
		return sb_fail(STROBE_ENOMEM, "no memory for the rank test");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m; k++) {
			double b = base[i * base_stride], a = now[k * now_stride];

			if (b > 0 && a > 0)
				pairs[used++] = a / b;
		}
	if (used == n * m) {
		err = sb_stats_of(pairs, used, &s);
		if (!err)
			*shift = s.median;
	}
	free(pairs);
	return err;
}

static int judge_by_test(const double *base, size_t base_count, const double *now, size_t now_count,
	const struct sb_tolerance *t, bool higher_is_worse, struct sb_judgement *j)
{
	struct sb_rank_test test;
	int err = sb_stats_rank_test(base, base_count, now, now_count, &test);

	if (!err)
		err = shift_of(base, base_count, now, now_count, &j->shift_ratio);
	if (err)
		return err;
	j->basis = SB_BASIS_RANK_TEST;
	j->p = test.p;
	j->effect = test.effect;
	j->inflation = test.inflation;
	if (isnan(j->shift_ratio) ? j->now == j->base : !(fabs(j->shift_ratio - 1) > t->ratio))
		j->verdict = SB_VERDICT_SAME;
	else if (test.p <= t->alpha)
		j->verdict = direction(
			isnan(j->shift_ratio) ? 1 + (j->now - j->base) : j->shift_ratio, higher_is_worse);
	else
		j->verdict = SB_VERDICT_UNCERTAIN;
	return 0;
}

/* Past the ratio and the absolute floor. */
static void judge_by_tolerance(const struct sb_tolerance *t, bool higher_is_worse, struct sb_judgement *j)
{
	double change = fabs(j->now - j->base);

	/* a change of exactly the tolerance is inside it, whatever the last bit says */
	if (change > t->absolute * (1 + 1e-9) && change > t->ratio * fabs(j->base))
		j->verdict = direction(1 + (j->now - j->base), higher_is_worse);
}

/* Three against many prove nothing about the three. A single value may stand for many: a report keeps a median. */
static bool too_few(size_t base_count, size_t now_count, double alpha)
{
	size_t least = base_count < now_count ? base_count : now_count;

	return least == 1 ? !test_can_speak(base_count, now_count, alpha)
			  : least < sb_judge_count_needed(alpha);
}

int sb_judge(const double *base, size_t base_count, const double *now, size_t now_count,
	const struct sb_tolerance *tolerance, bool higher_is_worse, struct sb_judgement *out_judgement)
{
	struct sb_judgement j = { .base_count = base_count,
		.now_count = now_count,
		.interval = { NAN, NAN },
		.p = NAN,
		.effect = NAN,
		.inflation = 1 };
	struct sb_stats before, after;
	int err = sb_stats_of(base, base_count, &before);

	if (!err)
		err = sb_stats_of(now, now_count, &after);
	if (!err)
		err = sb_stats_ratio_interval(base, base_count, now, now_count, &j.interval);
	if (err)
		return err;
	j.base = before.median;
	j.now = after.median;
	j.shift_ratio = j.ratio = before.median != 0 ? after.median / before.median : NAN;
	if (!too_few(base_count, now_count, tolerance->alpha)) {
		err = judge_by_test(base, base_count, now, now_count, tolerance, higher_is_worse, &j);
	} else if (tolerance->few == SB_FEW_BY_TOLERANCE) {
		judge_by_tolerance(tolerance, higher_is_worse, &j);
	} else {
		j.basis = SB_BASIS_TOO_FEW;
		j.verdict = SB_VERDICT_TOO_FEW;
	}
	if (!err)
		*out_judgement = j;
	return err;
}

const char *const sb_verdict_names[] = { "same", "worse", "better", "uncertain", "appeared", "vanished",
	"changed", "too_few", SB_NAMES_END };
const char *const sb_basis_names[] = { "tolerance", "too_few", "rank_test", SB_NAMES_END };
