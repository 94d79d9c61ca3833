/* The part of a run that is looked at: a range of time, or one generation. */
#include "run/index.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int64_t cut_edge(const struct sb_run *run, int64_t t_ns)
{
	if (t_ns < 0)
		t_ns += run->wall_ns;
	return t_ns < 0 ? 0 : t_ns > run->wall_ns ? run->wall_ns : t_ns;
}

struct generations {
	int64_t *begins, *ends;
	uint32_t count, room;
};

static void see_generation(void *self, const struct sb_zone *z)
{
	struct generations *g = self;

	if (g->count == g->room) {
		uint32_t room = g->room ? g->room * 2 : 64;
		int64_t *begins = realloc(g->begins, room * sizeof *begins);
		int64_t *ends = realloc(g->ends, room * sizeof *ends);

		g->begins = begins ? begins : g->begins;
		g->ends = ends ? ends : g->ends;
		if (!begins || !ends)
			return;
		g->room = room;
	}
	/* by begin: nearly sorted already */
	uint32_t at = g->count++;
	for (; at && g->begins[at - 1] > z->begin_ns; at--) {
		g->begins[at] = g->begins[at - 1];
		g->ends[at] = g->ends[at - 1];
	}
	g->begins[at] = z->begin_ns;
	g->ends[at] = z->end_ns;
}

static int cut_to_generation(struct sb_run *run, int32_t wanted)
{
	struct generations g = { 0 };
	struct sb_visitor v = { .self = &g, .roles = 1u << STROBE_ROLE_GENERATION, .zone = see_generation };
	int err = sb_run_visit(run, &v, 1);

	if (!err && !g.count)
		err = sb_fail(
			STROBE_EINVAL, "'%s' has no generations: nothing in it was marked as one", run->path);
	else if (!err && (wanted < 1 || (uint32_t)wanted > g.count))
		err = sb_fail(
			STROBE_EINVAL, "'%s' has generations 1 to %u, not %d", run->path, g.count, wanted);
	if (!err) {
		run->from_ns = g.begins[wanted - 1];
		run->to_ns = g.ends[wanted - 1];
		run->generation = wanted;
		run->is_cut = true;
	}
	free(g.begins);
	free(g.ends);
	return err;
}

int sb_run_apply_cut(struct sb_run *run, const struct sb_cut *cut)
{
	run->to_ns = run->wall_ns;
	if (!cut)
		return 0;
	if (cut->generation)
		return cut_to_generation(run, cut->generation);
	if (cut->has_from)
		run->from_ns = cut_edge(run, cut->from_ns);
	if (cut->has_to)
		run->to_ns = cut_edge(run, cut->to_ns);
	if (cut->last_ns && run->to_ns - cut->last_ns > run->from_ns)
		run->from_ns = run->to_ns - cut->last_ns;
	run->is_cut = cut->has_from || cut->has_to || cut->last_ns;
	if (run->is_cut && run->from_ns >= run->to_ns)
		return sb_fail(STROBE_EINVAL,
			"there is nothing between %.3f s and %.3f s: the run is %.3f s long",
			(double)run->from_ns / 1e9, (double)run->to_ns / 1e9, (double)run->wall_ns / 1e9);
	return 0;
}

int sb_cut_parse_duration(const char *text, int64_t *out_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "m", 60e9 },
		{ "min", 60e9 }, { "h", 3600e9 } };
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end != text && !errno)
		for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
			if (!strcmp(end, units[i].unit) && value * units[i].ns > -9e18 &&
				value * units[i].ns < 9e18) {
				*out_ns = (int64_t)(value * units[i].ns);
				return 0;
			}
	return sb_fail(STROBE_EINVAL, "'%s' is not a duration: write 10m, 90s, 1.5h or 250ms", text);
}
