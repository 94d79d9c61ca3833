/* What a problem of kernels costs where no trace shows it. Kernels reach a part of what the GPU's table says: these parts were
 * measured on an H200, or are what good kernels reach. */
#include "advise/costs.h"

#include "advise/weigh.h"

#include <string.h>

#define RATE 0.8 /* that products on the FP32 units reach */
#define FUSED_RATE 0.5 /* that fused attention reaches */
#define BANDWIDTH 0.8 /* that element-wise kernels reach */
#define BUSY_LEAST 0.1 /* of the rate: below that launching, not computing, may be what takes the time */
#define SCORE_BYTES \
	26 /* a score in float32: written, softmax (8), what guards it against rows of -inf (10), read */

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

double sb_costs_rate(const struct sb_model *model, const char *precision)
{
	for (size_t i = 0; i < model->roofline.ceiling_count; i++)
		if (is(model->roofline.ceilings[i].precision, precision))
			return model->roofline.ceilings[i].tflops;
	return 0;
}

static double warm_share(const struct sb_model *model, const struct sb_stage *s)
{
	return s->in_generation ? sb_weigh_warm_share(model) : 1;
}

static double warm_calls(const struct sb_model *model, const struct sb_stage *s)
{
	return (double)sb_stage_calls(s) * warm_share(model, s);
}

static double warm_gpu_s(const struct sb_model *model, const struct sb_stage *s)
{
	return sb_weigh_gpu_s(s) * warm_share(model, s);
}

double sb_costs_single(const struct sb_model *model, const struct sb_stage *s)
{
	double better = sb_costs_rate(model, "bf16"), rate = sb_costs_rate(model, s->work.precision);
	double products;

	if (!(is(s->work.precision, "fp32") || is(s->work.precision, "tf32")) || !(rate > 0) ||
		!(better > rate) || !(s->work.mfu_ratio >= BUSY_LEAST))
		return NAN;
	products = fmin(1, s->work.mfu_ratio / RATE);
	/* what is no product moves half as many bytes */
	return warm_gpu_s(model, s) * (products * (1 - rate / better) + (1 - products) / 2);
}

double sb_costs_bytes_s(const struct sb_model *model, double bytes)
{
	return model->roofline.gb_per_s > 0 ? bytes / (BANDWIDTH * model->roofline.gb_per_s * 1e9) : NAN;
}

static double at_most(const struct sb_model *model, const struct sb_stage *s, double seconds)
{
	return seconds > 0 ? fmin(seconds, warm_gpu_s(model, s)) : NAN;
}

double sb_costs_bytes(const struct sb_model *model, const struct sb_stage *s, double bytes)
{
	return at_most(model, s, warm_calls(model, s) * sb_costs_bytes_s(model, bytes));
}

double sb_costs_math(const struct sb_model *model, const struct sb_stage *s, double scores, double flops)
{
	double fp32 = sb_costs_rate(model, "fp32"), half = sb_costs_rate(model, "bf16");

	if (!(fp32 > 0) || !(half > 0))
		return NAN;
	return at_most(model, s,
		warm_calls(model, s) *
			(sb_costs_bytes_s(model, SCORE_BYTES * scores) + flops / (RATE * fp32 * 1e12) -
				flops / (FUSED_RATE * half * 1e12)));
}

double sb_costs_above_floor(const struct sb_model *model, const struct sb_stage *s)
{
	return s->work.mfu_ratio > 0 ? warm_gpu_s(model, s) * fmax(0, 1 - s->work.mfu_ratio) : NAN;
}
