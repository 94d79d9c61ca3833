/* Rules over the GPU trace. They say nothing without one. */
#include "advise/hot.h"
#include "advise/idle.h"
#include "advise/weigh.h"

#include <string.h>

#define COPY_SAMPLES_LEAST 3 /* fewer may be chance */
#define SAMPLES_MANY 20

/* Sums over several GPUs are longer than the run: each GPU that works beside the others has its own share. */
double sb_advise_per_gpu(const struct sb_model *model, double sum_s)
{
	double mean_s = sum_s / (double)(model->gpu.device_count ? model->gpu.device_count : 1);

	return model->stages.wall_s > 0 ? fmin(mean_s, model->stages.wall_s) : mean_s;
}

/* The run cannot be shorter than what its busiest GPU computes: what that one
 * idles is all that closing gaps can save. */
static const struct sb_gpu_device *busiest(const struct sb_gpu_panel *gpu)
{
	const struct sb_gpu_device *most = gpu->devices;

	for (size_t i = 1; i < gpu->device_count; i++)
		most = gpu->devices[i].busy_s > most->busy_s ? &gpu->devices[i] : most;
	return most;
}

/* A trace of a few steps is a sample: of which stages, and how long they took. */
struct sample {
	double traced_s, whole_s;
	const char *stage; /* NULL: several */
};

#define MOST 0.9 /* of a stage traced, or of the GPU's time in one stage */

/* The innermost stage around the traced window: it holds nearly all of the GPU's
 * work, and one call of it is no shorter than the window. */
static size_t innermost(const struct sb_stages_panel *stages, size_t at, double window_s)
{
	const struct sb_stage *all = stages->stages;

	for (size_t i = at + 1; i < stages->stage_count && all[i].depth > all[at].depth; i++) {
		if (all[i].parent == (int64_t)at && all[i].gpu_busy_s >= MOST * all[at].gpu_busy_s &&
			!all[i].span && all[i].covered_s >= window_s * (double)sb_stage_calls(&all[i]))
			at = i;
	}
	return at;
}

/* True if most of the GPU's idle time lies while the CPU is in no stage. */
static bool idles_outside_stages(const struct sb_gpu_panel *gpu)
{
	double inside_s = 0, all_s = 0;

	for (size_t i = 0; i < gpu->idle_zone_count; i++) {
		const struct sb_gpu_row *row = &gpu->idle_zones[i];
		bool known = strcmp(row->name, SB_GPU_SHORTEST) != 0;

		all_s += known ? row->total_s : 0;
		inside_s += known && strcmp(row->name, SB_GPU_OUTSIDE) ? row->total_s : 0;
	}
	return all_s > 0 && inside_s < all_s / 2;
}

static bool sample_of(const struct sb_model *model, struct sample *out)
{
	const struct sb_stages_panel *stages = &model->stages;
	struct sample s = { .traced_s = sb_advise_per_gpu(model, model->gpu.window_s) };
	size_t count = 0;

	for (size_t i = 0; i < stages->stage_count; i++) {
		size_t inner = i;

		if (stages->stages[i].parent >= 0 || !(stages->stages[i].gpu_busy_s > 0) ||
			stages->stages[i].span)
			continue;
		inner = innermost(stages, i, s.traced_s);
		s.whole_s += stages->stages[inner].covered_s;
		s.stage = count++ ? NULL : stages->stages[inner].name;
	}
	if (!(s.traced_s > 0) || !(model->gpu.traced_s < MOST * s.whole_s) || s.traced_s >= s.whole_s)
		return false;
	*out = s;
	return true;
}

/* What lies in no stage is reported for the time after the start-up, of which the stages are a part. */
static bool sample_of_all(const struct sb_model *model, struct sample *out)
{
	struct sample s = { sb_advise_per_gpu(model, model->gpu.window_s), sb_weigh_work_s(model), NULL };

	if (!model->generations.whole_run || !isfinite(model->stages.startup_end_s) || !(s.traced_s > 0) ||
		s.traced_s >= s.whole_s)
		return false;
	*out = s;
	return true;
}

