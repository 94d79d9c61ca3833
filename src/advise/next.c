/* What to type next: a GPU trace, where a GPU worked and no finding says why it takes so long. */
#include "advise/next.h"

#include "advise/symptoms.h"
#include "advise/weigh.h"

#include <string.h>

#define FIRST 2 /* findings that are read */

/* A slow moment that was caught with its kernels needs no trace to be explained, also where it costs little. */
static bool is_caught(const struct sb_model *model, const struct sb_advice *f)
{
	return model->slow_moments.count && !strcmp(f->id, "slow_steps");
}

/* True if one of the first findings names a cause that is worth something. */
static bool is_named(const struct sb_model *model)
{
	for (size_t i = 0; i < model->advice.count && i < FIRST; i++) {
		const struct sb_advice *f = &model->advice.all[i];

		if (!f->startup && f->cause && (!sb_rule_is_symptom(f->id) || is_caught(model, f)) &&
			(strcmp(f->priority, "low") != 0 || (!i && is_caught(model, f))))
			return true;
	}
	return false;
}

static bool has_steps(const struct sb_model *model)
{
	return model->diffusion.step.count > 0;
}

/* Where most of the generations goes, of what the GPU works in. */
static const struct sb_stage *largest(const struct sb_model *model)
{
	const struct sb_stage *most = NULL;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->in_generation && s->gpu_span_s > 0 && s->role != STROBE_ROLE_STEP &&
			s->role != STROBE_ROLE_GENERATION && (!most || s->gpu_span_s > most->gpu_span_s))
			most = s;
	}
	return most;
}

void sb_next_find(struct sb_model *model)
{
	const struct sb_stage *most = largest(model);
	const char *command = model->session.command;

	if (sb_weigh_traced(model) || !sb_weigh_has_gpu(model) || model->generations.whole_run ||
		is_named(model))
		return;
	model->summary.next_command = sb_model_printf(model, "strobe run --gpu-trace%s -- %s",
		has_steps(model) ? "=steps:3" : "", command && *command ? command : "COMMAND");
	model->summary.next_reason =
		most ? sb_model_printf(model, "no cause found; only the kernels of '%s' tell", most->name)
		     : "no cause found; only kernels tell";
}
