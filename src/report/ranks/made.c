/* What the ranks of a job made: videos, frames, steps. */
#include "report/ranks/screen.h"

#include <inttypes.h>

static const struct {
	enum sb_metric metric;
	const char *one;
} made[] = {
	{ SB_METRIC_GENERATIONS, "generation" },
	{ SB_METRIC_FRAMES, "frame" },
	{ SB_METRIC_STEPS, "step" },
};

static bool is_made(const struct sb_across_ranks *m)
{
	return m->count && m->max > 0;
}

static void put_count(struct sb_buf *out, double low, double high, const char *one)
{
	if (low < high)
		sb_buf_printf(out, "%.0f to ", low);
	sb_buf_printf(out, "%.0f %s%s", high, one, high == 1 ? "" : "s");
}

/* Ranks that meet at collectives may make one video together, and nothing recorded tells: what each of them counts is said. */
void sb_ranks_put_made(const struct sb_aggregate *a, struct sb_buf *out)
{
	bool meet = a->metrics[SB_METRIC_COLLECTIVE].count > 0 || a->collective_count > 0, any = false;

	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		const struct sb_across_ranks *m = &a->metrics[made[i].metric];

		if (!is_made(m))
			continue;
		sb_buf_puts(out, any ? ", " : meet ? "Each rank: " : "Made by all ranks: ");
		put_count(out, meet ? m->min : m->sum, meet ? m->max : m->sum, made[i].one);
		any = true;
	}
	if (any)
		sb_buf_puts(out, meet ? " (they may share a video)\n" : "\n");
}