/* A finding of the trace: its gain, told for all that the trace is a sample of, but no more than most_s. */
static struct sb_advice *find_traced(struct sb_advisor *a, double value, double saves_s, double most_s,
	const char *issue, const char *evidence)
{
	struct sb_advice *f;
	struct sample s;
	bool outside = !strcmp(a->rule->id, "gpu_gaps") && idles_outside_stages(&a->model->gpu) &&
		       sample_of_all(a->model, &s);
	bool sampled = evidence && (outside || sample_of(a->model, &s));

	if (a->model->gpu.slow_only) /* no sample of the run */
		return NULL;
	if (sampled) {
		saves_s = fmin(saves_s * s.whole_s / s.traced_s, s.whole_s);
		evidence = sb_say(a, "%s; the gain is an estimate: %s were traced of %s in %s", evidence,
			sb_say_seconds(a, s.traced_s), sb_say_seconds(a, s.whole_s),
			outside   ? sb_weigh_words(a->model)
			: s.stage ? sb_say(a, "'%s'", s.stage)
				  : "the stages seen");
	}
	f = sb_advisor_find(a, value, fmin(saves_s, most_s), issue, evidence);
	if (f && sampled && f->basis)
		f->basis = "estimated";
	return f;
}

static bool copies_in_a_step(const struct sb_model *model, const struct sb_line *l)
{
	enum sb_doing doing = sb_hot_doing(l);

	(void)model;
	return l->step_s > 0 && (doing == SB_DOES_COPY || doing == SB_DOES_WAIT_GPU);
}

/* While a copy through pageable memory runs Python waits, and the GPU with it: what the line takes is saved, up to
 * the GPU's idle time and its copies. Many samples of it say more than the traced steps, whose copies are the first ones. */
static void weigh_line(struct sb_advisor *a, struct sb_advice *f, const struct sb_hot *hot, double copies_s)
{
	struct sb_weigh_step step;
	double most_s, line_s;

	if (!sb_weigh_step(a->model, &step))
		return;
	most_s = sb_weigh_idle_s(a->model) + copies_s / step.traced_count * step.warm_count;
	line_s = fmin(hot->step_s, most_s);
	if (!(line_s > f->saves_s) && hot->sample_count < SAMPLES_MANY)
		return;
	f->saves_s = f->rank_s = line_s;
	f->value = sb_weigh_percent(a->model, line_s);
	f->issue = sb_say(a, "copies take %.1f %% of %s", f->value, sb_weigh_words(a->model));
}

/* The line that copies, where samples hit one. */
static void place_copies(struct sb_advisor *a, struct sb_advice *f, double copies_s)
{
	struct sb_hot hot = sb_hot_find(a->model, copies_in_a_step);
	const char *basis;

	if (!f || hot.sample_count < COPY_SAMPLES_LEAST)
		return;
	weigh_line(a, f, &hot, copies_s);
	basis = f->basis;
	sb_finding_cause(f, sb_hot_words(a, hot.line), SB_GAIN_BOUNDED, SB_LIKELY);
	f->basis = basis;
	sb_hot_place(f, &hot);
}

static double copied_bytes(const struct sb_gpu_panel *gpu)
{
	double bytes = 0;

	for (size_t i = 0; i < gpu->copy_count; i++)
		bytes += gpu->copies[i].bytes > 0 ? gpu->copies[i].bytes : 0;
	return bytes;
}

/* Each stage's copies, for all of its calls: a few steps and one call of every other stage were traced. */
static double copies_of_all_calls_s(const struct sb_model *model)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->gpu_copy_s > 0)
			sum_s += s->gpu_copy_s * sb_weigh_calls_per_traced(model, s);
	}
	return sum_s;
}

