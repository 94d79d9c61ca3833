/* What the ranks of a job made: videos, frames, steps. */
#include "base/error.h"
#include "compare/aggregate.h"

#include <math.h>
#include <stdlib.h>

static const struct {
	enum sb_metric metric;
	const char *what;
} kinds[] = {
	{ SB_METRIC_GENERATIONS, "generations" },
	{ SB_METRIC_FRAMES, "frames" },
	{ SB_METRIC_STEPS, "steps" },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

int sb_aggregate_count_made(struct sb_aggregate *a)
{
	bool meet = a->metrics[SB_METRIC_COLLECTIVE].count > 0 || a->collective_count > 0;

	a->made_count = 0;
	if (!a->made && !(a->made = calloc(KINDS, sizeof *a->made)))
		return sb_fail(STROBE_ENOMEM, "no memory for what the ranks made");
	for (size_t i = 0; i < KINDS; i++) {
		const struct sb_across_ranks *m = &a->metrics[kinds[i].metric];

		if (m->count && m->max > 0)
			a->made[a->made_count++] = (struct sb_job_output){ .what = kinds[i].what,
				.all = meet ? NAN : m->sum,
				.least = m->min,
				.most = m->max };
	}
	return 0;
}
