/* Rules about the kernels a stage ran and better ones it could have run: attention, convolutions,
 * precision, layout. Without a GPU trace they say what advise/untraced.h knows. */
#include "advise/kernels.h"

#include "advise/asked.h"
#include "advise/costs.h"
#include "advise/narrow.h"
#include "advise/untraced.h"

#include <string.h>

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
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

/* ---- attention ----------------------------------------------------------------- */

#define UNFUSED 0.9 /* of the time of unfused attention is saved by a fused kernel */
#define EFFICIENT 0.5

static struct sb_cost math_attention(const struct sb_model *model, const struct sb_shares *k)
{
	double around_s = k->half_s > 0 ? k->fp32_s + k->cast_s + k->reduction_s + k->elementwise_s * 0.8 : 0;

	return k->math_s > 0.03 * k->all_s ? sb_cost_of(k->math_s + around_s, UNFUSED) : sb_cost_none();
}

static struct sb_cost efficient_attention(const struct sb_model *model, const struct sb_shares *k)
{
	return k->efficient_s > 0.15 * k->all_s && sb_shares_half(model)
		       ? sb_cost_of(k->efficient_s, EFFICIENT)
		       : sb_cost_none();
}

void sb_rule_fallback_attention(struct sb_advisor *a)
{
	static const char *const math_words[] = { "softmax", NULL };
	static const char *const efficient_words[] = { "fmha", "AttentionKernel", NULL };
	struct sb_shown math = sb_shares_worst(a->model, math_attention),
			efficient = sb_shares_worst(a->model, efficient_attention);
	struct sb_advice *f;

	sb_untraced_attention(a);
	f = sb_shares_find(a, &math,
		math.stage ? sb_say(a, "attention in '%s' runs unfused", math.stage->name) : "",
		math.stage ? sb_say(a,
				     "'%s' computes attention as separate kernels (softmax, two products, "
				     "casts): the math backend of scaled_dot_product_attention, or attention "
				     "written by hand",
				     math.stage->name)
			   : "",
		SB_CERTAIN);
	show_kernel(a->model, math_words, f);
	f = sb_shares_find(a, &efficient,
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

static struct sb_cost slow_convolution(const struct sb_model *model, const struct sb_shares *k)
{
	return k->slow_conv_s > 0 ? sb_cost_of(k->slow_conv_s + k->gemm_s, 0.8) : sb_cost_none();
}

void sb_rule_fallback_conv(struct sb_advisor *a)
{
	static const char *const words[] = { "vol2col", "im2col", "slow_conv", NULL };
	struct sb_shown s = sb_shares_worst(a->model, slow_convolution);
	const char *version = sb_known_version(a);
	struct sb_advice *f = sb_shares_find(a, &s,
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
static struct sb_cost double_precision(const struct sb_model *model, const struct sb_shares *k)
{
	double better = sb_costs_rate(model, needs_16_bits(model) ? "bf16" : "fp32"),
	       left = better > 0 ? sb_costs_rate(model, "fp64") / better : 0.05;

	return k->fp64_s > 0.01 * k->all_s ? sb_cost_of(k->fp64_s, 1 - left) : sb_cost_none();
}

static struct sb_cost single_precision(const struct sb_model *model, const struct sb_shares *k)
{
	return k->fp32_s > 0.2 * k->all_s && !(k->math_s > 0) && !(k->slow_conv_s > 0) &&
			       sb_shares_half(model)
		       ? sb_cost_of(k->fp32_s, 0.8)
		       : sb_cost_none();
}

/* Weights of 32 bits whose products run on the tensor cores as TF32: at half the rate of 16 bits. */
static struct sb_cost half_rate(const struct sb_model *model, const struct sb_shares *k)
{
	return k->tf32_s > 0.2 * k->all_s && sb_shares_half(model) && !(single_precision(model, k).seen_s > 0)
		       ? sb_cost_of(k->tf32_s, 0.5)
		       : sb_cost_none();
}

#define UNPACKING_LEAST 0.2 /* of the stage's kernels */

/* What is cast and scaled beside such products is their inputs. */
static bool multiplies_narrow(const struct sb_shares *k)
{
	return k->narrow_gemm_s > 0.5 * k->gemm_s;
}

/* Weights that are cast for every call: products in 16 bits beside many casts. */
static struct sb_cost cast_every_call(const struct sb_model *model, const struct sb_shares *k)
{
	return k->cast_s > 0.25 * k->all_s && k->half_s > 0 && k->gemm_s > k->conv_s && !(k->math_s > 0) &&
			       k->elementwise_s < 0.25 * k->all_s && !multiplies_narrow(k) &&
			       !sb_narrow_half(model, k->stage)
		       ? sb_cost_of(k->cast_s, 0.95)
		       : sb_cost_none();
}

/* Of the casts and element-wise kernels, the part that unpacks weights: by their bytes, where these are known. */
static double unpacking_ratio(const struct sb_model *model, const struct sb_shares *k)
{
	double call_s = 0;
	const struct sb_stage *of = sb_narrow_unpacking(model, k->stage, &call_s);
	struct sb_shares all;

	if (!of || !of->gpu_call_count)
		return 1;
	all = sb_shares_of(of);
	return fmin(1, (double)of->gpu_call_count * call_s / (all.cast_s + all.elementwise_s));
}

/* Plain norms, positions and gates run casts and element-wise kernels, too: whether weights are unpacked the program says. */
static struct sb_cost unpacked_in_parts(const struct sb_model *model, const struct sb_shares *k)
{
	double seen_s = k->cast_s + k->elementwise_s;

	if (!(k->cast_s > 0.25 * k->all_s) || !(k->elementwise_s >= 0.25 * k->all_s) || !(k->half_s > 0) ||
		!(k->gemm_s > k->conv_s) || k->math_s > 0 || multiplies_narrow(k) ||
		!sb_narrow_weights(model, k->stage))
		return sb_cost_none();
	seen_s *= unpacking_ratio(model, k);
	return seen_s > UNPACKING_LEAST * k->all_s ? sb_cost_of(seen_s, 0.9) : sb_cost_none();
}

static struct sb_cost dequantised_every_call(const struct sb_model *model, const struct sb_shares *k)
{
	if (k->dequantise_s > UNPACKING_LEAST * k->all_s)
		return sb_cost_of(k->dequantise_s, 0.95);
	return unpacked_in_parts(model, k);
}

void sb_rule_precision_mismatch(struct sb_advisor *a)
{
	struct sb_shown s = sb_shares_worst(a->model, double_precision);
	struct sb_advice *f = sb_shares_find(a, &s,
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
	s = sb_shares_worst(a->model, single_precision);
	sb_shares_find(a, &s,
		s.stage ? sb_say(a, "'%s' computes in fp32 beside a 16-bit model", s.stage->name) : "",
		s.stage ? sb_say(a,
				  "the weights of '%s' are float32: its products do not use the tensor "
				  "cores' 16-bit rate",
				  s.stage->name)
			: "",
		SB_LIKELY);
	s = sb_shares_worst(a->model, half_rate);
	f = sb_shares_find(a, &s,
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
	s = sb_shares_worst(a->model, cast_every_call);
	f = sb_shares_find(a, &s, s.stage ? sb_say(a, "'%s' casts tensors in every call", s.stage->name) : "",
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
	struct sb_shown s = sb_shares_worst(a->model, dequantised_every_call);

	sb_untraced_unpacked(a);
	sb_shares_find(a, &s,
		s.stage ? sb_say(a, "'%s' unpacks its weights in every call", s.stage->name) : "",
		s.stage ? sb_say(a,
				  "the quantised weights of '%s' are turned into 16 bits before each "
				  "product: the products themselves run in "
				  "16 bits",
				  s.stage->name)
			: "",
		SB_LIKELY);
}

/* ---- layout ----------------------------------------------------------------------------- */

static struct sb_cost layout_changes(const struct sb_model *model, const struct sb_shares *k)
{
	double moved_s = k->transpose_s + k->cast_s;
	/* a healthy decoder copies, too: it pads, joins and casts (36 % of a Wan's) */
	bool most = k->transpose_s > 0.35 * k->all_s || moved_s > 0.5 * k->all_s;

	return most && k->conv_s > 0 && k->conv_s > k->gemm_s ? sb_cost_of(moved_s, 0.9) : sb_cost_none();
}

void sb_rule_layout_conversion(struct sb_advisor *a)
{
	struct sb_shown s = sb_shares_worst(a->model, layout_changes);

	sb_untraced_layout(a);
	sb_shares_find(a, &s,
		s.stage ? sb_say(a, "'%s' changes memory layouts between its convolutions", s.stage->name)
			: "",
		s.stage ? sb_say(a,
				  "%.0f %% of the kernel time of '%s' transposes and copies: .contiguous() "
				  "or permute() between the layers, or channels-first weights for "
				  "channels-last kernels",
				  (s.shares.transpose_s + s.shares.cast_s) / s.shares.all_s * 100,
				  s.stage->name)
			: "",
		SB_LIKELY);
}

bool sb_kernels_explained(const struct sb_model *model, const struct sb_shares *k)
{
	static const sb_problem_fn others[] = { math_attention, slow_convolution, double_precision,
		single_precision, half_rate, cast_every_call, dequantised_every_call, layout_changes };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i](model, k).seen_s > 0)
			return true;
	return false;
}
