/* How the stages split the wall time. Stages may run at the same time: their times are unions of
 * their calls, and what they add up to beyond the union of them all is the overlap. */
#include "analyze/stages/split.h"

#include "base/error.h"

#define NOISE 1e-6 /* what bins and sums of floating point numbers may be off */

/* A frame around the stages a reader asks for: an outer block, a generation in a generation. */
static bool is_opened(const struct sb_stage *s)
{
	return s->child_count && (s->role == STROBE_ROLE_BLOCK || s->role == STROBE_ROLE_GENERATION);
}

/* Rows have their parents before them. */
static void mark_rows(struct sb_stages_panel *stages)
{
	for (size_t i = 0; i < stages->stage_count; i++) {
		struct sb_stage *s = &stages->stages[i];
		const struct sb_stage *up = s->parent >= 0 ? &stages->stages[s->parent] : NULL;

		stages->has_generations |= s->role == STROBE_ROLE_GENERATION;
		s->in_generation = up && (up->in_generation || up->role == STROBE_ROLE_GENERATION);
	}
	for (size_t i = 0; i < stages->stage_count; i++) {
		struct sb_stage *s = &stages->stages[i];
		int64_t up = s->parent;

		if (s->state == SB_STAGE_SKIPPED || !sb_stage_calls(s) || is_opened(s) ||
			(stages->has_generations && !s->in_generation))
			continue;
		while (up >= 0 && is_opened(&stages->stages[up]))
			up = stages->stages[up].parent;
		s->side_by_side = up < 0 || (stages->has_generations && !stages->stages[up].in_generation);
	}
}

static bool join_row(const struct sb_stage_paths *r, struct sb_coverage *to)
{
	for (uint32_t p = r->first; p != UINT32_MAX; p = r->next[p])
		if (!sb_coverage_join(to, &sb_stage_sum_at(r->sums, p)->coverage))
			return false;
	return true;
}

/* The union of some rows: all of it lies between the largest and the sum of them. */
struct joined {
	struct sb_coverage coverage;
	double sum_s, most_s;
};

static bool join(struct joined *j, const struct sb_stage_paths *paths, const struct sb_stage *row)
{
	j->sum_s += row->covered_s;
	j->most_s = row->covered_s > j->most_s ? row->covered_s : j->most_s;
	return join_row(paths, &j->coverage);
}

static double union_of(const struct joined *j, double union_s)
{
	union_s = fmin(j->sum_s, fmax(j->most_s, union_s));
	return j->sum_s - union_s > j->sum_s * NOISE ? union_s : j->sum_s;
}

static double covered_of(const struct sb_coverage *c, const struct sb_stage_sums *sums)
{
	return (double)sb_coverage_ns(c, &sums->range) / 1e9;
}

/* Exact but where detail was folded on several tracks: there only where calls were is known. */
static double top_union_s(struct sb_stage_sums *sums)
{
	struct sb_coverage top = { 0 };
	double union_s;

	if (!sums->top_folded)
		return (double)sb_union_ns(&sums->top) / 1e9;
	if (sums->run->track_count <= 1)
		return (double)sb_run_attributed_ns(sums->run) / 1e9;
	for (uint32_t p = 1; p < sums->count; p++)
		if (!sb_run_path(sums->run, p)->parent)
			sums->no_memory |= !sb_coverage_join(&top, &sums->all[p].coverage);
	union_s = covered_of(&top, sums);
	sb_coverage_done(&top);
	return union_s;
}

/* Bins may say a little too much: a stage covers no more than what it is part of. */
static void keep_within(struct sb_stages_panel *s, double union_s)
{
	for (size_t i = 0; i < s->stage_count; i++) {
		struct sb_stage *row = &s->stages[i];
		double most_s = row->parent < 0 ? union_s : s->stages[row->parent].covered_s;

		if (!(row->covered_s > most_s) || (row->span && row->parent >= 0))
			continue;
		row->self_ratio *= most_s / row->covered_s;
		row->wall_ratio *= most_s / row->covered_s;
		row->covered_s = most_s;
		if (isfinite(row->at_once_mean) && most_s > 0)
			row->at_once_mean = row->total_s / most_s;
	}
}

