/* What bounds a stage. Counters tell the most; a rate near the peak and the gaps between kernels tell without them. What none of these
 * shows is not guessed: bound_why has the option that tells it. */
#include "analyze/gpu/stage_bound.h"

#include "base/role.h"

#include <stdlib.h>
#include <string.h>

#define READINGS_LEAST \
	0.25 /* of a stage's time: readings a second long see the longest calls alone, the first ones */
#define BOUND_LEAST 0.3 /* a second bound is named from this share on */
#define RATE_NEAR_PEAK 0.5
#define BUSY_MOST \
	0.6 /* of a stage's time in kernels and copies: what they are held up by, their gaps do not tell */
#define COPIES_LEAST 0.3
#define MOVES_LEAST 0.5
#define TALK_LEAST 0.5 /* of the kernels' time */
#define LAUNCH_GAP_S 100e-6 /* per kernel: the host launches one after the other, and does nothing else */

static int by_share(const void *a, const void *b)
{
	const struct sb_bound_share *x = a, *y = b;

	return x->ratio < y->ratio ? 1 : x->ratio > y->ratio ? -1 : strcmp(x->bound, y->bound);
}

/* Samples are short enough to lie in calls of every length; readings are not. */
static bool readings_cover_little(const struct sb_gpu_counters *c)
{
	return c->source == sb_counter_source_names[SB_COUNTED_GPM] && c->covered_ratio < READINGS_LEAST;
}

/* "tensor", or "tensor and DRAM" where neither is alone. False: nothing is known of the time. */
static bool set_shares(
	struct sb_model *model, struct sb_stage *s, const double bound_s[SB_BOUNDS], double whole_s)
{
	struct sb_stage_work *w = &s->work;

	w->bounds = sb_model_alloc(model, SB_BOUNDS * sizeof *w->bounds);
	w->bound_count = 0;
	for (int i = 0; w->bounds && i < SB_BOUNDS; i++)
		if (bound_s[i] > 0)
			w->bounds[w->bound_count++] = (struct sb_bound_share){ sb_gpu_bound_names[i],
				bound_s[i] / whole_s };
	if (!w->bound_count)
		return false;
	qsort(w->bounds, w->bound_count, sizeof *w->bounds, by_share);
	w->bound = w->bounds[0].bound;
	if (w->bound_count > 1 && w->bounds[1].ratio >= BOUND_LEAST)
		w->bound = sb_model_printf(model, "%s and %s", w->bounds[0].bound, w->bounds[1].bound);
	return true;
}

static bool by_counters(
	struct sb_model *model, struct sb_stage *s, const struct sb_gpu_counters *c, bool warm)
{
	double whole_s = 0;

	if (readings_cover_little(c))
		return false;
	for (int i = 0; i < SB_BOUNDS; i++)
		whole_s += c->bound_s[i];
	if (!(whole_s > 0) || !set_shares(model, s, c->bound_s, whole_s))
		return false;
	s->work.bound_basis = c->source == sb_counter_source_names[SB_COUNTED_PM] ? "samples" : "counters";
	s->work.bound_calls = warm ? SB_CALLS_WARM : SB_CALLS_COLD;
	return true;
}

/* A reading is of a second, and averages what comes one after the other in it: samples tell tensor cores and DRAM apart. */
static bool by_samples(struct sb_model *model, struct sb_stage *s)
{
	const struct sb_gpu_counters *samples = sb_stage_samples(s);

	if (!samples || sb_stage_judged_counters(s)->source == samples->source)
		return false;
	return by_counters(model, s, samples, false);
}

static bool set(struct sb_stage *s, bool warm, enum sb_gpu_bound bound, const char *basis)
{
	s->work.bound = sb_gpu_bound_names[bound];
	s->work.bound_basis = basis;
	s->work.bound_calls = warm ? SB_CALLS_WARM : SB_CALLS_COLD;
	return true;
}

/* Half of the peak rate was reached: these pipes worked at least half of the time. */
static bool by_rate(struct sb_stage *s)
{
	const struct sb_stage_work *w = &s->work;

	if (!(w->mfu_ratio >= RATE_NEAR_PEAK) || !w->precision || !strcmp(w->precision, "fp64"))
		return false;
	return set(s, s->judged.warm, strcmp(w->precision, "fp32") ? SB_BOUND_TENSOR : SB_BOUND_FP32, "rate");
}

/* A call that launches a kernel and returns says nothing of the GPU; a stage that is timed there does, a step, what nothing is
 * around, and what is marked as the bottleneck. */
static bool is_judged(const struct sb_stage *s)
{
	return s->gpu_span_s > 0 || s->parent < 0 || s->bottleneck_level != SB_BOTTLENECK_NONE ||
	       s->role == STROBE_ROLE_STEP || s->role == STROBE_ROLE_GENERATION ||
	       (s->role >= STROBE_ROLE_DENOISE && s->role <= STROBE_ROLE_TEXT_ENCODE);
}

/* What its traced calls did; NULL: not known, or of slow ones alone. */
static const struct sb_traced_calls *traced_of(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_traced_calls *t = &s->traced;

	return !model->gpu.slow_only && is_judged(s) && t->busy_s > 0 && t->time_s > 0 &&
			       !sb_stage_at_once(s) && t->busy_s <= 1.1 * t->time_s
		       ? t
		       : NULL;
}

