/* What may grow, over time. For growth.c. */
#ifndef SB_ANALYZE_MEMORY_GROWTH_POINTS_H
#define SB_ANALYZE_MEMORY_GROWTH_POINTS_H

#include "analyze/model.h"
#include "base/vec.h"
#include "run/run.h"

struct sb_growth_reading {
	int64_t t_ns;
	uint32_t process;
	uint32_t label; /* a name of the run's */
	int device;
	double value;
};

struct sb_growth_readings {
	const struct sb_run *run;
	struct sb_vec all; /* struct sb_growth_reading, as the program took them; in the order of time */
};

/* What can grow: as the program's readings have it, else as a monitor sampled it. */
struct sb_growth_kind {
	const char *of, *label, *source, *column;
	const char *less; /* a column whose last known value is taken off; NULL: none */
	double unit;
};

struct sb_growth_points {
	double *t_s, *value;
	size_t count;
};

/* False: no memory. */
bool sb_growth_points_of(const struct sb_growth_readings *readings, const struct sb_model *model,
	const struct sb_growth_kind *kind, struct sb_growth_points *out);
void sb_growth_points_done(struct sb_growth_points *p);

/* True if every step takes more and the generation gives it back at its end. */
bool sb_growth_is_given_back(const struct sb_growth_points *p, const struct sb_model *model);

#endif