/* The time of a top-level stage in which no generation ran. */
static bool outside_of(
	const struct sb_stage_paths *paths, const struct sb_coverage *generations, struct sb_stage *row)
{
	struct sb_coverage both = { 0 };
	bool ok = sb_coverage_join(&both, generations) && join_row(paths, &both);
	double outside_s = covered_of(&both, paths->sums) - covered_of(generations, paths->sums);

	sb_coverage_done(&both);
	row->outside_s = row->covered_s - outside_s < row->covered_s * 1e-4 ? row->covered_s
									    : fmax(0, outside_s);
	return ok;
}

/* A wrapper that waits for a video on another thread is not at work: of its own time only that counts in which no
 * generation ran. On one track its own time has none. */
static bool own_outside_of(const struct sb_stage_paths *paths, const struct sb_coverage *generations,
	struct sb_stages_panel *s, size_t row)
{
	struct sb_coverage rest = { 0 };
	double without_s;
	bool ok;

	if (paths->sums->run->track_count <= 1) {
		s->stages[row].own_outside_s = s->stages[row].self_ratio * s->wall_s;
		return true;
	}
	ok = sb_coverage_join(&rest, generations);
	for (size_t i = row + 1; ok && i < s->stage_count && s->stages[i].depth > s->stages[row].depth; i++)
		if (s->stages[i].parent == (int64_t)row && s->stages[i].state != SB_STAGE_SKIPPED)
			ok = join_row(&paths[i], &rest);
	without_s = covered_of(&rest, paths->sums);
	ok = ok && join_row(&paths[row], &rest);
	s->stages[row].own_outside_s = covered_of(&rest, paths->sums) - without_s;
	sb_coverage_done(&rest);
	return ok;
}

/* Whether its own time is more than that of all generations, which is all that is asked about it. */
static bool may_outweigh(const struct sb_stage *row, double wall_s, double generations_s)
{
	return generations_s > 0 && !row->in_generation && row->role != STROBE_ROLE_GENERATION &&
	       row->state != SB_STAGE_SKIPPED && row->self_ratio * wall_s > generations_s;
}

static bool split_rows(const struct sb_stage_paths *paths, struct sb_stages_panel *s, struct joined *top,
	struct joined *inside, struct sb_coverage *generations)
{
	bool ok = true;

	for (size_t i = 0; ok && i < s->stage_count; i++) {
		const struct sb_stage *row = &s->stages[i];

		if (row->state == SB_STAGE_SKIPPED)
			continue;
		if (row->parent < 0)
			ok = join(top, &paths[i], row);
		if (ok && row->side_by_side)
			ok = join(inside, &paths[i], row);
		if (ok && row->role == STROBE_ROLE_GENERATION && !row->in_generation)
			ok = join_row(&paths[i], generations);
	}
	for (size_t i = 0; ok && i < s->stage_count; i++)
		if (s->stages[i].parent < 0 && s->stages[i].role != STROBE_ROLE_GENERATION &&
			s->stages[i].state != SB_STAGE_SKIPPED)
			ok = outside_of(&paths[i], generations, &s->stages[i]);
	for (size_t i = 0; ok && i < s->stage_count; i++)
		if (may_outweigh(&s->stages[i], s->wall_s, covered_of(generations, paths->sums)))
			ok = own_outside_of(paths, generations, s, i);
	return ok;
}

/* On one track calls follow each other: what is inside frames is what is not their own time. */
static double inside_of_frames(const struct sb_stages_panel *s)
{
	double inside_s = 0;

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *row = &s->stages[i];

		if (row->role == STROBE_ROLE_GENERATION && !row->in_generation)
			inside_s += row->total_s - row->self_s;
		else if (row->in_generation && !row->side_by_side && is_opened(row) &&
			 !s->stages[row->parent].side_by_side)
			inside_s -= row->self_s;
	}
	return inside_s;
}

