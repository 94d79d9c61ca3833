/* What all findings together may promise. Rules look at one thing each, and two may count the same second: the one that
 * stands first has it. */
#include "advise/room.h"

#include "advise/symptoms.h"
#include "advise/weigh.h"

#include <string.h>

#define LEAST 0.1 /* of what a finding alone could save: less is the same time, seen from another side */
#define ROUNDING 1e-9

/* They also count what happens between the generations. */
static const char *const outside[] = { "between_generations", "slow_export", "input_starved", "repeated_work",
	"data_loading", "offload", "swap", "throttling" };

/* Their stage is the largest of several that they add up. */
static const char *const several[] = { "data_loading", "offload", "model_load", "compile_time", "recompiles",
	"overswap", "offload_serial", "repeated_work" };

double sb_room_inside_s(const struct sb_model *model)
{
	return sb_weigh_work_s(model);
}

double sb_room_outside_s(const struct sb_model *model)
{
	const struct sb_generations_panel *g = &model->generations;

	if (g->whole_run || !g->count)
		return fmax(0, model->stages.wall_s - sb_weigh_work_s(model));
	return fmax(0, model->stages.wall_s - g->all[0].begin_s - g->union_s);
}

/* Without its first call where that is cold, else as much of it as of the generations is warm. */
static double warm_s(const struct sb_model *model, const struct sb_stage *s)
{
	double all_s = fmax(sb_stage_real_s(s), sb_weigh_gpu_s(s)), cold_s = sb_stage_cold_s(s);

	if (!sb_weigh_leaves_first_out(model))
		return all_s;
	return cold_s > 0 ? fmax(0, all_s - cold_s) : all_s * sb_weigh_warm_share(model);
}

/* All stages of that name; INFINITY: there is none in a generation. */
static double stages_s(const struct sb_model *model, const char *name)
{
	double sum_s = 0;
	bool known = false;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (strcmp(s->name, name) != 0 || !s->in_generation)
			continue;
		sum_s += warm_s(model, s);
		known = true;
	}
	return known ? sum_s : INFINITY;
}

static void promise_less(struct sb_model *model, struct sb_advice *f, double left_s)
{
	if (left_s < LEAST * f->saves_s) {
		f->evidence = sb_model_printf(
			model, "%s; that time is counted in the findings above", f->evidence);
		f->saves_s = NAN;
		f->basis = NULL;
		return;
	}
	f->evidence = sb_model_printf(model, "%s; %.0f %% of it is counted in the findings above",
		f->evidence, (1 - left_s / f->saves_s) * 100);
	f->saves_s = left_s;
}

void sb_room_share(struct sb_model *model)
{
	double inside_s = sb_room_inside_s(model), outside_s = sb_room_outside_s(model);

	for (size_t i = 0; i < model->advice.count; i++) {
		struct sb_advice *f = &model->advice.all[i];
		bool beside = sb_rule_is_one_of(outside, sizeof outside / sizeof *outside, f->id);
		double room_s = inside_s + (beside ? outside_s : 0), taken_s;

		if (f->startup || !(f->saves_s > 0))
			continue;
		if (f->stage && !sb_rule_is_one_of(several, sizeof several / sizeof *several, f->id))
			f->saves_s = fmin(f->saves_s, stages_s(model, f->stage));
		f->saves_s = fmin(
			f->saves_s, sb_room_inside_s(model) + (beside ? sb_room_outside_s(model) : 0));
		if (f->saves_s > room_s + ROUNDING)
			promise_less(model, f, room_s);
		if (!(f->saves_s > 0))
			continue;
		taken_s = beside ? fmin(f->saves_s, outside_s) : 0;
		outside_s -= taken_s;
		inside_s = fmax(0, inside_s - (f->saves_s - taken_s));
	}
}
