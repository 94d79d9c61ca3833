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
#define IDLE_MOST 0.1
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
static bool readings_cover_little(const struct sb_stage *s)
{
	return s->counters.source == sb_counter_source_names[SB_COUNTED_GPM] &&
	       s->counters.covered_ratio < READINGS_LEAST;
}

/* "tensor", or "tensor and DRAM" where neither is alone. */
static bool by_counters(struct sb_model *model, struct sb_stage *s)
{
	struct sb_stage_work *w = &s->work;
	double whole_s = 0;

	if (readings_cover_little(s))
		return false;
	for (int i = 0; i < SB_BOUNDS; i++)
		whole_s += s->counters.bound_s[i];
	if (!(whole_s > 0))
		return false;
	w->bounds = sb_model_alloc(model, SB_BOUNDS * sizeof *w->bounds);
	for (int i = 0; w->bounds && i < SB_BOUNDS; i++)
		if (s->counters.bound_s[i] > 0)
			w->bounds[w->bound_count++] = (struct sb_bound_share){ sb_gpu_bound_names[i],
				s->counters.bound_s[i] / whole_s };
	if (!w->bound_count)
		return false;
	qsort(w->bounds, w->bound_count, sizeof *w->bounds, by_share);
	w->bound = w->bounds[0].bound;
	if (w->bound_count > 1 && w->bounds[1].ratio >= BOUND_LEAST)
		w->bound = sb_model_printf(model, "%s and %s", w->bounds[0].bound, w->bounds[1].bound);
	w->bound_basis = "counters";
	return true;
}

static bool set(struct sb_stage_work *w, enum sb_gpu_bound bound, const char *basis)
{
	w->bound = sb_gpu_bound_names[bound];
	w->bound_basis = basis;
	return true;
}

/* Half of the peak rate was reached: these pipes worked at least half of the time. */
static bool by_rate(struct sb_stage_work *w)
{
	if (!(w->mfu_ratio >= RATE_NEAR_PEAK) || !w->precision || !strcmp(w->precision, "fp64"))
		return false;
	return set(w, strcmp(w->precision, "fp32") ? SB_BOUND_TENSOR : SB_BOUND_FP32, "rate");
}

/* A call that launches a kernel and returns says nothing of the GPU; a stage that is timed there does, a step, and what nothing is around. */
static bool is_judged(const struct sb_stage *s)
{
	return s->gpu_span_s > 0 || s->parent < 0 || s->role == STROBE_ROLE_STEP ||
	       s->role == STROBE_ROLE_GENERATION ||
	       (s->role >= STROBE_ROLE_DENOISE && s->role <= STROBE_ROLE_TEXT_ENCODE);
}

/* The time of its calls that were traced, the GPU's own where it is known; NAN: not known, as only a part of a call was. */
static double traced_s(const struct sb_model *model, const struct sb_stage *s)
{
	double call_s = s->gpu_span_s > 0 ? s->gpu_span_s / (double)s->gpu_span_count : s->time.mean,
	       time_s = call_s * (double)s->gpu_call_count;

	if (!is_judged(s) || !(s->gpu_busy_s > 0) || !(time_s > 0) || sb_stage_at_once(s) ||
		s->gpu_busy_s > 1.1 * time_s)
		return NAN;
	return isnan(model->gpu.traced_s) || time_s <= 1.2 * model->gpu.traced_s ? time_s : NAN;
}

