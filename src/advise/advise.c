/* Runs every rule and ranks the findings. */
#include "advise/advise.h"

#include "advise/bound.h"
#include "advise/symptoms.h"
#include "advise/next.h"
#include "advise/readings.h"
#include "advise/room.h"
#include "advise/rule.h"
#include "advise/strategies.h"
#include "advise/table.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static int priority_order(const char *priority)
{
	return strcmp(priority, "high") == 0 ? 0 : strcmp(priority, "medium") == 0 ? 1 : 2;
}

static int by_priority_and_gain(const void *a, const void *b)
{
	const struct sb_advice *x = a, *y = b;
	int order = priority_order(x->priority) - priority_order(y->priority);

	if (x->startup != y->startup)
		return x->startup - y->startup;
	if (order)
		return order;
	if (x->rank_s != y->rank_s)
		return x->rank_s > y->rank_s ? -1 : 1;
	return strcmp(x->id, y->id);
}

static bool is_above(const struct sb_advice *cause, const struct sb_advice *symptom)
{
	return !sb_rule_is_symptom(cause->id) && cause->startup == symptom->startup && cause->cause &&
	       priority_order(cause->priority) <= priority_order(symptom->priority);
}

/* A symptom that no cause explains stands below the causes that are as urgent, however much it costs. */
static void lower_symptoms(struct sb_advice *all, size_t count)
{
	for (size_t i = count; i > 0; i--) {
		struct sb_advice symptom = all[i - 1];
		size_t last = i - 1;

		for (size_t k = i; sb_rule_is_symptom(symptom.id) && k < count; k++)
			last = is_above(&all[k], &symptom) ? k : last;
		memmove(&all[i - 1], &all[i], (last - (i - 1)) * sizeof *all);
		all[last] = symptom;
	}
}

static void ask_all(struct sb_advisor *a)
{
	const struct sb_rule *rule;

	for (size_t i = 0; (rule = sb_rule_at(i)); i++) {
		double set = rule->info.threshold_key ? sb_model_threshold(a->model, rule->info.threshold_key)
						      : NAN;

		a->rule = &rule->info;
		a->limit = isnan(set) ? rule->info.threshold : set;
		rule->check(a);
	}
}

/* Which panel of the page has the numbers of a category. */
static const char *panel_of(const char *category)
{
	static const struct {
		const char *category, *panel;
	} panels[] = {
		{ "memory", "memory" },
		{ "cache", "cache" },
		{ "streaming", "streaming" },
		{ "recording", "recording" },
		{ "disk", "metrics" },
		{ "gpu", "metrics" },
		{ "diffusion", "steps" },
		{ "blocks", "steps" },
		{ "layers", "layers" },
		{ "model", "layers" },
		{ "gpu_trace", "kernels" },
	};

	for (size_t i = 0; i < sizeof panels / sizeof *panels; i++)
		if (!strcmp(panels[i].category, category))
			return panels[i].panel;
	return NULL;
}

/* Of sums and of printed durations the order is not known, or the pauses are not: no time is a place. */
static bool is_clock_made_up(const struct sb_model *model)
{
	if (!isnan(model->session.digit_s) || model->session.no_times)
		return true;
	for (size_t i = 0; i < model->missing.count; i++)
		if (!strncmp(model->missing.all[i].what, "order of", strlen("order of")))
			return true;
	return false;
}

/* The stage that a finding is about, and when it ran. */
static void place(const struct sb_model *model, struct sb_advice *f)
{
	const struct sb_stage *s = f->stage ? sb_model_stage(model, f->stage) : NULL;
	const struct sb_stage *named = f->where.stage ? sb_model_stage(model, f->where.stage) : s;

	f->where.panel = panel_of(f->category);
	if (!f->where.stage && s)
		f->where.stage = s->name;
	if (named)
		f->where.stage_index = named - model->stages.stages;
	if (!s || !isnan(f->where.to_s) || isnan(s->end_s) || is_clock_made_up(model))
		return;
	f->where.from_s = fmax(s->first_s, 0);
	f->where.to_s = s->end_s;
}

static void place_all(struct sb_advisor *a)
{
	struct sb_advice *all = a->found.items;

	for (size_t i = 0; i < a->found.count; i++) {
		const struct sb_stage *s = all[i].stage ? sb_model_stage(a->model, all[i].stage) : NULL;

		all[i].startup |= sb_rule_is_startup(all[i].id) || (s && s->setup && !s->in_generation);
		place(a->model, &all[i]);
	}
}

/* The finding that has a part of it, where another rule found one; NULL: none. */
static const char *say_part(struct sb_model *model, const struct sb_advice *f)
{
	for (size_t i = 0; i < model->advice.count; i++)
		if (!strcmp(model->advice.all[i].id, "kernels_unfused") &&
			(!strcmp(f->id, "fps_low") || !strcmp(f->id, "step_slow")))
			return sb_model_printf(
				model, "kernels_unfused has a part of it; no cause of the rest was found");
	return NULL;
}

/* A finding that measures and blames nothing says so. Last: rules ask which findings have a cause. */
static void say_no_cause(struct sb_model *model)
{
	for (size_t i = 0; i < model->advice.count; i++) {
		struct sb_advice *f = &model->advice.all[i];
		const char *part = say_part(model, f);

		if (f->cause)
			continue;
		f->cause_open = !sb_rule_is_direction(f->id);
		f->cause = part                          ? part
			   : sb_rule_is_direction(f->id) ? sb_symptoms_not_found(model, f->id)
							 : "not looked for: this only reports what was "
							   "measured";
		if (!f->cause_open && isnan(f->saves_s))
			f->confidence = "possible"; /* none is named, or not all */
	}
}

int sb_advise(struct sb_model *model)
{
	struct sb_advisor a = {
		.model = model,
		.live = model->streaming.batches > 0 || model->summary.target_fps > 0,
	};

	ask_all(&a);
	place_all(&a);
	sb_symptoms_explain(&a);
	sb_strategies_find(model);
	sb_strategies_name(&a);
	model->advice.all = sb_model_alloc(model, a.found.count * sizeof *model->advice.all);
	if (a.found.count && model->advice.all) {
		qsort(a.found.items, a.found.count, sizeof *model->advice.all, by_priority_and_gain);
		lower_symptoms(a.found.items, a.found.count);
		memcpy(model->advice.all, a.found.items, a.found.count * sizeof *model->advice.all);
		model->advice.count = a.found.count;
	}
	sb_room_share(model);
	sb_vec_done(&a.found);
	sb_bound_judge(model);
	sb_readings_find(model);
	sb_bound_leave_alone(model);
	sb_next_find(model);
	say_no_cause(model);
	if (a.failed || model->failed)
		return sb_fail(STROBE_ENOMEM, "no memory for advice");
	return 0;
}
