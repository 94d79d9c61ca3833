/* What a program without generations does between the calls of its model: see model_calls.h. */
#include "advise/model_calls.h"

#include "advise/hot.h"
#include "advise/weigh.h"

#define CALLS_LEAST 3
#define SAMPLES_LEAST 5
#define BUSY_LEAST 0.5 /* of the time: such a GPU has enough to do */
#define SHARE_LEAST 0.2 /* of the time after the start-up */

static bool calls_a_model(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->parent < 0 && !s->setup && s->count >= CALLS_LEAST && s->gpu_span_count > 0)
			return true;
	}
	return false;
}

/* What waits, for input or anything else, is the business of other rules. */
static bool is_between_calls(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return l->loop_s > 0 && !l->library && sb_hot_doing(l) != SB_DOES_COLLECT &&
	       sb_hot_doing(l) != SB_DOES_WAIT_GPU && !sb_hot_waits(l);
}

void sb_model_calls_advise(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, is_between_calls);
	double work_s = sb_weigh_work_s(a->model), busy = sb_weigh_utilization(a->model), saves_s;
	struct sb_advice *f;

	if (!(busy < BUSY_LEAST) || !calls_a_model(a->model) || hot.sample_count < SAMPLES_LEAST ||
		!(hot.loop_s > SHARE_LEAST * work_s))
		return;
	saves_s = fmin(hot.loop_s, work_s * (1 - busy));
	f = sb_advisor_find(a, sb_weigh_percent(a->model, hot.loop_s), saves_s,
		sb_say(a, "Python between the model's calls takes %.0f %% of %s",
			sb_weigh_percent(a->model, hot.loop_s), sb_weigh_words(a->model)),
		sb_say(a, "%s of %s in %llu samples on the main thread, in no stage; the GPU is %.0f %% busy",
			sb_say_seconds(a, hot.loop_s), sb_say_seconds(a, work_s),
			(unsigned long long)hot.sample_count, busy * 100));
	sb_finding_cause(f, sb_hot_words(a, hot.line), SB_GAIN_BOUNDED, SB_LIKELY);
	sb_hot_place(f, &hot);
	if (f)
		f->suggestion = "Prepare the next input while the model runs (a DataLoader with workers, a "
				"thread), or "
				"make it on the GPU: the GPU waits meanwhile.";
	sb_weigh_priority(a, f);
}
