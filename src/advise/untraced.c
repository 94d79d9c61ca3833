/* Rules about kernels where no trace shows them: what torch's switches and the dtypes of the models leave no choice
 * about. What it costs is estimated where the operations and bytes are known; else it is for a trace to say. */
#include "advise/untraced.h"

#include "advise/asked.h"
#include "advise/costs.h"
#include "advise/weigh.h"

#include <string.h>

/* Of the GPU's time of a stage, to rank by: the least that one of these cost where it was measured. */
#define COSTS 0.3
#define MASKED_LEAST 0.5 /* of the calls of attention */
#define RELAID_LEAST 1.5 /* of what the convolutions read */

/* ---- the stage of a model --------------------------------------------------- */

static const struct sb_stage *stage_of(const struct sb_model *model, const char *component)
{
	const struct sb_stage *s = component ? sb_model_stage(model, component) : NULL;

	if (!s && component && strcmp(component, "vae") == 0)
		s = sb_model_stage(model, "vae_decode");
	return s;
}

/* What fixing it saves; seconds NAN: not known. */
struct gain {
	double seconds;
	enum sb_gain_basis basis;
};

static struct gain estimated(double seconds)
{
	return (struct gain){ seconds, SB_GAIN_ESTIMATED };
}

static const struct gain unknown = { NAN, SB_GAIN_ESTIMATED };

static struct sb_advice *find(struct sb_advisor *a, const struct sb_stage *s, struct gain gain,
	const char *issue, const char *seen, const char *cause, enum sb_confidence sure)
{
	bool known = gain.seconds > 0;
	double work_s = sb_weigh_work_s(a->model),
	       cost_s = fmin(known ? gain.seconds : COSTS * sb_weigh_gpu_s(s), work_s),
	       percent = sb_weigh_percent(a->model, cost_s);
	struct sb_advice *f;

	if (!(percent > a->limit))
		return NULL;
	f = sb_advisor_find(a, percent, known ? cost_s : NAN, issue,
		sb_say(a, "%s; '%s' takes %s of the GPU; --gpu-trace=steps:3 shows %s", seen, s->name,
			sb_say_seconds(a, sb_weigh_gpu_s(s)),
			known ? "what it costs in its kernels" : "what it costs"));
	sb_finding_cause(f, cause, gain.basis, sure);
	if (!f)
		return NULL;
	f->stage = s->name;
	f->rank_s = cost_s;
	sb_weigh_priority(a, f);
	if (sure == SB_POSSIBLE && !strcmp(f->priority, sb_priority_name(SB_PRIORITY_HIGH)))
		f->priority = sb_priority_name(
			SB_PRIORITY_MEDIUM); /* a trace may show that it costs nothing */
	return f;
}

/* ---- what a model computes: its forward on tensors without memory, when the session ended ------- */

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* The i-th event if it says what a model on a GPU is at last; else NULL. */
static const struct sb_event_row *model_at(const struct sb_model *model, size_t i)
{
	const struct sb_event_row *all = model->events.rows, *e = &all[i];

	if (strcmp(e->name, "torch.asked") != 0 || !is(sb_asked_text(e, "device"), "cuda"))
		return NULL;
	for (size_t k = i + 1; k < model->events.count; k++)
		if (strcmp(all[k].name, "torch.asked") == 0 &&
			is(sb_asked_text(&all[k], "component"), sb_asked_text(e, "component")))
			return NULL;
	return e;
}

static const struct sb_event_row *computed_by(const struct sb_model *model, const struct sb_event_row *asked)
{
	const char *component = asked ? sb_asked_text(asked, "component") : NULL;

	return component ? sb_asked_last(model, "torch.computed", "component", component) : NULL;
}

static void find_masked(struct sb_advisor *a, const struct sb_event_row *asked)
{
	const struct sb_event_row *e = computed_by(a->model, asked);
	const struct sb_stage *s = e ? stage_of(a->model, sb_asked_text(e, "component")) : NULL;
	double masked = sb_asked_number(e, "masked_count"), all = sb_asked_number(e, "attention_count");
	struct sb_advice *f;

	/* cuDNN's attention takes masks; where it is on, it may be what runs */
	if (!s || !(masked >= MASKED_LEAST * all) || sb_asked_number(asked, "cudnn_attention") != 0)
		return;
	f = find(a, s, unknown,
		sb_say(a, "attention in '%s' takes a mask, so flash attention cannot run it", s->name),
		sb_say(a, "%.0f of %.0f calls of attention in each call have an attn_mask", masked, all),
		"scaled_dot_product_attention is called with attn_mask: flash attention takes none, and "
		"cuDNN's is off; what is left is the memory-efficient kernel, or math",
		SB_POSSIBLE);
	if (f)
		f->suggestion = "Leave attn_mask out where nothing is masked; cut padding off, or use "
				"is_causal=True.";
}