/* Of the warm generations where their steps were traced, else of the stages that were. */
static struct sb_advice *find_sampled_copies(struct sb_advisor *a, const struct sample *s, double traced_s)
{
	struct sb_weigh_step step;
	bool warm = !a->model->generations.whole_run && sb_weigh_step(a->model, &step);
	double of_s = warm ? sb_weigh_work_s(a->model) : s->whole_s;
	double all_s = fmin(sb_advise_per_gpu(a->model, copies_of_all_calls_s(a->model)), of_s);
	double percent;
	const char *where = warm        ? sb_weigh_words(a->model)
			    : !s->stage ? "the stages seen"
					: sb_say(a, "'%s'", s->stage);
	struct sb_advice *f;

	if (warm)
		all_s = fmin(all_s, sb_idle_copy_ratio(a->model) * of_s);
	percent = all_s / of_s * 100;
	if (!(percent > a->limit))
		return NULL;
	f = sb_advisor_find(a, percent, all_s, sb_say(a, "copies take %.1f %% of %s", percent, where),
		sb_say(a,
			"%.2f GB in %s of %s that were traced; the gain is an estimate: each stage's copies "
			"for all of its calls%s",
			copied_bytes(&a->model->gpu) / 1e9, sb_say_seconds(a, traced_s),
			sb_say_seconds(a, s->traced_s),
			warm ? ", in the time that their kernels leave" : ""));
	if (f && f->basis)
		f->basis = "estimated";
	return f;
}

void sb_rule_copies(struct sb_advisor *a)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	double total_s = 0;
	struct sb_advice *f = NULL;
	struct sample s;

	for (size_t i = 0; i < gpu->copy_count; i++)
		total_s += gpu->copies[i].total_s;
	if (!gpu->slow_only && sb_weigh_traced_steps(a->model) > 0 && sample_of(a->model, &s))
		f = find_sampled_copies(a, &s, sb_advise_per_gpu(a->model, total_s));
	else if (gpu->present && gpu->copy_ratio * 100 > a->limit)
		f = find_traced(a, gpu->copy_ratio * 100, sb_advise_per_gpu(a->model, total_s), INFINITY,
			sb_say(a, "copies take %.1f %% of the GPU%s time", gpu->copy_ratio * 100,
				gpu->device_count > 1 ? "s'" : "'s"),
			sb_say(a, "%.2f GB in %s%s", copied_bytes(gpu) / 1e9, sb_say_seconds(a, total_s),
				gpu->device_count > 1 ? sb_say(a, ", %zu GPUs added up", gpu->device_count)
						      : ""));
	place_copies(a, f, sb_advise_per_gpu(a->model, total_s));
}

void sb_rule_pageable_copies(struct sb_advisor *a)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	double pageable = 0, known = 0, percent;

	for (size_t i = 0; sb_weigh_traced(a->model) && i < gpu->copy_count; i++) {
		const struct sb_gpu_copy *c = &gpu->copies[i];

		if (!c->memory || !(c->bytes > 0))
			continue;
		known += c->bytes;
		pageable += strcmp(c->memory, "pageable") == 0 ? c->bytes : 0;
	}
	percent = pageable / known * 100;
	if (known > 1e9 && percent > a->limit)
		sb_advisor_find(a, percent, NAN,
			sb_say(a, "%.0f %% of the copied bytes use pageable memory", percent),
			sb_say(a, "%.2f of %.2f GB", pageable / 1e9, known / 1e9));
}

#define AHEAD 0.6 /* of the time */
#define LAUNCH_BOUND 0.6 /* of the time goes into launching: that is what bounds it */
#define LAUNCH_GAP_S 30e-6 /* between two short kernels; a longer wait has another cause */
#define MOST_OF_IDLE 0.5 /* is in short gaps: then launching is the cause */

static void say_launching(struct sb_advice *f, const char *cause)
{
	if (!f)
		return;
	sb_finding_cause(f, cause,
		f->basis && strcmp(f->basis, "estimated") == 0 ? SB_GAIN_ESTIMATED : SB_GAIN_BOUNDED,
		SB_LIKELY);
	f->suggestion = "torch.compile(model, mode=\"reduce-overhead\") or CUDA graphs; a larger batch (both "
			"forwards of CFG in one) also helps.";
}

