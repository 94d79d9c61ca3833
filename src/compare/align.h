/* Aligns the clocks of ranks. Machines agree on the time of day only as well as NTP makes them;
 * but ranks meet, and that bounds how far apart their clocks can be: none leaves a collective
 * before all have come, and all leave it within the time it takes. */
#ifndef SB_COMPARE_ALIGN_H
#define SB_COMPARE_ALIGN_H

#include "compare/facts.h"

enum sb_align_method {
	SB_ALIGN_SAME_HOST, /* one clock: nothing to correct */
	SB_ALIGN_COLLECTIVES, /* corrected by collectives */
	SB_ALIGN_REAL_TIME /* taken as the machines say: the data cannot tell the error */
};

enum { SB_ALIGN_KNOTS = 16 };

struct sb_align_rank {
	int64_t rank; /* its number in groups with a root */
	const char *host;
	const char *clock; /* ranks with the same text share a clock; NULL: the host's name */
	uint64_t start_real_ns;
	const struct sb_fact_collective *collectives;
	size_t collective_count;
	/* out */
	enum sb_align_method method;
	double offset_s; /* what to add to its times of day to get the first rank's, in the middle of the run */
	double drift_ratio; /* how much faster than the first rank's its clock goes: 30e-6; NaN: not known */
	double uncertainty_s; /* the true offset lies within this of the stated one, all along; NaN: not known */
	double residual_s; /* how far collectives still lie apart, 95 % of them; NaN: not known */
	size_t matched_count;
	/* The offset over the first rank's time of day, since its start: lines between these. */
	size_t knot_count;
	double knot_s[SB_ALIGN_KNOTS], knot_offset_s[SB_ALIGN_KNOTS];
};

/* The first rank is the reference. */
int sb_align(struct sb_align_rank *ranks, size_t count);

/* A time of a rank, since its start, on the first rank's clock, since that one's start. */
double sb_align_time(const struct sb_align_rank *first, const struct sb_align_rank *r, double t_s);

/* The worst known residual, and uncertainty; NaN: none known. */
double sb_align_residual(const struct sb_align_rank *ranks, size_t count);
double sb_align_uncertainty(const struct sb_align_rank *ranks, size_t count);
extern const char *const sb_align_names[]; /* by value */

#endif