int sb_stages_split(const struct sb_stage_paths *paths, struct sb_stage_sums *sums, struct sb_model *model)
{
	struct sb_stages_panel *s = &model->stages;
	struct joined top = { 0 }, inside = { 0 };
	struct sb_coverage generations = { 0 };
	bool several = sums->run->track_count > 1;
	double union_s;
	bool ok;

	union_s = top_union_s(sums);
	if (!s->combined)
		keep_within(s, union_s);
	mark_rows(s);
	ok = s->combined || split_rows(paths, s, &top, &inside, &generations);
	if (!s->combined) {
		union_s = union_of(&top, union_s);
		s->overlap_s = top.sum_s - union_s;
		s->inside_sum_s = inside.sum_s;
		s->inside_s = union_of(
			&inside, several ? covered_of(&inside.coverage, sums) : inside_of_frames(s));
		s->generations_s = covered_of(&generations, sums);
	}
	union_s = fmin(union_s, s->wall_s);
	s->unattributed_s = round((s->wall_s - union_s) * 1e9) / 1e9;
	if (s->unattributed_s <= 1e-9 || model->session.no_times) /* where a file ends, not time */
		s->unattributed_s = 0;
	s->unattributed_ratio = s->wall_s > 0 && !model->session.no_times
					? fmin(s->unattributed_s / s->wall_s, 1)
					: NAN;
	sb_coverage_done(&top.coverage);
	sb_coverage_done(&inside.coverage);
	sb_coverage_done(&generations);
	return ok && !sums->no_memory
		       ? 0
		       : sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", sums->run->path);
}

void sb_stage_tell_real(struct sb_stage *row, double wall_s)
{
	double covered_s = row->counters.covered_s;

	row->real_s = row->real_ratio = NAN;
	if (fabs(row->moved_s) < 1e-9)
		return;
	row->real_s = sb_stage_real_s(row);
	row->real_ratio = wall_s > 0 ? fmin(row->real_s / wall_s, 1) : NAN;
	if (covered_s > 0)
		row->counters.covered_ratio = fmin(covered_s / fmax(row->real_s, covered_s), 1);
}

/* Rows have their parents before them. */
void sb_stages_move(struct sb_model *model)
{
	struct sb_stages_panel *s = &model->stages;

	for (size_t i = s->stage_count; i-- > 0;) {
		struct sb_stage *row = &s->stages[i];

		row->moved_s += row->gpu_late_s - row->gpu_behind_s;
		if (row->parent >= 0)
			s->stages[row->parent].moved_s += row->moved_s;
		sb_stage_tell_real(row, s->wall_s);
	}
}

int sb_stages_take_shares(const struct sb_stage_paths *paths, uint32_t path_count, struct sb_stage_sums *sums,
	struct sb_model *model)
{
	int64_t *row_of = malloc((path_count + 1) * sizeof *row_of);
	bool ok = row_of;

	if (ok)
		memset(row_of, 0xff, (path_count + 1) * sizeof *row_of);
	for (size_t i = 0; ok && i < model->stages.stage_count; i++)
		for (uint32_t p = paths[i].first; p != UINT32_MAX; p = paths[i].next[p])
			row_of[p] = (int64_t)i;
	ok = ok && sb_stage_shares_take(&sums->shares, row_of, path_count, model);
	free(row_of);
	return ok ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", sums->run->path);
}

static bool is_of_generation(const struct sb_stages_panel *all, const struct sb_stage *s)
{
	while (s->role != STROBE_ROLE_GENERATION && s->parent >= 0)
		s = &all->stages[s->parent];
	return s->role == STROBE_ROLE_GENERATION;
}

double sb_stage_in_turn_s(const struct sb_model *model, const struct sb_stage *s)
{
	double ratio = model->generations.in_turn_ratio;

	if (!(ratio > 0 && ratio < 1) || !is_of_generation(&model->stages, s))
		return sb_stage_real_s(s);
	return fmin(sb_stage_real_s(s), (s->total_s + s->moved_s) * ratio);
}

bool sb_stage_is_in_steps(const struct sb_model *model, const struct sb_stage *s)
{
	while (s->role != STROBE_ROLE_STEP && s->role != STROBE_ROLE_DENOISE && s->parent >= 0)
		s = &model->stages.stages[s->parent];
	return s->role == STROBE_ROLE_STEP || s->role == STROBE_ROLE_DENOISE;
}