void sb_untraced_unpacked(struct sb_advisor *a)
{
	for (size_t i = 0; !sb_weigh_traced(a->model) && i < a->model->events.count; i++) {
		const struct sb_event_row *e = computed_by(a->model, model_at(a->model, i));
		const struct sb_stage *s = e && sb_asked_number(e, "unpacked_ratio") > 0
						   ? stage_of(a->model, sb_asked_text(e, "component"))
						   : NULL;

		if (s)
			find(a, s,
				estimated(sb_costs_bytes(a->model, s, sb_asked_number(e, "unpacking_bytes"))),
				sb_say(a, "'%s' unpacks its weights in every call", s->name),
				sb_say(a, "of its weights in 8 bits %.0f %% are cast in each call",
					sb_asked_number(e, "unpacked_ratio") * 100),
				sb_say(a,
					"the quantised weights of '%s' are turned into 16 or 32 bits before "
					"each product: the products themselves do not run in 8 bits",
					s->name),
				SB_LIKELY);
	}
}

void sb_untraced_layout(struct sb_advisor *a)
{
	for (size_t i = 0; !sb_weigh_traced(a->model) && i < a->model->events.count; i++) {
		const struct sb_event_row *e = computed_by(a->model, model_at(a->model, i));
		const struct sb_stage *s = e && sb_asked_number(e, "relaid_ratio") >= RELAID_LEAST
						   ? stage_of(a->model, sb_asked_text(e, "component"))
						   : NULL;

		if (s)
			find(a, s,
				estimated(
					sb_costs_bytes(a->model, s, 2 * sb_asked_number(e, "relaid_bytes"))),
				sb_say(a, "'%s' changes memory layouts between its convolutions", s->name),
				sb_say(a,
					"each call copies %.1f times as many bytes into another layout as "
					"its convolutions read",
					sb_asked_number(e, "relaid_ratio")),
				sb_say(a,
					".contiguous(), permute() or another memory_format between the "
					"layers of '%s'",
					s->name),
				SB_POSSIBLE);
	}
}

/* ---- attention -------------------------------------------------------------- */

/* In 32 bits nothing is cast, and the products are the same. */
static struct gain cost_of_math(const struct sb_model *model, const struct sb_stage *s, const char *component)
{
	const struct sb_event_row *e =
		component ? sb_asked_last(model, "torch.computed", "component", component) : NULL;

	return sb_asked_number(e, "attention_bits") == 16
		       ? estimated(sb_costs_math(model, s, sb_asked_number(e, "attention_scores"),
				 sb_asked_number(e, "attention_flops")))
		       : unknown;
}

static void find_math(struct sb_advisor *a, const struct sb_stage *s, const struct sb_event_row *e)
{
	const char *file = sb_asked_text(e, "file"), *base = file ? strrchr(file, '/') : NULL;
	uint32_t line = (uint32_t)sb_asked_number(e, "line");
	struct sb_advice *f;

	base = base ? base + 1 : file;
	f = find(a, s, cost_of_math(a->model, s, sb_asked_text(e, "component")),
		sb_say(a, "attention in '%s' runs unfused", s->name),
		file ? sb_say(a, "sdpa_kernel() left it the math backend alone, %.0f times or more",
			       sb_asked_number(e, "count"))
		     : "flash, memory-efficient and cuDNN attention are all switched off",
		file ? sb_say(a,
			       "scaled_dot_product_attention may use its math backend alone (%s:%u): "
			       "softmax and two products as separate kernels",
			       base, line)
		     : "torch.backends.cuda.enable_flash_sdp(False), enable_mem_efficient_sdp(False) and "
		       "enable_cudnn_sdp(False) leave the math backend alone: softmax and two products as "
		       "separate kernels",
		SB_LIKELY);
	if (file)
		sb_finding_line(f, file, line);
}

void sb_untraced_attention(struct sb_advisor *a)
{
	const struct sb_event_row *e = sb_asked_last(a->model, "torch.attention", "backends", "math");
	const struct sb_stage *s = e ? stage_of(a->model, sb_asked_text(e, "component")) : NULL;

	if (sb_weigh_traced(a->model) || !sb_weigh_has_gpu(a->model))
		return;
	if (!s && (e = sb_asked_last(a->model, "torch.asked", "sdp", "math")))
		s = stage_of(a->model, sb_asked_text(e, "component"));
	if (s) {
		find_math(a, s, e);
		return;
	}
	for (size_t i = 0; i < a->model->events.count; i++)
		find_masked(a, model_at(a->model, i));
}

