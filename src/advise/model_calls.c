/* What a program without generations does between the calls of its model: see model_calls.h. */
#include "advise/model_calls.h"

#include "advise/hot.h"
#include "advise/weigh.h"
#include "base/role.h"

#include <string.h>

#define CALLS_LEAST 3
#define SAMPLES_LEAST 5
#define SHARE_LEAST 0.2 /* of the time after the start-up */
#define SHARE_LEAST_GPU 0.15 /* of it, while the GPU has nothing to do */
#define CALLS_SHARE_LEAST 0.1 /* of it: what is called for less is not what the program is about */

static bool is_called_again(const struct sb_stage *s)
{
	return s->parent < 0 && !s->setup && s->count >= CALLS_LEAST;
}

static bool is_model_on_a_gpu(const struct sb_stage *s)
{
	return is_called_again(s) && s->gpu_span_count > 0;
}

static bool calls_a_model_on_a_gpu(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (is_model_on_a_gpu(&model->stages.stages[i]))
			return true;
	return false;
}

/* Moving weights, reading, writing and compiling are no model's calls. */
static bool may_be_a_model(const struct sb_stage *s)
{
	enum strobe_role work = sb_role_work(s->name, s->role);

	return work == STROBE_ROLE_STAGE || work == STROBE_ROLE_DENOISE || work == STROBE_ROLE_TEXT_ENCODE ||
	       work == STROBE_ROLE_VAE_ENCODE || work == STROBE_ROLE_VAE_DECODE;
}

/* On a CPU: the stage that takes most of the time, enough of it; NULL: none. */
static const struct sb_stage *model_on_the_cpu(const struct sb_model *model)
{
	const struct sb_stage *most = NULL;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (is_called_again(s) && may_be_a_model(s) && (!most || s->covered_s > most->covered_s))
			most = s;
	}
	return most && most->covered_s > CALLS_SHARE_LEAST * sb_weigh_work_s(model) ? most : NULL;
}

/* What waits, for input or anything else, is the business of other rules. */
static bool is_between_calls(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return l->loop_s > 0 && !l->library && sb_hot_doing(l) != SB_DOES_COLLECT &&
	       sb_hot_doing(l) != SB_DOES_WAIT_GPU && !sb_hot_waits(l);
}

/* Of torch: these prepare an input or a result. What else it computes there may be a part of the model's work that has no stage. */
static bool prepares(const struct sb_line *l)
{
	static const char *const words[] = { "interpolate", "resize", "crop", "functional.pad", "F.pad(",
		"grid_sample", "normalize", "from_numpy", "frombuffer", "stack(", "as_tensor(", ".numpy()" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if ((l->text && strstr(l->text, words[i])) || (l->inner && strstr(l->inner, words[i])))
			return true;
	return false;
}

static bool is_between_calls_on_the_cpu(const struct sb_model *model, const struct sb_line *l)
{
	bool computes = (l->inner_file && strstr(l->inner_file, "/torch/")) ||
			(l->text && strstr(l->text, "torch."));

	return is_between_calls(model, l) && (!computes || prepares(l));
}

/* ---- what the GPU leaves --------------------------------------------------------- */

/* Of the work: without what a pause that comes once is longer than the others. */
static double each_time_s(const struct sb_model *model)
{
	return sb_weigh_work_s(model) - model->stages.once_more_s;
}

double sb_model_calls_idle_s(const struct sb_model *model)
{
	double spans_s = 0, used = sb_weigh_utilization(model), all_s = each_time_s(model);

	if (!model->generations.whole_run || !calls_a_model_on_a_gpu(model))
		return NAN;
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		spans_s += s->parent < 0 && !s->setup && s->gpu_span_count > 0 ? sb_weigh_gpu_s(s) : 0;
	}
	return fmax(0, all_s - fmax(spans_s, isnan(used) ? 0 : used * sb_weigh_work_s(model)));
}

/* How long the GPU was still at its models' calls when the CPU had left them. */
static double finished_later_s(const struct sb_model *model)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (is_model_on_a_gpu(&model->stages.stages[i]))
			sum_s += fmax(0, model->stages.stages[i].gpu_late_s);
	return sum_s;
}

/* The function that calls the model does many things beside: each of its lines stands for itself. */
static bool is_the_loop(const struct sb_model *model, const struct sb_line *line)
{
	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];
		const struct sb_stage *s = l->stage ? sb_model_stage(model, l->stage) : NULL;

		if (s && is_model_on_a_gpu(s) && !strcmp(l->function, line->function) &&
			!strcmp(l->file, line->file))
			return true;
	}
	return false;
}

/* A line that reads a result waits for the GPU first: of that nothing is lost. */
static double lost_s(const struct sb_model *model, const struct sb_hot *hot)
{
	return sb_hot_may_wait_gpu(hot->line) ? fmax(0, hot->loop_s - finished_later_s(model)) : hot->loop_s;
}

