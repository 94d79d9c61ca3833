/* Loops of which a report gives sums only: they ran inside a stage, and are put into the one
 * that they fit in. Beside it their time would count twice. */
#include "exchange/textlog.h"

#include "base/role.h"
#include "strobe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE SB_TEXTLOG_NONE

int64_t sb_textlog_loop_ns(const struct sb_textlog_loop *loop)
{
	double total_s = isnan(loop->total_s) ? loop->mean_s * (double)loop->count : loop->total_s;

	return total_s > 0 && total_s < 1e8 ? (int64_t)(total_s * 1e9 + 0.5) : 0;
}

static int64_t own_ns(const struct sb_textlog *log, uint32_t node)
{
	int64_t ns = log->nodes[node].line->duration_ns;

	for (uint32_t i = log->segment; i < log->count; i++)
		if (log->nodes[i].parent == node)
			ns -= log->nodes[i].line->duration_ns;
	return ns;
}

/* The generation's own work: not loading, encoding or decoding. */
static bool may_hold(const struct sb_textlog *log, uint32_t node, const char *stage)
{
	const struct sb_textlog_node *n = &log->nodes[node], *around = NULL;
	enum strobe_role work = sb_role_work(n->line->name, n->role);

	if (n->parent != NONE)
		around = &log->nodes[n->parent];
	if (*stage)
		return !strcmp(n->line->name, stage) ||
		       (n->role == STROBE_ROLE_ITERATION && around && !strcmp(around->line->name, stage));
	return work == STROBE_ROLE_STAGE || work == STROBE_ROLE_DENOISE || work == STROBE_ROLE_GENERATION;
}

/* The stage with the least time of its own that can hold it; NONE: no stage can. */
static uint32_t home_of(const struct sb_textlog *log, const struct sb_textlog_loop *loop)
{
	int64_t needed_ns = sb_textlog_loop_ns(loop), least_ns = INT64_MAX;
	uint32_t home = NONE;

	needed_ns -= needed_ns / 200; /* measured by clocks of their own */
	for (uint32_t i = log->segment; i < log->count; i++) {
		int64_t ns = may_hold(log, i, loop->stage) ? own_ns(log, i) : -1;

		if (ns >= needed_ns && ns < least_ns) {
			home = i;
			least_ns = ns;
		}
	}
	return home;
}

int sb_textlog_nest_loop(struct sb_textlog *log, const struct sb_textlog_loop *loop, bool *out_nested)
{
	uint32_t home = sb_textlog_loop_ns(loop) > 0 ? home_of(log, loop) : NONE, self;
	struct sb_textlog_sums sums = { .name = loop->name,
		.total_s = (double)sb_textlog_loop_ns(loop) / 1e9,
		.min_s = loop->min_s,
		.max_s = loop->max_s,
		.median_s = loop->median_s,
		.calls = loop->count };
	int err;

	*out_nested = false;
	if (home == NONE)
		return 0;
	err = sb_textlog_add_sums(log, &sums, &self);
	if (err)
		return err;
	log->nodes[self].line->std_s = loop->std_s;
	log->nodes[self].role = STROBE_ROLE_ITERATION;
	log->guessed_count += !*loop->stage;
	*out_nested = sb_textlog_set_parent(log, home, self);
	return 0;
}
