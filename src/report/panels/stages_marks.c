/* What stands beside a stage's row: its rates, and whether it is a bottleneck. */
#include "report/panels/stages.h"

#include <stdio.h>
#include <string.h>

void sb_stage_rate(const struct sb_stage *s, char *out, size_t size)
{
	static const struct {
		const char *attr, *unit;
	} rates[] = { { "steps", "step" }, { "iters", "iter" }, { "frames", "frame" } };
	double with_s = sb_stage_attr_total(s, "cumulative_s");
	char text[32];
	size_t used = 0;

	*out = 0;
	if (with_s > s->total_s) { /* a profiler's table: the row is its own time */
		sb_text_seconds(text, sizeof text, with_s);
		used = (size_t)snprintf(out, size, "%s with what it calls", text);
	}
	for (size_t i = 0; i < sizeof rates / sizeof rates[0] && used < size; i++) {
		double n = sb_stage_attr_total(s, rates[i].attr);

		if (!(n > 1) || s->total_s <= 0 || !sb_stage_has_rate(s))
			continue;
		sb_text_seconds(text, sizeof text, s->total_s / n);
		used += (size_t)snprintf(
			out + used, size - used, "%s%s/%s", used ? ", " : "", text, rates[i].unit);
	}
}

const char *sb_stage_mark(const struct sb_stages_panel *stages, const struct sb_stage *s)
{
	switch (s->bottleneck_level) {
	case SB_BOTTLENECK_MAJOR:
		return stages->two_bottlenecks ? "  <- MAJOR BOTTLENECK" : "  <- BOTTLENECK";
	case SB_BOTTLENECK_OTHER: return "  <- BOTTLENECK";
	case SB_BOTTLENECK_MODEL: return "  <- MAIN MODEL";
	case SB_BOTTLENECK_PART: return "  <- MAIN PART";
	case SB_BOTTLENECK_LARGEST: return "  <- LARGEST STAGE";
	case SB_BOTTLENECK_NONE: break;
	}
	return "";
}