/* ---- models ------------------------------------------------------------------ */

void sb_untraced_convolutions(struct sb_advisor *a)
{
	for (size_t i = 0; !sb_weigh_traced(a->model) && i < a->model->events.count; i++) {
		const struct sb_event_row *e = model_at(a->model, i);
		const struct sb_stage *s = e && sb_asked_number(e, "cudnn") == 0
						   ? stage_of(a->model, sb_asked_text(e, "component"))
						   : NULL;

		if (s)
			find(a, s, (struct gain){ sb_costs_above_floor(a->model, s), SB_GAIN_BOUNDED },
				sb_say(a, "convolutions in '%s' run without cuDNN", s->name),
				sb_say(a, "it has a %s", sb_asked_text(e, "convolution")),
				"torch.backends.cudnn.enabled is off: convolutions are unfolded into matrix "
				"products",
				SB_CERTAIN);
	}
}

static bool is_half(const struct sb_event_row *e)
{
	const char *dtype = sb_asked_text(e, "dtype");

	return is(dtype, "bfloat16") || is(dtype, "float16");
}

static const struct sb_event_row *half_model(const struct sb_model *model)
{
	for (size_t i = 0; i < model->events.count; i++) {
		const struct sb_event_row *e = model_at(model, i);

		if (e && is_half(e) && stage_of(model, sb_asked_text(e, "component")))
			return e;
	}
	return NULL;
}

/* cast: weights, each read in 32 bits and written in 16; NAN: autocast keeps what it has cast until it is left. */
static void find_cast(struct sb_advisor *a, const struct sb_stage *s, const char *dtype, double cast)
{
	struct sb_advice *f = find(a, s, estimated(sb_costs_bytes(a->model, s, 6 * cast)),
		sb_say(a, "'%s' casts its weights in every call", s->name),
		"read from the model and from torch at its first call",
		sb_say(a,
			"the weights of '%s' are float32 and run under autocast(%s): each time it is "
			"entered, they are cast again",
			s->name, dtype),
		SB_LIKELY);

	if (f)
		f->suggestion = "Convert the model once: model.to(torch.bfloat16), and leave autocast out.";
}

static void find_single(struct sb_advisor *a, const struct sb_stage *s, const struct sb_event_row *half)
{
	struct sb_advice *f = find(a, s, estimated(sb_costs_single(a->model, s)),
		sb_say(a, "'%s' computes in fp32 beside a 16-bit model", s->name),
		"dtypes as the models were called with",
		sb_say(a,
			"the weights of '%s' are float32, those of '%s' are %s: its products do not use the "
			"tensor cores' 16-bit rate",
			s->name, sb_asked_text(half, "component"), sb_asked_text(half, "dtype")),
		SB_LIKELY);

	if (!f)
		return;
	if (is(f->priority, "high")) /* some models are kept in fp32 on purpose */
		f->priority = sb_priority_name(SB_PRIORITY_MEDIUM);
	f->suggestion = "Load it in 16 bits: torch_dtype=torch.bfloat16, or .to(torch.bfloat16) once; some "
			"VAEs need fp32: compare the output.";
}

#define DOUBLE_COSTS \
	0.5 /* of its time, at least: a float64 is twice as many bytes, and half as many fit into a register */

/* The model that the i-th event describes, if that is the last word on it and its weights are float64. */
static const struct sb_stage *double_model(const struct sb_model *model, size_t i)
{
	const struct sb_event_row *e = &model->events.rows[i];
	const char *component = sb_asked_text(e, "component");

	if (!is(e->name, "torch.asked") || !component || !is(sb_asked_text(e, "dtype"), "float64") ||
		sb_asked_last(model, "torch.asked", "component", component) != e)
		return NULL;
	return stage_of(model, component);
}