/* A GPU that idles while weights move waits for them, whatever its gaps look like. */
static bool by_trace(const struct sb_model *model, struct sb_stage *s)
{
	double time_s = traced_s(model, s), kernel_s = s->kernel_s > 0 ? s->kernel_s : 0, kernel_count = 0;
	double moves_idle_s, copies_s;

	if (isnan(time_s))
		return false;
	moves_idle_s = fmax(0, fmin(s->gpu_moves_idle_s, time_s - s->gpu_busy_s)); /* of several GPUs: once */
	copies_s = s->gpu_busy_s - kernel_s + moves_idle_s;
	for (size_t i = 0; i < s->kernel_share_count; i++)
		kernel_count += (double)s->kernels[i].count;
	if (sb_kernel_shares_of_s(s->kernels, s->kernel_share_count, "communication") >=
			TALK_LEAST * kernel_s &&
		kernel_s >= BUSY_MOST * time_s)
		return set(&s->work, SB_BOUND_COMMUNICATION, "trace");
	if (copies_s >= COPIES_LEAST * time_s && copies_s > kernel_s)
		return set(&s->work, SB_BOUND_COPIES, "trace");
	if (kernel_s + copies_s >= BUSY_MOST * time_s)
		return false;
	if (s->gpu_busy_s < IDLE_MOST * time_s || time_s - kernel_s - copies_s > kernel_count * LAUNCH_GAP_S)
		return set(&s->work, SB_BOUND_HOST, "trace");
	return set(&s->work, SB_BOUND_LAUNCH, "trace");
}

/* Weights moved for most of its time, by the zones that strobe records around their hooks. Of such a zone itself that is no news. */
static bool by_moves(struct sb_stage *s)
{
	const struct sb_judged_calls *of = &s->judged;

	if (s->role == STROBE_ROLE_OFFLOAD || !(of->moves_s >= MOVES_LEAST * of->time_s) ||
		!(of->time_s > 0) || sb_stage_at_once(s))
		return false;
	return set(&s->work, SB_BOUND_COPIES, "zones");
}

/* Mean time between two readings; NAN: none. */
static double interval_s(const struct sb_model *model)
{
	for (size_t i = 0; i < model->devices.count; i++) {
		const struct sb_series *s = model->devices.all[i].counters;

		if (s && s->count > 1)
			return (s->t_s[s->count - 1] - s->t_s[0]) / (double)(s->count - 1);
	}
	return NAN;
}

#define SAMPLES_TELL \
	"--gpu-counters=steps:3 samples every 0.5 ms, --gpu-trace=steps:3 shows the gaps between kernels"

static const char *why_not(struct sb_model *model, const struct sb_stage *s)
{
	double readings_s = interval_s(model), traced = traced_s(model, s);

	if (traced > 0)
		return sb_model_printf(model, "kernels and copies ran for %.0f %% of its traced time; %s",
			fmin(s->gpu_busy_s / traced, 1) * 100,
			model->pm_samples.present
				? "no sample of the counters is of this stage alone"
				: "which part of the GPU they used, --gpu-counters=steps:3 tells");
	if (readings_cover_little(s))
		return sb_model_printf(model,
			"readings of the counters (one every %.3g s) cover %.0f %% of its time alone, its "
			"longest calls; " SAMPLES_TELL,
			readings_s, s->counters.covered_ratio * 100);
	if (readings_s > 0)
		return sb_model_printf(model,
			"no reading of the counters (one every %.3g s) is of this stage alone; " SAMPLES_TELL,
			readings_s);
	return "this recording has no counters of the GPU's parts; --gpu-counters=steps:3 samples them, "
	       "--gpu-trace=steps:3 shows the gaps between kernels";
}

/* Imports and what strobe itself does have a span on the GPU's clock, as every zone has; nothing is to be gained there. */
static bool uses_gpu(const struct sb_model *model, const struct sb_stage *s)
{
	if (!sb_role_uses_gpu(s->name, s->role))
		return false;
	return (s->gpu_busy_s > 0 && is_judged(s)) || s->gpu_span_s > 0 ||
	       (model->devices.count && !isnan(s->work.flops));
}

void sb_stage_bound_fill(struct sb_model *model, struct sb_stage *s)
{
	if (by_counters(model, s) || by_rate(&s->work) || by_trace(model, s) || by_moves(s))
		return;
	if (uses_gpu(model, s))
		s->work.bound_why = why_not(model, s);
}
