/* Aligns the clocks of ranks. Hosts agree on the time of day
 * only as well as NTP makes them; but ranks leave a barrier together, so where
 * they share barriers, those say how far apart the clocks really are. */
#ifndef SB_COMPARE_ALIGN_H
#define SB_COMPARE_ALIGN_H

#include "compare/facts.h"

enum sb_align_method {
	SB_ALIGN_SAME_HOST, /* one clock: nothing to correct */
	SB_ALIGN_COLLECTIVES, /* corrected by barriers */
	SB_ALIGN_REAL_TIME /* taken as the hosts say; the error is not known */
};

struct sb_align_rank {
	const char *host;
	uint64_t start_real_ns;
	const struct sb_fact_collective *collectives;
	size_t collective_count;
	/* out */
	enum sb_align_method method;
	double offset_s; /* what to add to its times of day to get the first rank's */
	double residual_s; /* how far collectives still lie apart, 95 % of them; NaN: not known */
	size_t matched_count;
};

/* The first rank is the reference. Collectives are matched by name and occurrence. */
int sb_align(struct sb_align_rank *ranks, size_t count);

/* The same for those who matched the collectives elsewhere: how much later the
 * rank's clock says they ended (the median), and how far they scatter (95 %). */
void sb_align_settle(struct sb_align_rank *r, const char *first_host, size_t matched_count, double later_s,
	double scatter_s);

/* The worst known residual; NaN: none known. */
double sb_align_residual(const struct sb_align_rank *ranks, size_t count);
const char *sb_align_name(enum sb_align_method method); /* "same_host"… */
extern const char *const sb_align_names[]; /* by value */

#endif
