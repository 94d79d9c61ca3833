/* Rules about the kernels a stage ran and better ones it could have run: attention, convolutions,
 * precision, layout. Without a GPU trace they say what advise/untraced.h knows. */
#include "advise/asked.h"
#include "advise/costs.h"
#include "advise/untraced.h"
#include "advise/weigh.h"
#include "base/role.h"

#include <string.h>

/* ---- what a stage's kernels cost ------------------------------------------- */

struct kernels {
	const struct sb_stage *stage;
	double all_s, math_s, efficient_s, slow_conv_s, fp32_s, tf32_s, fp64_s, half_s, cast_s, transpose_s,
		elementwise_s, conv_s, gemm_s;
	double reduction_s, dequantise_s, copy_s, normalise_s;
	bool compiled; /* a compiler made element-wise kernels of it */
};

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

static bool is_half(const char *precision)
{
	return is(precision, "bf16") || is(precision, "fp16") || is(precision, "16-bit");
}

static void add(struct kernels *k, const struct sb_kernel_share *s)
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

static struct kernels kernels_of(const struct sb_stage *s)
{
	struct kernels k = { .stage = s };

	for (size_t i = 0; i < s->kernel_share_count; i++)
		add(&k, &s->kernels[i]);
	return k;
}

/* True if something in this run computes in 16 bits, so that the rest could too. */
static bool run_is_half(const struct sb_model *model)
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

/* Kernel time of a stage that shows the problem, and how much of it goes when it is fixed; 0: the stage does not have it. */
struct cost {
	double seen_s, saved_s;
};
typedef struct cost (*problem_fn)(const struct sb_model *model, const struct kernels *k);

static struct cost cost_of(double seen_s, double saved_ratio)
{
	return (struct cost){ seen_s, saved_ratio * seen_s };
}

static const struct cost none;

struct shown {
	const struct sb_stage *stage;
	struct kernels kernels;
	double saved_s, seen_s, gain_s, share; /* in all calls; share: what is seen of the stage's kernels */
};

static bool has_inner(const struct sb_model *model, size_t at, problem_fn problem, double cost_s)
{
	const struct sb_stage *all = model->stages.stages;

	for (size_t i = at + 1; i < model->stages.stage_count && all[i].depth > all[at].depth; i++) {
		struct kernels k = kernels_of(&all[i]);

		if (all[i].kernel_share_count && problem(model, &k).saved_s >= 0.8 * cost_s)
			return true;
	}
	return false;
}

static struct shown worst(const struct sb_model *model, problem_fn problem)
{
	struct shown most = { 0 };

	for (size_t i = 0; sb_weigh_traced(model) && i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		struct kernels k = kernels_of(s);
		struct cost cost = s->kernel_share_count ? problem(model, &k) : none;
		double calls = sb_weigh_calls_per_traced(model, s), all_s = cost.saved_s * calls;

		if (!(cost.saved_s > 0) || all_s <= most.saved_s || s->role == STROBE_ROLE_GENERATION ||
			has_inner(model, i, problem, cost.saved_s))
			continue;
		most = (struct shown){ s, k, all_s, cost.seen_s * calls, 0, cost.seen_s / k.all_s };
	}
	if (most.stage)
		most.gain_s = fmin(most.saved_s, sb_weigh_work_s(model)) * gpu_share(model);
	return most;
}

static void show_kernel(const struct sb_model *model, const char *const *words, struct sb_advice *f)
{
	for (size_t i = 0; f && i < model->gpu.top_kernel_count; i++) {
		const struct sb_gpu_row *kernel = &model->gpu.top_kernels[i];

		for (size_t k = 0; words[k] && !f->where.kernel; k++) {
			if (!strcasestr(kernel->name, words[k]))
				continue;
			f->where.kernel = kernel->name;
			f->where.kernel_short_name = kernel->short_name;
		}
	}
}