static void find_double(struct sb_advisor *a, const struct sb_event_row *e, const struct sb_stage *s)
{
	const char *component = sb_asked_text(e, "component");
	bool on_gpu = is(sb_asked_text(e, "device"), "cuda");
	double cost_s = fmin(
		       DOUBLE_COSTS * (on_gpu ? sb_weigh_gpu_s(s) : s->covered_s), sb_weigh_work_s(a->model)),
	       percent = sb_weigh_percent(a->model, cost_s);
	struct sb_advice *f;

	if (!(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, cost_s, sb_say(a, "'%s' computes in float64", s->name),
		sb_say(a, "read from its weights when it was called; its %lld calls take %s",
			(long long)sb_stage_calls(s), sb_say_seconds(a, s->covered_s)));
	sb_finding_cause(
		f, sb_say(a, "the weights of '%s' are float64", component), SB_GAIN_ESTIMATED, SB_CERTAIN);
	if (!f)
		return;
	f->stage = f->where.stage = s->name;
	f->where.module = component;
	f->suggestion = on_gpu ? sb_say(a,
					 "Convert it once: %s.to(torch.bfloat16), or torch_dtype= where it "
					 "is loaded.",
					 component)
			       : sb_say(a,
					 "Convert it once: %s.float(), or torch_dtype=torch.float32 where it "
					 "is loaded.",
					 component);
	sb_weigh_priority(a, f);
}

/* With a trace of the GPU its kernels say it. */
static bool find_doubles(struct sb_advisor *a)
{
	bool found = false;

	for (size_t i = 0; i < a->model->events.count; i++) {
		const struct sb_stage *s = double_model(a->model, i);

		found |= s != NULL;
		if (s && !(sb_weigh_traced(a->model) &&
				 is(sb_asked_text(&a->model->events.rows[i], "device"), "cuda")))
			find_double(a, &a->model->events.rows[i], s);
	}
	return found;
}

/* ---- float64 by the GPU's own counters ----------------------------------------- */

#define DOUBLES_LEAST 0.002 /* of the time of the SMs: a program without float64 reads nothing at all */
#define OTHERS_MOST 0.01 /* that other processes keep the GPU busy: the counters are the whole GPU's */

/* The time of the FP64 pipes over that of the SMs, in the warm generation that has least of it; 0: none, or not read. */
static double least_doubles(const struct sb_model *model)
{
	const struct sb_generations_panel *g = &model->generations;
	double least = INFINITY;

	if (sb_weigh_others(model) > OTHERS_MOST)
		return 0;
	for (size_t i = sb_weigh_leaves_first_out(model) ? 1 : 0; i < g->count; i++) {
		const double *percent = g->all[i].counters.percent;

		if (g->all[i].counters.covered_s > 0 && percent[SB_COUNTER_SM] > 0)
			least = fmin(least, percent[SB_COUNTER_FP64] / percent[SB_COUNTER_SM]);
	}
	return isfinite(least) ? least : 0;
}

/* A reading is longer than most stages: the one that takes most of the GPU's time is likeliest. */
static const struct sb_stage *longest_on_gpu(const struct sb_model *model)
{
	const struct sb_stage *longest = NULL;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->side_by_side && s->in_generation && s->gpu_span_count &&
			(!longest || sb_weigh_gpu_s(s) > sb_weigh_gpu_s(longest)))
			longest = s;
	}
	return longest;
}

static void find_doubles_outside(struct sb_advisor *a)
{
	const struct sb_stage *s = longest_on_gpu(a->model);
	double ratio = least_doubles(a->model);
	struct sb_advice *f;

	if (sb_weigh_traced(a->model) || !s || !(ratio >= DOUBLES_LEAST))
		return;
	f = find(a, s, unknown, "the GPU computes in float64",
		sb_say(a,
			"its FP64 units worked in every warm generation, at least %.1f %% as long as its "
			"SMs; a program without float64 hardly uses them",
			ratio * 100),
		sb_say(a,
			"a tensor of 64 bits has got in: a numpy array, a Python constant, torch.float64 "
			"left from a scheduler; where, the counters do not tell: most of the GPU's time is "
			"in '%s'",
			s->name),
		SB_POSSIBLE);
	if (!f)
		return;
	if (is(f->priority, "high")) /* it may be a small part of what the GPU does */
		f->priority = sb_priority_name(SB_PRIORITY_MEDIUM);
	f->where.stage = s->name;
	f->suggestion = "Give it a dtype where it is made (torch.tensor(x, dtype=latents.dtype)), or "
			".to(latents.dtype) before it meets other tensors.";
}

void sb_untraced_precision(struct sb_advisor *a)
{
	const struct sb_event_row *half = half_model(a->model);

	if (!find_doubles(a))
		find_doubles_outside(a);
	for (size_t i = 0; !sb_weigh_traced(a->model) && i < a->model->events.count; i++) {
		const struct sb_event_row *e = model_at(a->model, i);
		const struct sb_stage *s = e && is(sb_asked_text(e, "dtype"), "float32") &&
							   !sb_asked_text(e, "quantised")
						   ? stage_of(a->model, sb_asked_text(e, "component"))
						   : NULL;
		const char *autocast = sb_asked_text(e, "autocast");

		if (s && autocast)
			find_cast(a, s, autocast, sb_asked_number(e, "cast_count"));
		else if (s && half)
			find_single(a, s, half);
	}
}
