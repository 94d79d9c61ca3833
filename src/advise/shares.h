/* What the kernels of a stage cost, by what they do, and the stage that shows a problem of theirs most. */
#ifndef SB_ADVISE_SHARES_H
#define SB_ADVISE_SHARES_H

#include "advise/rule.h"

struct sb_shares {
	const struct sb_stage *stage;
	double all_s, math_s, efficient_s, slow_conv_s, fp32_s, tf32_s, fp64_s, half_s, cast_s, transpose_s,
		elementwise_s, conv_s, gemm_s;
	double reduction_s, dequantise_s, copy_s, normalise_s;
	double narrow_gemm_s; /* in 8 bits or fewer */
	bool compiled; /* a compiler made element-wise kernels of it */
};

struct sb_shares sb_shares_of(const struct sb_stage *s);
/* True if something in this run computes in 16 bits, so that the rest could too. */
bool sb_shares_half(const struct sb_model *model);

/* Kernel time of a stage that shows the problem, and how much of it goes when it is fixed; 0: the stage does not have it. */
struct sb_cost {
	double seen_s, saved_s;
};
typedef struct sb_cost (*sb_problem_fn)(const struct sb_model *model, const struct sb_shares *k);

static inline struct sb_cost sb_cost_of(double seen_s, double saved_ratio)
{
	return (struct sb_cost){ seen_s, saved_ratio * seen_s };
}

static inline struct sb_cost sb_cost_none(void)
{
	return (struct sb_cost){ 0, 0 };
}

struct sb_shown {
	const struct sb_stage *stage; /* NULL: none has it */
	struct sb_shares shares;
	double saved_s, seen_s, gain_s, share; /* in all calls; share: what is seen of the stage's kernels */
};

struct sb_shown sb_shares_worst(const struct sb_model *model, sb_problem_fn problem);
/* Adds the finding about that stage; NULL: there is none, or it costs too little. */
struct sb_advice *sb_shares_find(struct sb_advisor *a, const struct sb_shown *s, const char *issue,
	const char *cause, enum sb_confidence sure);

#endif