static struct sb_advice *find_shown(struct sb_advisor *a, const struct shown *s, const char *issue,
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

/* ---- attention ----------------------------------------------------------------- */

#define UNFUSED 0.9 /* of the time of unfused attention is saved by a fused kernel */
#define EFFICIENT 0.5

static struct cost math_attention(const struct sb_model *model, const struct kernels *k)
{
	double around_s = k->half_s > 0 ? k->fp32_s + k->cast_s + k->reduction_s + k->elementwise_s * 0.8 : 0;

	return k->math_s > 0.03 * k->all_s ? cost_of(k->math_s + around_s, UNFUSED) : none;
}

static struct cost efficient_attention(const struct sb_model *model, const struct kernels *k)
{
	return k->efficient_s > 0.15 * k->all_s && run_is_half(model) ? cost_of(k->efficient_s, EFFICIENT)
								      : none;
}

void sb_rule_fallback_attention(struct sb_advisor *a)
{
	static const char *const math_words[] = { "softmax", NULL };
	static const char *const efficient_words[] = { "fmha", "AttentionKernel", NULL };
	struct shown math = worst(a->model, math_attention), efficient = worst(a->model, efficient_attention);
	struct sb_advice *f;

	sb_untraced_attention(a);
	f = find_shown(a, &math,
		math.stage ? sb_say(a, "attention in '%s' runs unfused", math.stage->name) : "",
		math.stage ? sb_say(a,
				     "'%s' computes attention as separate kernels (softmax, two products, "
				     "casts): the math backend of scaled_dot_product_attention, or attention "
				     "written by hand",
				     math.stage->name)
			   : "",
		SB_CERTAIN);
	show_kernel(a->model, math_words, f);
	f = find_shown(a, &efficient,
		efficient.stage
			? sb_say(a, "attention in '%s' does not use flash attention", efficient.stage->name)
			: "",
		efficient.stage ? sb_say(a,
					  "'%s' runs the memory-efficient kernel with 16-bit inputs: a dense "
					  "attn_mask, or a head size flash attention does not take",
					  efficient.stage->name)
				: "",
		SB_LIKELY);
	show_kernel(a->model, efficient_words, f);
	if (f)
		f->suggestion = "Leave attn_mask out where nothing is masked; cut padding off, or use "
				"is_causal=True, instead of a dense mask.";
}

/* ---- convolutions ---------------------------------------------------------------- */

static struct cost slow_convolution(const struct sb_model *model, const struct kernels *k)
{
	return k->slow_conv_s > 0 ? cost_of(k->slow_conv_s + k->gemm_s, 0.8) : none;
}

void sb_rule_fallback_conv(struct sb_advisor *a)
{
	static const char *const words[] = { "vol2col", "im2col", "slow_conv", NULL };
	struct shown s = worst(a->model, slow_convolution);
	const char *version = sb_known_version(a);
	struct sb_advice *f = find_shown(a, &s,
		s.stage ? sb_say(a, "convolutions in '%s' run without cuDNN", s.stage->name) : "",
		version ? version
			: "torch.backends.cudnn.enabled is off, or cuDNN refuses the convolution: it is "
			  "unfolded into matrix products",
		SB_CERTAIN);

	show_kernel(a->model, words, f);
	if (f && version)
		f->suggestion = "Update torch, or cuDNN from its own package.";
	sb_untraced_convolutions(a);
}

/* ---- precision ---------------------------------------------------------------------- */

/* GPUs for data centres multiply in float64 as fast as in float32, or half as fast: there only 16 bits save time. */
static bool needs_16_bits(const struct sb_model *model)
{
	return sb_costs_rate(model, "bf16") > 0 &&
	       sb_costs_rate(model, "fp64") > 0.4 * sb_costs_rate(model, "fp32");
}

/* Large products take as long as the unit's rate says. */
static struct cost double_precision(const struct sb_model *model, const struct kernels *k)
{
	double better = sb_costs_rate(model, needs_16_bits(model) ? "bf16" : "fp32"),
	       left = better > 0 ? sb_costs_rate(model, "fp64") / better : 0.05;

	return k->fp64_s > 0.01 * k->all_s ? cost_of(k->fp64_s, 1 - left) : none;
}

static struct cost single_precision(const struct sb_model *model, const struct kernels *k)
{
	return k->fp32_s > 0.2 * k->all_s && !(k->math_s > 0) && !(k->slow_conv_s > 0) && run_is_half(model)
		       ? cost_of(k->fp32_s, 0.8)
		       : none;
}

/* Weights of 32 bits whose products run on the tensor cores as TF32: at half the rate of 16 bits. */
static struct cost half_rate(const struct sb_model *model, const struct kernels *k)
{
	return k->tf32_s > 0.2 * k->all_s && run_is_half(model) && !(single_precision(model, k).seen_s > 0)
		       ? cost_of(k->tf32_s, 0.5)
		       : none;
}

/* Weights that are cast for every call: products in 16 bits beside many casts. */
static struct cost cast_every_call(const struct sb_model *model, const struct kernels *k)
{
	return k->cast_s > 0.25 * k->all_s && k->half_s > 0 && k->gemm_s > k->conv_s && !(k->math_s > 0) &&
			       k->elementwise_s < 0.25 * k->all_s
		       ? cost_of(k->cast_s, 0.95)
		       : none;
}

static struct cost dequantised_every_call(const struct sb_model *model, const struct kernels *k)
{
	if (k->dequantise_s > 0.2 * k->all_s)
		return cost_of(k->dequantise_s, 0.95);
	return k->cast_s > 0.25 * k->all_s && k->elementwise_s >= 0.25 * k->all_s && k->half_s > 0 &&
			       k->gemm_s > k->conv_s && !(k->math_s > 0)
		       ? cost_of(k->cast_s + k->elementwise_s, 0.9)
		       : none;
}

void sb_rule_precision_mismatch(struct sb_advisor *a)
{
	struct shown s = worst(a->model, double_precision);
	struct sb_advice *f = find_shown(a, &s,
		s.stage ? sb_say(a, "'%s' multiplies in float64", s.stage->name) : "",
		"a tensor of 64 bits has got in: a numpy array, a Python constant, torch.float64 left from a "
		"scheduler",
		SB_CERTAIN);

	if (f)
		f->suggestion = needs_16_bits(a->model)
					? "Give it the model's dtype where it is made (torch.tensor(x, "
					  "dtype=latents.dtype)), or .to(latents.dtype) before the product: "
					  "in float32 this GPU is hardly faster than in float64."
					: "Give it a dtype where it is made (torch.tensor(x, "
					  "dtype=torch.float32)), or .to(latents.dtype) before the product.";
	s = worst(a->model, single_precision);
	find_shown(a, &s,
		s.stage ? sb_say(a, "'%s' computes in fp32 beside a 16-bit model", s.stage->name) : "",
		s.stage ? sb_say(a,
				  "the weights of '%s' are float32: its products do not use the tensor "
				  "cores' 16-bit rate",
				  s.stage->name)
			: "",
		SB_LIKELY);
	s = worst(a->model, half_rate);
	f = find_shown(a, &s,
		s.stage ? sb_say(a, "'%s' computes in fp32 (as TF32) beside a 16-bit model", s.stage->name)
			: "",
		s.stage ? sb_say(a,
				  "the weights of '%s' are float32: its products run as TF32, at half the "
				  "tensor cores' 16-bit rate",
				  s.stage->name)
			: "",
		SB_LIKELY);
	if (f && is(f->priority, "high"))
		f->priority = sb_priority_name(SB_PRIORITY_MEDIUM); /* some VAEs need it */
	s = worst(a->model, cast_every_call);
	f = find_shown(a, &s, s.stage ? sb_say(a, "'%s' casts tensors in every call", s.stage->name) : "",
		s.stage ? sb_say(a,
				  "weights of '%s' are kept in another precision than they are used in (fp32 "
				  "under autocast): they are cast "
				  "again in each forward",
				  s.stage->name)
			: "",
		SB_LIKELY);
	if (f)
		f->suggestion = "Convert the model once: model.to(torch.bfloat16), and leave autocast out.";
	sb_untraced_precision(a);
}

void sb_rule_quantised_not_used(struct sb_advisor *a)
{
	struct shown s = worst(a->model, dequantised_every_call);

	sb_untraced_unpacked(a);
	find_shown(a, &s, s.stage ? sb_say(a, "'%s' unpacks its weights in every call", s.stage->name) : "",
		s.stage ? sb_say(a,
				  "the quantised weights of '%s' are turned into 16 bits before each "
				  "product: the products themselves run in "
				  "16 bits",
				  s.stage->name)
			: "",
		SB_LIKELY);
}

/* ---- layout ----------------------------------------------------------------------------- */

static struct cost layout_changes(const struct sb_model *model, const struct kernels *k)
{
	double moved_s = k->transpose_s + k->cast_s;
	/* a healthy decoder copies, too: it pads, joins and casts (36 % of a Wan's) */
	bool most = k->transpose_s > 0.35 * k->all_s || moved_s > 0.5 * k->all_s;

	return most && k->conv_s > 0 && k->conv_s > k->gemm_s ? cost_of(moved_s, 0.9) : none;
}

void sb_rule_layout_conversion(struct sb_advisor *a)
{
	struct shown s = worst(a->model, layout_changes);

	sb_untraced_layout(a);
	find_shown(a, &s,
		s.stage ? sb_say(a, "'%s' changes memory layouts between its convolutions", s.stage->name)
			: "",
		s.stage ? sb_say(a,
				  "%.0f %% of the kernel time of '%s' transposes and copies: .contiguous() "
				  "or permute() between the layers, or channels-first weights for "
				  "channels-last kernels",
				  (s.kernels.transpose_s + s.kernels.cast_s) / s.kernels.all_s * 100,
				  s.stage->name)
			: "",
		SB_LIKELY);
}

/* ---- compilation ------------------------------------------------------------------------ */

#define UNFUSED_LEAST 0.25 /* of the stage's kernels */
#define BUSY_LEAST 0.7 /* of its traced time: launching does not limit it */
#define FUSED 0.5 /* of the element-wise time is saved; what copies and normalisation save is not counted */

static bool is_compilable(const struct sb_model *model, const struct sb_stage *s)
{
	enum strobe_role work = sb_role_work(s->name, s->role);

	if (work == STROBE_ROLE_STEP || work == STROBE_ROLE_DENOISE || work == STROBE_ROLE_VAE_ENCODE ||
		work == STROBE_ROLE_VAE_DECODE)
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

/* Other rules name the same kernels, and what to do first. */
static bool is_explained(const struct sb_model *model, const struct kernels *k)
{
	static const problem_fn others[] = { math_attention, slow_convolution, double_precision,
		single_precision, half_rate, cast_every_call, dequantised_every_call, layout_changes };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i](model, k).seen_s > 0)
			return true;
	return false;
}

