/* Whether values grow: a slope that outliers do not move, and how sure its sign is. */
#ifndef SB_STATS_TREND_H
#define SB_STATS_TREND_H

#include <stddef.h>

#define SB_TREND_MAX 256u /* points: every pair of them is looked at */

struct sb_trend {
	double slope; /* Theil-Sen: the median over all pairs; NAN: fewer than three points */
	double low, high; /* its 95 % interval */
	double p; /* Mann-Kendall, two-sided; exact up to ten points without ties */
};

/* x ascends; count is at most SB_TREND_MAX. Returns 0 or STROBE_ENOMEM. */
int sb_stats_trend(const double *x, const double *y, size_t count, struct sb_trend *out_trend);

#endif