/* Short kernels with short gaps: the CPU cannot launch as fast as the GPU computes. */
static void say_short_kernels(struct sb_advisor *a, struct sb_advice *f)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	double idle_s = fmax(0, gpu->idle_s - gpu->long_gaps_s), gap_s = idle_s / (double)gpu->kernel_count;

	if (!(gpu->kernel_count > 0) || gap_s > LAUNCH_GAP_S || gpu->small_kernel_ratio < 0.5 ||
		idle_s < MOST_OF_IDLE * gpu->idle_s)
		return;
	say_launching(
		f, sb_say(a,
			   "launching: %lld kernels of %.1f us, and %.1f us between two of them, in which "
			   "Python prepares the next",
			   (long long)gpu->kernel_count,
			   gpu->kernel_total_s / (double)gpu->kernel_count * 1e6, gap_s * 1e6));
}

/* Launching all kernels of a step takes Python most of the step. */
static void say_slow_launches(struct sb_advisor *a, struct sb_advice *f, const struct sb_weigh_step *step)
{
	double each_s = a->model->gpu.launch_interval_s, all_s = each_s * step->kernel_count;

	if (!(all_s >= LAUNCH_BOUND * step->took_s))
		return;
	say_launching(f, sb_say(a,
				 "launching: Python takes %.1f us from one kernel to the next, for %.0f "
				 "kernels a step most of its %s; the GPU needs %s",
				 each_s * 1e6, step->kernel_count, sb_say_seconds(a, step->took_s),
				 sb_say_seconds(a, step->busy_s)));
}

/* ", 2 of them served by a cache": they have less work than the others. */
static const char *served_words(struct sb_advisor *a)
{
	const struct sb_diffusion_panel *d = &a->model->diffusion;

	return d->cached_steps > 0 && d->traced_steps > 0
		       ? sb_say(a, ", %lld of them served by a cache", (long long)d->traced_cached_steps)
		       : "";
}

/* Traced steps are mostly cold and slow; the GPU's time in them over the time of a warm step is closer to
 * the real share. */
static void find_idle_steps(struct sb_advisor *a, const struct sb_weigh_step *step)
{
	double percent = fmax(0, 1 - step->busy_s / step->took_s) * 100;
	struct sb_advice *f;

	if (!(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, sb_idle_in_steps_s(a->model),
		sb_say(a, "the GPU idles %.1f %% of a step", percent),
		sb_say(a, "%.0f steps were traced%s: %.0f kernels, %s of work each; a warm step%s takes %s",
			step->traced_count, served_words(a), step->kernel_count,
			sb_say_seconds(a, step->busy_s), *served_words(a) ? " of such a mix" : "",
			sb_say_seconds(a, step->took_s)));
	if (f && f->basis)
		f->basis = "estimated";
	say_slow_launches(a, f, step);
}

/* A trace of a program without generations may begin while it still loads: that idle time is no gap of its work. */
static double idle_in_work_s(const struct sb_model *model, const struct sb_gpu_device *most)
{
	if (!model->generations.whole_run || !isfinite(model->stages.startup_end_s))
		return most->idle_s;
	return fmin(most->idle_s, fmax(0, sb_weigh_work_s(model) - most->busy_s));
}

void sb_rule_gpu_gaps(struct sb_advisor *a)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	struct sb_weigh_step step;
	double percent = gpu->present ? gpu->idle_s / (gpu->busy_s + gpu->idle_s) * 100 : NAN;
	const struct sb_gpu_gap *largest = NULL;
	const struct sb_gpu_device *most;
	struct sb_advice *f;
	const char *seen;
	bool several;

	for (size_t i = 0; i < gpu->gap_count; i++) {
		if (!largest || gpu->gaps[i].duration_s > largest->duration_s)
			largest = &gpu->gaps[i];
	}
	if (gpu->device_count == 1 && sb_weigh_step(a->model, &step)) {
		if (sb_weigh_ahead_ratio(a->model) <
			AHEAD) /* else it has work at hand: few traced steps are no proof */
			find_idle_steps(a, &step);
		return;
	}
	if (!(percent > a->limit) || !gpu->device_count)
		return;
	most = busiest(gpu);
	several = gpu->device_count > 1;
	seen = several ? sb_say(a, "the busiest, GPU %d, idles %s of %s", most->device,
				 sb_say_seconds(a, most->idle_s), sb_say_seconds(a, most->window_s))
		       : sb_say(a, "%s idle, %s busy", sb_say_seconds(a, most->idle_s),
				 sb_say_seconds(a, most->busy_s));
	if (seen && largest)
		seen = sb_say(a, "%s; the longest gap is %s%s, the CPU was in '%s'", seen,
			sb_say_seconds(a, largest->duration_s),
			several ? sb_say(a, " on GPU %d", largest->device) : "",
			largest->cpu_did ? largest->cpu_did : "no stage");
	f = find_traced(a, percent, idle_in_work_s(a->model, most), sb_weigh_idle_s(a->model),
		several ? sb_say(a, "the %zu GPUs idle %.1f %% on average between their kernels",
				  gpu->device_count, percent)
			: sb_say(a, "the GPU idles %.1f %% between its kernels", percent),
		seen);
	say_short_kernels(a, f);
}

