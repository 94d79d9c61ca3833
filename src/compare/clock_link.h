/* How far one clock is from another, from what collectives say of it. */
#ifndef SB_COMPARE_CLOCK_LINK_H
#define SB_COMPARE_CLOCK_LINK_H

#include <stdbool.h>
#include <stddef.h>

enum { SB_CLOCK_KNOTS = 16 };

/* One collective: the offset lies between low and high for certain (none leaves before all have
 * come), and within spread of guess as a rule (all leave within the time it takes). */
struct sb_clock_bound {
	double t_s;
	double low_s, high_s; /* -INFINITY, INFINITY: one side only */
	double guess_s, spread_s; /* guess NaN: none */
};

struct sb_clock_curve {
	size_t knot_count;
	double knot_s[SB_CLOCK_KNOTS], offset_s[SB_CLOCK_KNOTS];
	double uncertainty_s, residual_s, drift_ratio;
	size_t used_count;
};

/* False: the bounds cannot tell, or contradict each other. Sorts them by time. */
bool sb_clock_link_fit(struct sb_clock_bound *bounds, size_t count, struct sb_clock_curve *out_curve);
double sb_clock_curve_at(const struct sb_clock_curve *c, double t_s);

#endif
