/* The rows by total time, and the few with the most time of their own. */
#include "base/role.h"
#include "analyze/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOTTLENECKS 3
#define WORTH_NAMING 0.05 /* of the time that the verdict is about */
#define WORTH_MARKING 0.2 /* the same, of one beside the largest */

/* What strobe itself takes inside the program: shown, but never the bottleneck. */
static bool is_own(const struct sb_stage *s)
{
	return sb_role_work(s->name, s->role) == STROBE_ROLE_PROFILER;
}

/* What happens around the work. */
static bool is_setup(enum strobe_role work)
{
	return work == STROBE_ROLE_IMPORT || work == STROBE_ROLE_LOAD || work == STROBE_ROLE_COMPILE ||
	       work == STROBE_ROLE_PROFILER;
}

void sb_stages_tell_kinds(struct sb_model *model)
{
	struct sb_stages_panel *stages = &model->stages; /* rows have their parents before them */

	for (size_t i = 0; i < stages->stage_count; i++) {
		struct sb_stage *s = &stages->stages[i];

		s->parent_name = s->parent >= 0 ? stages->stages[s->parent].name : NULL;
		s->setup = is_setup(sb_role_work(s->name, s->role)) ||
			   (s->parent >= 0 && stages->stages[s->parent].setup);
		/* A launcher's main thread only imports and waits; its work is done in child processes. */
		stages->on_main |= s->main_thread && !s->setup;
	}
	for (size_t i = 0; i < stages->stage_count; i++)
		stages->stages[i].other_thread = stages->on_main && !stages->stages[i].main_thread;
}

