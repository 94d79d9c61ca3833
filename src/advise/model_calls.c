/* What a program without generations does between the calls of its model: see model_calls.h. */
#include "advise/model_calls.h"

#include "advise/hot.h"
#include "advise/weigh.h"
#include "base/role.h"

#include <string.h>

#define CALLS_LEAST 3
#define SAMPLES_LEAST 5
#define BUSY_LEAST 0.5 /* of the time: such a GPU has enough to do */
#define SHARE_LEAST 0.2 /* of the time after the start-up */
#define CALLS_SHARE_LEAST 0.1 /* of it: what is called for less is not what the program is about */

static bool is_called_again(const struct sb_stage *s)
{
	return s->parent < 0 && !s->setup && s->count >= CALLS_LEAST;
}

static bool calls_a_model_on_a_gpu(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (is_called_again(&model->stages.stages[i]) && model->stages.stages[i].gpu_span_count > 0)
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

/* The saving is bounded: what is prepared meanwhile, or not at all, costs nothing. */
static void say(struct sb_advisor *a, const struct sb_hot *hot, double saves_s, const char *issue,
	const char *beside, const char *todo)
{
	bool sleeps = sb_hot_doing(hot->line) == SB_DOES_SLEEP;
	struct sb_advice *f = sb_advisor_find(a, sb_weigh_percent(a->model, hot->loop_s), saves_s, issue,
		sb_say(a, "%s of %s in %llu samples on the thread that calls it, in no stage; %s",
			sb_say_seconds(a, hot->loop_s), sb_say_seconds(a, sb_weigh_work_s(a->model)),
			(unsigned long long)hot->sample_count, beside));

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

static bool is_enough(const struct sb_advisor *a, const struct sb_hot *hot)
{
	return hot->sample_count >= SAMPLES_LEAST && hot->loop_s > SHARE_LEAST * sb_weigh_work_s(a->model);
}

static void advise_gpu(struct sb_advisor *a, double busy)
{
	struct sb_hot hot = sb_hot_find(a->model, is_between_calls);

	if (!is_enough(a, &hot))
		return;
	say(a, &hot, fmin(hot.loop_s, sb_weigh_work_s(a->model) * (1 - busy)),
		sb_say(a, "Python between the model's calls takes %.0f %% of %s",
			sb_weigh_percent(a->model, hot.loop_s), sb_weigh_words(a->model)),
		sb_say(a, "the GPU is %.0f %% busy", busy * 100),
		"Prepare the next input while the model runs (a DataLoader with workers, a thread), or make "
		"it on the GPU: the GPU waits meanwhile.");
}

static void advise_cpu(struct sb_advisor *a, const struct sb_stage *called)
{
	struct sb_hot hot = sb_hot_find(a->model, is_between_calls_on_the_cpu);

	if (!is_enough(a, &hot))
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

	if (busy >= BUSY_LEAST)
		return;
	if (calls_a_model_on_a_gpu(a->model)) {
		if (!isnan(busy))
			advise_gpu(a, busy);
	} else if (called && !sb_weigh_has_gpu(a->model)) {
		advise_cpu(a, called);
	}
}