/* A GPU that idles while weights move waits for them, whatever its gaps look like. */
static bool by_trace(struct sb_model *model, struct sb_stage *s)
{
	const struct sb_traced_calls *t = traced_of(model, s);
	double copies_s, idle_s;
	enum sb_gpu_bound idles;

	if (!t)
		return false;
	copies_s = t->busy_s - t->kernel_s + fmax(0, fmin(t->moves_idle_s, t->time_s - t->busy_s));
	idle_s = t->time_s - t->kernel_s - copies_s;
	if (t->communication_s >= TALK_LEAST * t->kernel_s && t->kernel_s >= BUSY_MOST * t->time_s)
		return set(s, s->traced_warm, SB_BOUND_COMMUNICATION, "trace");
	idles = idle_s > t->kernel_count * LAUNCH_GAP_S ? SB_BOUND_HOST : SB_BOUND_LAUNCH;
	if (copies_s >= COPIES_LEAST * t->time_s && copies_s > t->kernel_s) {
		double bound_s[SB_BOUNDS] = { [SB_BOUND_COPIES] = copies_s };

		bound_s[idles] = fmax(0, idle_s);
		set(s, s->traced_warm, SB_BOUND_COPIES, "trace");
		return set_shares(model, s, bound_s, t->time_s);
	}
	return t->kernel_s + copies_s < BUSY_MOST * t->time_s && set(s, s->traced_warm, idles, "trace");
}

/* Weights moved for most of its time, by the zones that strobe records around their hooks. Of such a zone itself that is no news. */
static bool by_moves(struct sb_stage *s)
{
	const struct sb_judged_calls *of = &s->judged;

	if (s->role == STROBE_ROLE_OFFLOAD || !(of->moves_s >= MOVES_LEAST * of->time_s) ||
		!(of->time_s > 0) || sb_stage_at_once(s))
		return false;
	return set(s, of->warm, SB_BOUND_COPIES, "zones");
}

/* Mean time between two readings; NAN: none. */
static double interval_s(const struct sb_model *model)
{
	for (size_t i = 0; i < model->devices.count; i++) {
		const struct sb_series *s = model->devices.all[i].counters;

		if (s && s->count > 1) /* a row may stand for several */
			return (s->t_s[s->count - 1] - s->t_s[0]) / (double)(s->recorded_count - 1);
	}
	return NAN;
}

#define GAPS_TELL "--gpu-trace=steps:3 shows the gaps between kernels"
#define MOST_SAMPLED 0.9 /* of the run */

/* What would sample this stage; NULL: it was sampled. */
static const char *sampling(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_pm_samples_panel *p = &model->pm_samples;

	if (p->present && p->sampled_s >= MOST_SAMPLED * model->stages.wall_s)
		return NULL;
	return !p->present && sb_stage_is_in_steps(model, s) ? "--gpu-counters=steps:3" : "--gpu-counters";
}

static const char *samples_tell(struct sb_model *model, const struct sb_stage *s)
{
	const char *option = sampling(model, s);

	return option ? sb_model_printf(model, "%s samples%s every 0.5 ms, " GAPS_TELL, option,
				strchr(option, '=') ? "" : " all of the run")
		      : GAPS_TELL;
}

static const char *why_not(struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_traced_calls *t = traced_of(model, s);
	const char *option = sampling(model, s);
	double readings_s = interval_s(model);

	if (t && !option)
		return sb_model_printf(model,
			"kernels and copies ran for %.0f %% of its traced time; no sample of the counters is "
			"of this stage alone",
			fmin(t->busy_s / t->time_s, 1) * 100);
	if (t)
		return sb_model_printf(model,
			"kernels and copies ran for %.0f %% of its traced time; which part of the GPU they "
			"used, %s%s tells",
			fmin(t->busy_s / t->time_s, 1) * 100, option,
			model->pm_samples.present ? " for all of the run" : "");
	if (readings_cover_little(sb_stage_judged_counters(s)))
		return sb_model_printf(model,
			"readings of the counters (one every %.3g s) cover %.0f %% of %s alone, its "
			"longest calls; %s",
			readings_s, sb_stage_judged_counters(s)->covered_ratio * 100,
			s->judged.warm ? "the time of its warm calls" : "its time", samples_tell(model, s));
	if (readings_s > 0)
		return sb_model_printf(model,
			"no reading of the counters (one every %.3g s) is of %s alone; %s", readings_s,
			s->counters.covered_ratio > 0 ? "its warm calls" : "this stage",
			samples_tell(model, s));
	if (model->gpu.slow_only)
		return sb_model_printf(model,
			"kernels were kept around slow moments only, which do not stand for the stage; %s",
			samples_tell(model, s));
	return sb_model_printf(
		model, "this recording has no counters of the GPU's parts; %s", samples_tell(model, s));
}

/* Imports and what strobe itself does have a span on the GPU's clock, as every zone has; nothing is to be gained there. */
static bool uses_gpu(const struct sb_model *model, const struct sb_stage *s)
{
	if (!sb_role_uses_gpu(s->name, s->role))
		return false;
	return (s->gpu_busy_s > 0 && is_judged(s)) || s->gpu_span_s > 0 || s->counters.covered_ratio > 0 ||
	       (model->devices.count && !isnan(s->work.flops));
}

/* What a GPU did meanwhile is of others. */
static bool is_on_cpu(const struct sb_model *model, const struct sb_stage *s)
{
	return model->roofline.on_cpu || (sb_stage_work_on_cpu(&s->work) && !(s->gpu_busy_s > 0));
}

void sb_stage_bound_fill(struct sb_model *model, struct sb_stage *s)
{
	if (is_on_cpu(model, s)) {
		if (!isnan(s->work.flops))
			s->work.bound_why = "its models ran on the CPU";
		return;
	}
	if (by_samples(model, s) || by_counters(model, s, sb_stage_judged_counters(s), s->judged.warm) ||
		by_rate(s) || by_trace(model, s) || by_moves(s))
		return;
	if (by_counters(model, s, &s->counters, false)) /* no reading is of its warm calls */
		return;
	if (uses_gpu(model, s))
		s->work.bound_why = why_not(model, s);
}