static int by_total(const void *a, const void *b, void *rows)
{
	const struct sb_stage *x = (struct sb_stage *)rows + *(const uint32_t *)a;
	const struct sb_stage *y = (struct sb_stage *)rows + *(const uint32_t *)b;

	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Of the wall: calls at the same time count once. */
static double worked_ratio(const struct sb_stages_panel *s, const struct sb_stage *row)
{
	double ratio = row->self_ratio;

	if (s->wall_s > 0)
		ratio += (row->gpu_late_s - row->gpu_behind_s) / s->wall_s;
	return fmin(fmax(ratio, 0), 1);
}

static int by_worked(const void *a, const void *b, void *stages)
{
	const struct sb_stages_panel *s = stages;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	double of_x = worked_ratio(s, &s->stages[x]), of_y = worked_ratio(s, &s->stages[y]);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool has_generation(const struct sb_stages_panel *s)
{
	for (size_t i = 0; i < s->stage_count; i++) {
		if (s->stages[i].role == STROBE_ROLE_GENERATION)
			return true;
	}
	return false;
}

static bool only_imports(const struct sb_stages_panel *s)
{
	for (size_t i = 0; i < s->stage_count; i++) {
		if (sb_role_work(s->stages[i].name, s->stages[i].role) != STROBE_ROLE_IMPORT)
			return false;
	}
	return true;
}

/* The share of the wall time that the verdict is about: the generations, or where there are none what lies
 * between the start-up and the last stage's end. */
static double judged_ratio(const struct sb_stages_panel *s)
{
	if (s->generations_s > 0)
		return fmin(1, s->generations_s / s->wall_s);
	if (isnan(s->startup_end_s))
		return 1;
	return fmin(1, (s->work_end_s - s->startup_end_s) / s->wall_s);
}

/* Most of the run is its start-up: the largest of the rest is no bottleneck of the run. */
static bool is_small_rest(const struct sb_stages_panel *s, const struct sb_stage *row)
{
	return !(s->generations_s > 0) && judged_ratio(s) < 0.5 && worked_ratio(s, row) < WORTH_MARKING;
}

/* Which rows may be named. */
enum choice { IN_JUDGED_TIME, BESIDE_SETUP, ANY };

/* Around the steps the host may do nothing but wait for a busy GPU: a finding says what it did there. */
static bool is_around_steps(const struct sb_stage *row)
{
	return row->in_generation && sb_role_phase(row->name) >= 0;
}

static bool may_be_named(const struct sb_stages_panel *s, const struct sb_stage *row, enum choice choice)
{
	if (is_own(row) || is_around_steps(row) || (row->setup && choice != ANY))
		return false;
	return choice != IN_JUDGED_TIME || !(s->generations_s > 0) || row->in_generation ||
	       row->role == STROBE_ROLE_GENERATION;
}

static bool is_nested(const struct sb_stages_panel *s, uint32_t a, uint32_t b)
{
	uint32_t outer = a < b ? a : b; /* parents come first */
	int64_t p = a < b ? b : a;

	while (p > outer)
		p = s->stages[p].parent;
	return p == outer;
}

/* The largest first; the others only when they are worth it. */
static void name_largest(
	struct sb_stages_panel *s, const uint32_t *order, enum choice choice, double least_first)
{
	double judged = judged_ratio(s);
	uint32_t largest = 0;

	for (size_t i = 0; i < s->stage_count && s->bottleneck_count < BOTTLENECKS; i++) {
		struct sb_stage *row = &s->stages[order[i]];
		bool first = s->bottleneck_count == 0;
		double ratio = worked_ratio(s, row);

		if (sb_stage_worked_s(row) <= 0 || ratio < judged * (first ? least_first : WORTH_NAMING))
			break;
		if (!may_be_named(s, row, choice))
			continue;
		row->bottleneck = first;
		largest = first ? order[i] : largest;
		if (is_small_rest(s, row))
			row->bottleneck_level = first ? SB_BOTTLENECK_LARGEST : SB_BOTTLENECK_NONE;
		else if (first || (ratio >= judged * WORTH_MARKING && !is_nested(s, largest, order[i])))
			row->bottleneck_level = first ? SB_BOTTLENECK_MAJOR : SB_BOTTLENECK_OTHER;
		s->two_bottlenecks |= row->bottleneck_level == SB_BOTTLENECK_OTHER;
		s->bottlenecks[s->bottleneck_count++] = row->name;
	}
}

/* Another one beside it that is worth looking at. */
static bool has_sibling(const struct sb_stages_panel *s, size_t row)
{
	double judged = judged_ratio(s);

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *other = &s->stages[i];

		if (i != row && other->parent == s->stages[row].parent && !other->setup &&
			other->wall_ratio >= judged * WORTH_NAMING)
			return true;
	}
	return false;
}

/* Work outside of the generations that takes longer than all of them: what is marked inside comes second. What
 * only contains them, or waits for them, is no work: its own time counts in which none ran. */
static void mark_outside(struct sb_stages_panel *s)
{
	struct sb_stage *most = NULL;

	for (size_t i = 0; s->generations_s > 0 && i < s->stage_count; i++) {
		struct sb_stage *row = &s->stages[i];

		if (may_be_named(s, row, BESIDE_SETUP) && !may_be_named(s, row, IN_JUDGED_TIME) &&
			!row->bottleneck && row->own_outside_s > s->generations_s &&
			!(most && most->own_outside_s >= row->own_outside_s))
			most = row;
	}
	if (!most)
		return;
	for (size_t k = 0; k < s->stage_count; k++)
		if (s->stages[k].bottleneck_level == SB_BOTTLENECK_MAJOR)
			s->stages[k].bottleneck_level = SB_BOTTLENECK_OTHER;
	most->bottleneck_level = SB_BOTTLENECK_MAJOR;
	s->two_bottlenecks = true;
}

static bool is_stage(const struct sb_stage *s)
{
	return SB_STAGE_ROLES >> s->role & 1;
}

/* Two stages in it at least: more than a loop with its steps. */
static bool has_parts(const struct sb_stages_panel *s, int64_t row)
{
	int parts = 0;

	for (size_t i = (size_t)row + 1; i < s->stage_count && s->stages[i].depth > s->stages[row].depth; i++)
		parts += s->stages[i].parent == row && is_stage(&s->stages[i]) && s->stages[i].total_s > 0;
	return parts > 1;
}

/* Stage codes number the stages of a model: "[4f.2]" below "DiffuEraser". */
static bool has_codes(const struct sb_stages_panel *s, int64_t row)
{
	for (size_t i = (size_t)row + 1; i < s->stage_count && s->stages[i].depth > s->stages[row].depth; i++)
		if (s->stages[i].code && *s->stages[i].code)
			return true;
	return false;
}

/* The outermost stage around the bottleneck that stands beside another: a model among models where stages have
 * codes, else a part of which nothing more is known. */
static void name_model(struct sb_stages_panel *s)
{
	size_t row = 0;
	int64_t model = -1;

	while (row < s->stage_count && !s->stages[row].bottleneck)
		row++;
	if (row == s->stage_count)
		return;
	for (int64_t p = s->stages[row].parent; p >= 0; p = s->stages[p].parent)
		if (is_stage(&s->stages[p]) && has_parts(s, p) && has_sibling(s, (size_t)p))
			model = p;
	if (model >= 0 && !s->stages[model].bottleneck_level)
		s->stages[model].bottleneck_level = has_codes(s, model) ? SB_BOTTLENECK_MODEL
									: SB_BOTTLENECK_PART;
}

void sb_stages_rank(struct sb_model *model)
{
	struct sb_stages_panel *s = &model->stages;
	uint32_t *order = sb_model_alloc(model, s->stage_count * sizeof *order);

	s->by_total = sb_model_alloc(model, (s->stage_count + 1) * sizeof *s->by_total);
	s->bottlenecks = sb_model_alloc(model, BOTTLENECKS * sizeof *s->bottlenecks);
	if (!s->stage_count || !order || !s->by_total || !s->bottlenecks)
		return;
	for (uint32_t i = 0; i < s->stage_count; i++)
		order[i] = s->by_total[i] = i;
	qsort_r(s->by_total, s->stage_count, sizeof *order, by_total, s->stages);
	qsort_r(order, s->stage_count, sizeof *order, by_worked, s);
	name_largest(s, order, IN_JUDGED_TIME, has_generation(s) ? 0 : WORTH_NAMING);
	if (!s->bottleneck_count)
		name_largest(s, order, BESIDE_SETUP, has_generation(s) ? 0 : WORTH_NAMING);
	if (!s->bottleneck_count && isnan(s->startup_end_s) && !only_imports(s))
		name_largest(s, order, ANY, 0);
	name_model(s);
	mark_outside(s);
}
