/* What runs of one model measured, as points over the sizes of their generations. For fit.c. */
#ifndef SB_COMPARE_FIT_POINTS_H
#define SB_COMPARE_FIT_POINTS_H

#include "compare/fit.h"
#include "stats/surface.h"

#define SB_FIT_STAGES 24

struct sb_fit_point { /* all generations of one size */
	double x[SB_SURFACE_AXES];
	double time_s, memory_bytes; /* medians; time: of warm generations; NAN: not known */
	double first_s; /* of the first generation in a process */
	double used_s; /* what a function of the time is fitted to: fit_times.h */
	double stage_s[SB_FIT_STAGES], stage_bytes[SB_FIT_STAGES];
};

struct sb_fit_points {
	struct sb_fit_axis axes[SB_SURFACE_AXES]; /* what was asked for first */
	size_t axis_count;
	struct sb_fit_point *all; /* different sizes */
	size_t count;
	int64_t summed_count; /* sizes that are left out: their frames are added up over videos */
	int64_t run_count, other_count; /* other: left out, as they are of another model, device or host */
	const char *other_model; /* of the first of these; NULL: none */
	const char *stages[SB_FIT_STAGES]; /* of the run */
	size_t stage_count;
	const char *memory_of;
	double context_bytes;
	const char *ran_out; /* a run that ran out of memory at this size, or at a smaller one */
};

/* STROBE_EINVAL: the run has no sizes, or none of what is asked for. */
int sb_fit_points_take(struct sb_fit_points *p, const struct sb_facts *run,
	const struct sb_facts *const *others, size_t other_count, const struct sb_fit_request *request);
void sb_fit_points_done(struct sb_fit_points *p); /* p may be zeroed */

#endif