void sb_rule_small_kernels(struct sb_advisor *a)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	double idle = gpu->present ? gpu->idle_s / (gpu->busy_s + gpu->idle_s) : 0;

	/* slow moments alone are no picture of the run, nor are cold steps of one that launches ahead */
	if (sb_weigh_traced(a->model) && sb_weigh_ahead_ratio(a->model) < AHEAD &&
		gpu->small_kernel_ratio * 100 > a->limit && idle > 0.05)
		sb_advisor_find(a, gpu->small_kernel_ratio * 100, NAN,
			sb_say(a, "%.0f %% of the kernels are short", gpu->small_kernel_ratio * 100),
			sb_say(a, "%lld kernels, %.1f us each on average, the GPU idles %.0f %%",
				(long long)gpu->kernel_count,
				gpu->kernel_total_s / (double)gpu->kernel_count * 1e6, idle * 100));
}

void sb_rule_attention_math(struct sb_advisor *a)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	double math_s = 0, percent;

	for (size_t i = 0; gpu->present && i < gpu->attention_count; i++) {
		if (strcasestr(gpu->attention[i].name, "math") || strcasestr(gpu->attention[i].name, "eager"))
			math_s += gpu->attention[i].total_s;
	}
	percent = math_s / gpu->kernel_total_s * 100;
	if (math_s > 0 && percent > a->limit)
		find_traced(a, percent, sb_advise_per_gpu(a->model, math_s / 2), INFINITY,
			sb_say(a, "attention runs unfused (math) for %.1f %% of the time", percent),
			sb_say(a, "%.3f s of %.3f s kernel time", math_s, gpu->kernel_total_s));
}

void sb_rule_communication(struct sb_advisor *a)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	double percent = gpu->present ? gpu->exposed_communication_s / gpu->window_s * 100 : NAN;

	if (percent > a->limit)
		find_traced(a, percent, sb_advise_per_gpu(a->model, gpu->exposed_communication_s), INFINITY,
			sb_say(a, "communication that no computation hides takes %.1f %%", percent),
			sb_say(a, "%s of %s communication are exposed%s",
				sb_say_seconds(a, sb_advise_per_gpu(a->model, gpu->exposed_communication_s)),
				sb_say_seconds(a, sb_advise_per_gpu(a->model, gpu->communication_s)),
				gpu->device_count > 1 ? ", on each GPU on average" : ""));
}
