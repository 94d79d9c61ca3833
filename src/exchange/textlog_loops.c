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
#define FRAMES_MOST 1e6 /* of one call */
#define FPS_OFF 0.02 /* what rounding makes of a rate */

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

int sb_textlog_stage_of_loop(struct sb_textlog *log, const struct sb_textlog_loop *loop, uint32_t *out_node)
{
	struct sb_textlog_sums sums = { .name = loop->name,
		.total_s = (double)sb_textlog_loop_ns(loop) / 1e9,
		.min_s = loop->min_s,
		.max_s = loop->max_s,
		.median_s = loop->median_s,
		.calls = loop->count };
	int err = sb_textlog_add_sums(log, &sums, out_node);

	if (err)
		return err;
	log->nodes[*out_node].line->std_s = loop->std_s;
	log->nodes[*out_node].role = STROBE_ROLE_ITERATION;
	return 0;
}

int sb_textlog_nest_loop(struct sb_textlog *log, const struct sb_textlog_loop *loop, bool *out_nested)
{
	uint32_t home = sb_textlog_loop_ns(loop) > 0 ? home_of(log, loop) : NONE, self;
	int err;

	*out_nested = false;
	if (home == NONE)
		return 0;
	err = sb_textlog_stage_of_loop(log, loop, &self);
	if (err)
		return err;
	log->guessed_count += !*loop->stage;
	*out_nested = sb_textlog_set_parent(log, home, self);
	return 0;
}

/* ---- benchmarks ---- */

static uint32_t root_of(const struct sb_textlog *log, uint32_t node)
{
	while (log->nodes[node].parent != NONE)
		node = log->nodes[node].parent;
	return node;
}

/* Nothing but the parts of one call. */
static bool holds_one_call(const struct sb_textlog *log)
{
	for (uint32_t i = 0; i < log->count; i++)
		if (root_of(log, i) + 1 != log->forward)
			return false;
	return true;
}

static void note_mb(struct sb_stagelog_line *line, const char *key, double mb)
{
	struct sb_stagelog_attr *a = &line->attrs[line->attr_count];

	if (!(mb > 0) || line->attr_count == SB_STAGELOG_ATTRS_MAX)
		return;
	*a = (struct sb_stagelog_attr){ .f = mb };
	snprintf(a->key, sizeof a->key, "%s", key);
	line->attr_count++;
}

static void note_count(struct sb_stagelog_line *line, const char *key, int64_t count)
{
	struct sb_stagelog_attr *a = &line->attrs[line->attr_count];

	if (count < 1 || line->attr_count == SB_STAGELOG_ATTRS_MAX)
		return;
	*a = (struct sb_stagelog_attr){ .is_int = true, .i = count };
	snprintf(a->key, sizeof a->key, "%s", key);
	line->attr_count++;
}

/* What one call of the benchmark takes in, so that whatif can change it. Frames also follow from their rate. */
static void note_clip(struct sb_stagelog_line *line, const struct sb_textlog_loop *loop)
{
	double frames = loop->frames_per_s * loop->mean_s, whole = round(frames);

	note_count(line, "batch", loop->clip.batch);
	if (loop->clip.frames > 0)
		note_count(line, "frames", loop->clip.frames);
	else if (whole >= 1 && whole <= FRAMES_MOST && fabs(frames / whole - 1) < FPS_OFF)
		note_count(line, "frames", (int64_t)whole);
	note_count(line, "width", loop->clip.width);
	note_count(line, "height", loop->clip.height);
}

int sb_textlog_settle_benchmarks(struct sb_textlog *log)
{
	struct sb_textlog_loop *loops = log->loops.items;
	bool one_call = holds_one_call(log);

	for (size_t i = 0; one_call && i < log->loops.count; i++) {
		struct sb_textlog_sums sums = { .name = "forward",
			.total_s = loops[i].mean_s,
			.min_s = NAN,
			.max_s = NAN,
			.median_s = NAN };
		uint32_t node;

		if (!loops[i].apart || !(loops[i].mean_s > 0))
			continue;
		loops[i].aside = true;
		if (log->forward)
			continue;
		if (sb_textlog_add_sums(log, &sums, &node))
			return STROBE_ENOMEM;
		log->forward = node + 1;
	}
	for (size_t i = 0; one_call && log->forward && i < log->loops.count; i++)
		if (loops[i].aside && loops[i].apart) {
			note_clip(log->nodes[log->forward - 1].line, &loops[i]);
			break;
		}
	if (log->forward) {
		note_mb(log->nodes[log->forward - 1].line, "input_mb", log->model.input_mb);
		note_mb(log->nodes[log->forward - 1].line, "output_mb", log->model.output_mb);
	}
	return 0;
}
