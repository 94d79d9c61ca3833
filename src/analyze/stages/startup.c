/* Start-up: importing, loading and compiling before the pipeline begins, as one group of stages. Verdicts
 * and bottlenecks are about what follows. */
#include "analyze/stages/split.h"

static bool is_timed(const struct sb_stage *s)
{
	return s->state != SB_STAGE_SKIPPED && s->state != SB_STAGE_UNTIMED && sb_stage_calls(s) > 0;
}

/* A generation; where there is none any stage of the main thread that is not set-up. */
static bool is_work(const struct sb_stages_panel *stages, const struct sb_stage *s)
{
	if (!is_timed(s))
		return false;
	if (stages->has_generations)
		return s->role == STROBE_ROLE_GENERATION;
	return !s->setup && !s->other_thread;
}

/* From the first begin to the last end of the work; NAN: there is none. */
static void find_work(const struct sb_stages_panel *stages, double *out_begin_s, double *out_end_s)
{
	*out_begin_s = *out_end_s = NAN;
	for (size_t i = 0; i < stages->stage_count; i++) {
		if (!is_work(stages, &stages->stages[i]))
			continue;
		*out_begin_s = fmin(*out_begin_s, stages->stages[i].first_s);
		*out_end_s = fmax(*out_end_s, stages->stages[i].end_s);
	}
}

/* Rows have their parents before them. Returns whether there is set-up before that time; before a generation
 * anything is. */
static bool mark_rows(struct sb_stages_panel *stages, double end_s)
{
	bool setup = false;

	for (size_t i = 0; i < stages->stage_count; i++) {
		struct sb_stage *s = &stages->stages[i];

		s->startup = s->parent >= 0 ? stages->stages[s->parent].startup
					    : is_timed(s) && s->end_s <= end_s;
		setup |= s->startup && (s->setup || stages->has_generations);
		setup |= s->setup && s->parent < 0 && is_timed(s) && s->first_s < end_s;
	}
	return setup;
}

/* Of set-up that begins before the pipeline and is called again later: an import inside a function. */
static double before_s(const struct sb_stage_paths *r, const struct sb_stage *s, double end_s)
{
	int64_t before_ns = 0;

	if (s->startup)
		return s->covered_s;
	if (!s->setup || !is_timed(s) || !(s->first_s < end_s))
		return 0;
	for (uint32_t p = r->first; p != UINT32_MAX; p = r->next[p])
		before_ns += sb_coverage_until_ns(
			&sb_stage_sum_at(r->sums, p)->coverage, &r->sums->range, (int64_t)(end_s * 1e9));
	return fmin((double)before_ns / 1e9, s->covered_s);
}

/* Those at the same time count twice: what they leave over is never negative. */
static double left_over_s(const struct sb_stages_panel *stages, double startup_s)
{
	double rest_s = startup_s;

	for (size_t i = 0; i < stages->stage_count; i++)
		rest_s -= stages->stages[i].startup_s;
	return fmin(fmax(rest_s, 0), stages->unattributed_s);
}

void sb_stages_find_startup(
	const struct sb_stage_paths *paths, struct sb_stage_sums *sums, struct sb_model *model)
{
	struct sb_stages_panel *stages = &model->stages;
	double end_s, work_end_s, from_s = (double)sums->run->from_ns / 1e9;

	find_work(stages, &end_s, &work_end_s);
	stages->startup_end_s = stages->startup_unattributed_s = stages->work_end_s = NAN;
	if (stages->combined || !(end_s > from_s) || !(end_s < from_s + stages->wall_s) ||
		!mark_rows(stages, end_s)) {
		mark_rows(stages, NAN);
		return;
	}
	for (size_t i = 0; i < stages->stage_count; i++)
		if (stages->stages[i].parent < 0)
			stages->stages[i].startup_s = before_s(&paths[i], &stages->stages[i], end_s);
	stages->startup_end_s = end_s;
	stages->work_end_s = work_end_s;
	stages->startup_unattributed_s = left_over_s(stages, end_s - from_s);
}