static struct cost unfused(const struct sb_model *model, const struct kernels *k)
{
	const struct sb_traced_calls *t = &k->stage->traced;
	double seen_s = k->elementwise_s + k->copy_s + k->normalise_s;

	if (k->compiled || compiles(model) || !(seen_s >= UNFUSED_LEAST * k->all_s) || !(t->time_s > 0) ||
		t->kernel_s < BUSY_LEAST * t->time_s || !is_compilable(model, k->stage) ||
		is_explained(model, k))
		return none;
	return (struct cost){ seen_s, FUSED * k->elementwise_s };
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

void sb_rule_kernels_unfused(struct sb_advisor *a)
{
	struct shown s = worst(a->model, unfused);
	const struct kernels *k = &s.kernels;
	struct sb_advice *f;

	if (!s.stage)
		return;
	s.gain_s *= s.stage->in_generation ? sb_weigh_warm_share(a->model) : 1;
	f = find_shown(a, &s,
		sb_say(a, "'%s' is not compiled: %.0f %% of its kernel time is work that a compiler can fuse",
			s.stage->name, s.share * 100),
		"each operation between the products is a kernel of its own, and reads and writes whole "
		"tensors; the gain is half of the element-wise time",
		SB_LIKELY);
	if (!f)
		return;
	f->evidence = sb_say(a, "%s: element-wise %.0f %%, copy and layout %.0f %%, normalisation %.0f %%%s",
		f->evidence, k->elementwise_s / k->all_s * 100, k->copy_s / k->all_s * 100,
		k->normalise_s / k->all_s * 100, say_rate(a, &s.stage->work));
	f->priority = sb_priority_name(
		SB_PRIORITY_LOW); /* compiling takes minutes, and not every model can be */
}
