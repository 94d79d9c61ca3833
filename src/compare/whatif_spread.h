/* How far runs of the same settings differ by themselves: what no prediction can be better than. */
#ifndef SB_COMPARE_WHATIF_SPREAD_H
#define SB_COMPARE_WHATIF_SPREAD_H

#include "compare/facts.h"

#define SB_WHATIF_RUNS_MAX 256 /* that are looked at */

struct sb_whatif_spread {
	double ratio; /* deviation of one run's time, of that time */
	double freedom; /* for Student's t */
	double others_ratio; /* of a CPU that was full, by other programs; 0: none */
	int64_t run_count; /* runs with settings that another one has, too; 0: none tells it */
	int64_t generation_count; /* generations of the run that tell a part of it; 0: none */
};

/* Runs of equal settings among run and others, pooled with what runs differ by usually. others may be NULL. */
struct sb_whatif_spread sb_whatif_spread_of(
	const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count);

/* The deviation that values of a known spread and of freedom more values tell together. */
struct sb_whatif_spread sb_whatif_spread_join(struct sb_whatif_spread s, double squares, double freedom);

/* How far two runs of the same settings may be apart, of their time. */
double sb_whatif_apart(const struct sb_whatif_spread *s);

#endif
