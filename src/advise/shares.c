/* What the kernels of a stage cost, and the stage that shows a problem of theirs most. */
#include "advise/shares.h"

#include "advise/weigh.h"

#include <string.h>

/* ---- what a stage's kernels cost ------------------------------------------- */

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

static bool is_half(const char *precision)
{
	return is(precision, "bf16") || is(precision, "fp16") || is(precision, "16-bit");
}

static bool is_narrow(const char *precision)
{
	return is(precision, "int8") || is(precision, "fp8") || is(precision, "fp4");
}

static void add(struct sb_shares *k, const struct sb_kernel_share *s)
{
	bool gemm = is(s->family, "GEMM"), conv = is(s->family, "convolution"),
	     attention = is(s->family, "attention");
	bool product = gemm || conv;

	k->all_s += s->total_s;
	k->gemm_s += gemm ? s->total_s : 0;
	k->conv_s += conv ? s->total_s : 0;
	k->math_s += attention && is(s->kind, "math") ? s->total_s : 0;
	k->efficient_s += attention && is(s->kind, "memory-efficient") ? s->total_s : 0;
	k->slow_conv_s += conv && is(s->kind, "without cuDNN") ? s->total_s : 0;
	k->fp32_s += product && is(s->precision, "fp32") ? s->total_s : 0;
	k->tf32_s += product && is(s->precision, "tf32") ? s->total_s : 0;
	k->fp64_s += product && is(s->precision, "fp64") ? s->total_s : 0;
	k->narrow_gemm_s += gemm && is_narrow(s->precision) ? s->total_s : 0;
	k->half_s += (product || attention) && is_half(s->precision) ? s->total_s : 0;
	k->cast_s += is(s->family, "copy and layout") && is(s->kind, "copy and cast") ? s->total_s : 0;
	k->transpose_s += is(s->family, "copy and layout") && is(s->kind, "transpose") ? s->total_s : 0;
	k->elementwise_s += is(s->family, "element-wise") ? s->total_s : 0;
	k->reduction_s += is(s->family, "reduction") ? s->total_s : 0;
	k->dequantise_s += is(s->kind, "dequantise") ? s->total_s : 0;
	k->copy_s += is(s->family, "copy and layout") ? s->total_s : 0;
	k->normalise_s += is(s->family, "normalisation") ? s->total_s : 0;
	k->compiled |= is(s->kind, "Triton") && !product && !attention;
}

struct sb_shares sb_shares_of(const struct sb_stage *s)
{
	struct sb_shares k = { .stage = s };

	for (size_t i = 0; i < s->kernel_share_count; i++)
		add(&k, &s->kernels[i]);
	return k;
}

bool sb_shares_half(const struct sb_model *model)
{
	double half_s = 0;

	for (size_t i = 0; i < model->gpu.family_count; i++)
		half_s += is_half(model->gpu.families[i].precision) ? model->gpu.families[i].total_s : 0;
	return half_s > 0;
}

/* GPU time of the generations, over their wall time; above 1 it is cut. */
static double gpu_share(const struct sb_model *model)
{
	double sum_s = 0, work_s = sb_weigh_work_s(model);

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		bool outer = s->parent < 0 || model->stages.stages[s->parent].role == STROBE_ROLE_GENERATION;

		if (outer && s->role != STROBE_ROLE_GENERATION && s->kernel_s > 0)
			sum_s += s->kernel_s * sb_weigh_calls_per_traced(model, s);
	}
	return fmin(1, sum_s / work_s);
}

/* ---- the stage that shows it most ------------------------------------------- */

static bool has_inner(const struct sb_model *model, size_t at, sb_problem_fn problem, double cost_s)
{
	const struct sb_stage *all = model->stages.stages;

	for (size_t i = at + 1; i < model->stages.stage_count && all[i].depth > all[at].depth; i++) {
		struct sb_shares k = sb_shares_of(&all[i]);

		if (all[i].kernel_share_count && problem(model, &k).saved_s >= 0.8 * cost_s)
			return true;
	}
	return false;
}

struct sb_shown sb_shares_worst(const struct sb_model *model, sb_problem_fn problem)
{
	struct sb_shown most = { 0 };

	for (size_t i = 0; sb_weigh_traced(model) && i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		struct sb_shares k = sb_shares_of(s);
		struct sb_cost cost = s->kernel_share_count ? problem(model, &k) : sb_cost_none();
		double calls = sb_weigh_calls_per_traced(model, s), all_s = cost.saved_s * calls;

		if (!(cost.saved_s > 0) || all_s <= most.saved_s || s->role == STROBE_ROLE_GENERATION ||
			has_inner(model, i, problem, cost.saved_s))
			continue;
		most = (struct sb_shown){ s, k, all_s, cost.seen_s * calls, 0, cost.seen_s / k.all_s };
	}
	if (most.stage)
		most.gain_s = fmin(most.saved_s, sb_weigh_work_s(model)) * gpu_share(model);
	return most;
}

struct sb_advice *sb_shares_find(struct sb_advisor *a, const struct sb_shown *s, const char *issue,
	const char *cause, enum sb_confidence sure)
{
	double percent = s->gain_s / sb_weigh_work_s(a->model) * 100;
	struct sb_advice *f;

	if (!s->stage || !(percent > a->limit))
		return NULL;
	f = sb_advisor_find(a, percent, s->gain_s, issue,
		sb_say(a, "%.0f %% of the kernel time of '%s', %s in all its calls", s->share * 100,
			s->stage->name, sb_say_seconds(a, s->seen_s)));
	sb_finding_cause(f, cause, SB_GAIN_ESTIMATED, sure);
	if (f)
		f->stage = s->stage->name;
	sb_weigh_priority(a, f);
	return f;
}
