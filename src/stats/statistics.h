/* Statistics of a handful to a few thousand measurements, and the judgement
 * "is this really slower". Deterministic: the same numbers give the same words. */
#ifndef SB_STATS_STATISTICS_H
#define SB_STATS_STATISTICS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Statistics of a set of durations or values; the report model uses it too. */
struct sb_stats {
	int64_t count;
	double total;
	double mean;
	double min;
	double max;
	union {
		double p50;
		double median; /* of an even count: the middle of the two middle values */
	};
	double p95; /* interpolated between neighbours */
	double p99;
	double last;
	double std; /* of a sample (n - 1); NaN under two values */
	double percentile_error_ratio; /* 0: exact */
};

/* The statistics of no values: what is not known is NaN. */
#define SB_STATS_NONE                     \
	((struct sb_stats){ .total = NAN, \
		.mean = NAN,              \
		.min = NAN,               \
		.max = NAN,               \
		.p50 = NAN,               \
		.p95 = NAN,               \
		.p99 = NAN,               \
		.last = NAN,              \
		.std = NAN })

/* Without values everything but the count is NaN. Returns 0 or STROBE_ENOMEM. */
int sb_stats_of(const double *values, size_t count, struct sb_stats *out_stats);

/* Ascending. NaN is not among the values. */
void sb_stats_sort(double *values, size_t count);
/* sorted ascending, count > 0; q from 0 to 1. */
double sb_stats_percentile(const double *sorted, size_t count, double q);

struct sb_interval {
	double low;
	double high; /* both NaN: too few values for an interval */
};

/* The 95 % interval of the median, by resampling. NaN under three values. */
int sb_stats_median_interval(const double *values, size_t count, struct sb_interval *out_interval);

/* Deviations on either side that hold 95 %, where freedom values beyond the fitted ones tell the deviation. */
double sb_student_t(double freedom);

/* The 95 % interval of median(new) / median(base). */
int sb_stats_ratio_interval(const double *base, size_t base_count, const double *now, size_t now_count,
	struct sb_interval *out_interval);

struct sb_rank_test {
	double p; /* two-sided */
	double effect; /* chance that a new value exceeds a base value, 0.5: none */
	bool exact; /* counted, not approximated */
	double inflation; /* > 1: neighbours resemble each other, the test was widened */
};

/* Mann-Whitney U of two series in the order they were measured. Exact for up
 * to 20 values each without ties. Where a series drifts (values resemble their
 * neighbours), it counts for less: fewer independent measurements. */
int sb_stats_rank_test(const double *base, size_t base_count, const double *now, size_t now_count,
	struct sb_rank_test *out_test);

/* ---- the judgement ------------------------------------------------------ */

enum sb_verdict {
	SB_VERDICT_SAME, /* inside the tolerance, or inside the noise */
	SB_VERDICT_WORSE,
	SB_VERDICT_BETTER,
	SB_VERDICT_UNCERTAIN, /* past the tolerance, but the repetitions do not confirm it */
	SB_VERDICT_APPEARED,
	SB_VERDICT_VANISHED,
	SB_VERDICT_CHANGED, /* different, but neither better nor worse */
	SB_VERDICT_TOO_FEW /* fewer values than a test needs, in a comparison of repetitions */
};

enum sb_basis {
	SB_BASIS_TOLERANCE, /* a comparison of single values */
	SB_BASIS_TOO_FEW, /* fewer values than the rank test needs, in a comparison of repetitions */
	SB_BASIS_RANK_TEST
};

/* What values are worth that are too few for the rank test. One answer for all rows of a comparison: one call against one
 * call proves no more than two against two do. */
enum sb_few {
	SB_FEW_PROVE_NOTHING, /* a comparison of repetitions: too few to judge */
	SB_FEW_BY_TOLERANCE /* nothing is repeated: the tolerance judges */
};

struct sb_tolerance {
	double ratio; /* a smaller change counts as none */
	double absolute; /* in the metric's own unit; counts only where the tolerance judges */
	double alpha; /* of the rank test */
	enum sb_few few;
};
extern const struct sb_tolerance sb_tolerance_default; /* seconds: 2 %, 10 ms, 0.05 */

struct sb_judgement {
	enum sb_verdict verdict;
	enum sb_basis basis;
	double base; /* medians */
	double now;
	double ratio; /* now / base; NaN when base is 0 */
	double shift_ratio; /* now / base over all pairs of repetitions: steadier than the medians' */
	uint64_t base_count, now_count; /* values it rests on */
	struct sb_interval interval; /* of ratio; NaN without repetitions */
	double p; /* NaN without a test */
	double effect;
	double inflation;
};

/* higher_is_worse: times and memory; false: throughput. Counts are at least 1. */
int sb_judge(const double *base, size_t base_count, const double *now, size_t now_count,
	const struct sb_tolerance *tolerance, bool higher_is_worse, struct sb_judgement *out_judgement);

/* How many repetitions on each side the rank test needs. */
size_t sb_judge_count_needed(double alpha);

extern const char *const sb_verdict_names[], *const sb_basis_names[]; /* by value */

#endif
