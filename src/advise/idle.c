/* How long the GPU has nothing to do in the warm generations. What that costs is for the rules to say. */
#include "advise/idle.h"

#include "advise/weigh.h"

#define CORE_BUSY 0.8 /* of a core */

double sb_idle_in_steps_s(const struct sb_model *model)
{
	struct sb_weigh_step step;

	return sb_weigh_step(model, &step) ? fmax(0, step.took_s - step.busy_s) * step.warm_count : NAN;
}

static bool holds_steps(const struct sb_model *model, const struct sb_stage *outer)
{
	const struct sb_stage *all = model->stages.stages;

	for (size_t i = 0; i < model->stages.stage_count; i++)
		for (int64_t up = all[i].role == STROBE_ROLE_STEP ? (int64_t)i : -1; up >= 0;
			up = all[up].parent)
			if (&all[up] == outer)
				return true;
	return false;
}

/* The stage right inside a generation that it is or is in; NULL: it is in none. */
static const struct sb_stage *part_around(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_stage *all = model->stages.stages;

	while (s->parent >= 0 && all[s->parent].role != STROBE_ROLE_GENERATION)
		s = &all[s->parent];
	return s->parent >= 0 && !s->span ? s : NULL;
}

/* For how much of the warm time each traced second stands: the traced steps for all, of other parts the traced calls. */
static double stands_for(
	const struct sb_model *model, const struct sb_stage *part, const struct sb_weigh_step *step)
{
	return holds_steps(model, part) ? step->warm_count / step->traced_count
					: sb_weigh_calls_per_traced(model, part) * sb_weigh_warm_share(model);
}

static double copies_s(const struct sb_model *model, const struct sb_weigh_step *step)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i], *part = part_around(model, s);

		if (part && s->gpu_copy_s > 0)
			sum_s += s->gpu_copy_s * stands_for(model, part, step);
	}
	return sum_s;
}

/* kernels: without the copies */
static double busy_s(const struct sb_model *model, const struct sb_weigh_step *step, bool kernels)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		double own_s = kernels ? s->kernel_s : s->gpu_busy_s;

		if (part_around(model, s) == s && own_s > 0)
			sum_s += own_s * stands_for(model, s, step);
	}
	return sum_s;
}

/* A few traced steps, which can be told for the warm generations. Several GPUs share the stages' time. */
static bool is_told(const struct sb_model *model, struct sb_weigh_step *out_step)
{
	return model->gpu.device_count == 1 && !model->generations.whole_run &&
	       sb_weigh_step(model, out_step);
}

double sb_idle_busy_ratio(const struct sb_model *model)
{
	double all_s = model->gpu.busy_s + model->gpu.idle_s;
	struct sb_weigh_step step;

	if (!sb_weigh_traced(model) || !(all_s > 0))
		return NAN;
	return is_told(model, &step) ? fmin(1, busy_s(model, &step, false) / sb_weigh_work_s(model))
				     : model->gpu.busy_s / all_s;
}

double sb_idle_copy_ratio(const struct sb_model *model)
{
	struct sb_weigh_step step;
	double left_s;

	if (!sb_weigh_traced(model))
		return NAN;
	if (!is_told(model, &step))
		return model->gpu.copy_ratio;
	/* the first copies are the slowest: what kernels need of the warm time is left to them */
	left_s = fmax(0, sb_weigh_work_s(model) - busy_s(model, &step, true));
	return fmin(copies_s(model, &step), left_s) / sb_weigh_work_s(model);
}

bool sb_idle_is_launching(const struct sb_model *model)
{
	return sb_weigh_process(model) >= CORE_BUSY;
}