/* The line, or the function, that the GPU waits for most; its loop_s is what is lost. */
static struct sb_hot find_between_calls(const struct sb_model *model)
{
	struct sb_hot best = { 0 };

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];
		struct sb_hot hot;

		if (!l->line || !is_between_calls(model, l))
			continue;
		hot = sb_hot_of(model, l, is_the_loop(model, l), is_between_calls);
		hot.loop_s = lost_s(model, &hot);
		if (hot.loop_s > best.loop_s)
			best = hot;
	}
	return best;
}

/* ---- the rule ---------------------------------------------------------------------- */

/* The saving is bounded: what is prepared meanwhile, or not at all, costs nothing. */
static void say(struct sb_advisor *a, const struct sb_hot *hot, double saves_s, const char *issue,
	const char *beside, const char *todo)
{
	bool sleeps = sb_hot_doing(hot->line) == SB_DOES_SLEEP;
	struct sb_advice *f = sb_advisor_find(a, sb_weigh_percent(a->model, hot->loop_s), saves_s, issue,
		sb_say(a, "%s of %s in %llu samples on the thread that calls it, in no stage; %s",
			sb_say_seconds(a, hot->loop_s), sb_say_seconds(a, sb_weigh_work_s(a->model)),
			(unsigned long long)hot->loop_count, beside));

	sb_finding_cause(f, sb_hot_words(a, hot->line), SB_GAIN_BOUNDED, sleeps ? SB_POSSIBLE : SB_LIKELY);
	sb_hot_place(f, hot);
	sb_weigh_priority(a, f);
	if (!f)
		return;
	f->suggestion =
		sleeps ? "If the program has nothing to do meanwhile, nothing is lost. Else wait for what it "
			 "waits for (an event, a queue), not for time."
		       : todo;
	sb_hot_doubt(a, f, hot->line);
	if (sleeps) /* a service that polls for its next request sleeps, too */
		f->priority = sb_priority_name(SB_PRIORITY_LOW);
}

static bool is_enough(const struct sb_hot *hot, double least_s)
{
	return hot->loop_count >= SAMPLES_LEAST && hot->loop_s > least_s;
}

/* "; a pause of 0.50 s at 15.06 s is left out, it comes once" */
static const char *once_words(struct sb_advisor *a)
{
	const struct sb_uncovered *once = &a->model->stages.once;

	return once->duration_s > 0
		       ? sb_say(a, "; a pause of %s at %s is left out, it comes once",
				 sb_say_seconds(a, once->duration_s), sb_say_seconds(a, once->t_s))
		       : "";
}

static void advise_gpu(struct sb_advisor *a)
{
	struct sb_hot hot = find_between_calls(a->model);
	double idle_s = sb_model_calls_idle_s(a->model), least_s = SHARE_LEAST_GPU * each_time_s(a->model);

	if (!is_enough(&hot, least_s) || !(idle_s > least_s))
		return;
	say(a, &hot, fmin(hot.loop_s, idle_s),
		sb_say(a, "Python between the model's calls takes %.0f %% of %s",
			sb_weigh_percent(a->model, hot.loop_s), sb_weigh_words(a->model)),
		sb_say(a, "the GPU idles for %s%s", sb_say_seconds(a, idle_s), once_words(a)),
		"Prepare the next input while the model runs (a DataLoader with workers, a thread), or make "
		"it on the GPU: the GPU waits meanwhile.");
}

static void advise_cpu(struct sb_advisor *a, const struct sb_stage *called)
{
	struct sb_hot hot = sb_hot_find(a->model, is_between_calls_on_the_cpu);

	if (!is_enough(&hot, SHARE_LEAST * sb_weigh_work_s(a->model)))
		return;
	say(a, &hot, hot.loop_s,
		sb_say(a, "Python between the calls of '%s' takes %.0f %% of %s", called->name,
			sb_weigh_percent(a->model, hot.loop_s), sb_weigh_words(a->model)),
		sb_say(a, "'%s' takes %s", called->name, sb_say_seconds(a, called->covered_s)),
		"Prepare the next input while the model runs (a DataLoader with workers, a thread), or make "
		"it with less work: smaller, once, in one call in place of a loop.");
}

void sb_model_calls_advise(struct sb_advisor *a)
{
	double busy = sb_weigh_utilization(a->model);
	const struct sb_stage *called = model_on_the_cpu(a->model);

	if (calls_a_model_on_a_gpu(a->model)) {
		if (!isnan(busy))
			advise_gpu(a);
	} else if (called && !sb_weigh_has_gpu(a->model)) {
		advise_cpu(a, called);
	}
}
