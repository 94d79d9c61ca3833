/* The rule about kernels that a compiler fuses, of a model that is not compiled. */
#include "advise/asked.h"
#include "advise/kernels.h"
#include "advise/weigh.h"
#include "base/role.h"

#define UNFUSED_LEAST 0.25 /* of the stage's kernels */
#define BUSY_LEAST 0.7 /* of its traced time: launching does not limit it */
#define FUSED 0.6 /* of such time is saved: 0.56 to 0.80 of it where it was measured */

#define CALLS_LEAST 3

/* A model that a program without generations calls in its loop. */
static bool is_called_in_a_loop(const struct sb_model *model, const struct sb_stage *s)
{
	return model->generations.whole_run && s->parent < 0 && !s->setup && s->count >= CALLS_LEAST &&
	       s->gpu_span_count > 0 && sb_role_work(s->name, s->role) == STROBE_ROLE_STAGE;
}

static bool is_compilable(const struct sb_model *model, const struct sb_stage *s)
{
	enum strobe_role work = sb_role_work(s->name, s->role);

	if (work == STROBE_ROLE_STEP || work == STROBE_ROLE_DENOISE || work == STROBE_ROLE_VAE_ENCODE ||
		work == STROBE_ROLE_VAE_DECODE)
		return true;
	if (is_called_in_a_loop(model, s))
		return true;
	return s->parent >= 0 && is_compilable(model, &model->stages.stages[s->parent]);
}

/* A compiler ran, or was asked for: "asked_not_ran" tells where nothing came of it. */
static bool compiles(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (model->stages.stages[i].role == STROBE_ROLE_COMPILE)
			return true;
	for (size_t i = 0; i < model->events.count; i++)
		if (sb_asked_number(&model->events.rows[i], "compiled") > 0)
			return true;
	return false;
}

static struct sb_cost unfused(const struct sb_model *model, const struct sb_shares *k)
{
	const struct sb_traced_calls *t = &k->stage->traced;
	double seen_s = k->elementwise_s + k->copy_s + k->normalise_s;

	if (k->compiled || compiles(model) || !(seen_s >= UNFUSED_LEAST * k->all_s) || !(t->time_s > 0) ||
		t->kernel_s < BUSY_LEAST * t->time_s || !is_compilable(model, k->stage) ||
		sb_kernels_explained(model, k))
		return sb_cost_none();
	return sb_cost_of(seen_s, FUSED);
}

/* "; 14 warm calls reach 40 % of this GPU's bf16 rate, their floor is 1.02 s of 2.53 s" */
static const char *say_rate(struct sb_advisor *a, const struct sb_stage_work *w)
{
	if (!(w->mfu_ratio > 0) || !w->precision || !w->calls)
		return "";
	return sb_say(a, "; %lld %s call%s %s %.0f %% of this GPU's %s rate: the floor is %s of %s",
		(long long)w->call_count, w->calls, w->call_count == 1 ? "" : "s",
		w->call_count == 1 ? "reaches" : "reach", w->mfu_ratio * 100, w->precision,
		sb_say_seconds(a, w->floor_s), sb_say_seconds(a, w->time_s));
}

/* ", of which 4.37 s count, in the warm generations": the gain is of these. */
static const char *say_counted(struct sb_advisor *a, const struct sb_shown *s)
{
	double counted_s = s->gain_s / FUSED;

	if (!(counted_s < 0.99 * s->seen_s))
		return "";
	return sb_say(
		a, ", of which %s count, in %s", sb_say_seconds(a, counted_s), sb_weigh_words(a->model));
}

void sb_rule_kernels_unfused(struct sb_advisor *a)
{
	struct sb_shown s = sb_shares_worst(a->model, unfused);
	const struct sb_shares *k = &s.shares;
	struct sb_advice *f;

	if (!s.stage)
		return;
	/* the GPU is busy in this stage, however long it waits for others */
	s.gain_s = fmin(s.saved_s * (s.stage->in_generation ? sb_weigh_warm_share(a->model) : 1),
		sb_weigh_work_s(a->model));
	f = sb_shares_find(a, &s,
		sb_say(a, "'%s' is not compiled: %.0f %% of its kernel time is work that a compiler can fuse",
			s.stage->name, s.share * 100),
		"each operation between the products is a kernel of its own, and reads and writes whole "
		"tensors; the gain is six tenths of the time that counts",
		SB_LIKELY);
	if (!f)
		return;
	f->evidence = sb_say(a,
		"%s%s: element-wise %.0f %%, copy and layout %.0f %%, normalisation %.0f %%%s", f->evidence,
		say_counted(a, &s), k->elementwise_s / k->all_s * 100, k->copy_s / k->all_s * 100,
		k->normalise_s / k->all_s * 100, say_rate(a, &s.stage->work));
	if (a->model->generations.whole_run)
		f->suggestion = "Before its first call: model = torch.compile(model). The first call of each "
				"shape compiles.";
	f->priority = sb_priority_name(
		SB_PRIORITY_LOW); /* compiling takes minutes, and not every model can be */
}
