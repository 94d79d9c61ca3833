/* Rules about settings that the program asked for and that did not run. */
#include "advise/asked.h"

#include "advise/weigh.h"

#include <stdio.h>
#include <string.h>

#define STEPS_LEAST 4 /* caches let the first steps pass */
#define RAN_LEAST 0.1 /* of the traced attention: the backend that was asked for runs */

static const struct sb_pair *attr_of(const struct sb_event_row *e, const char *key)
{
	for (size_t i = 0; e && i < e->attr_count; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return &e->attrs[i];
	return NULL;
}

const char *sb_asked_text(const struct sb_event_row *event, const char *key)
{
	const struct sb_pair *p = attr_of(event, key);

	return p && p->type == STROBE_TYPE_STRING ? p->s : NULL;
}

double sb_asked_number(const struct sb_event_row *event, const char *key)
{
	const struct sb_pair *p = attr_of(event, key);

	if (!p)
		return NAN;
	return p->type == STROBE_TYPE_INT ? (double)p->i : p->type == STROBE_TYPE_FLOAT ? p->f : NAN;
}

const struct sb_event_row *sb_asked_last(
	const struct sb_model *model, const char *name, const char *key, const char *text)
{
	for (size_t i = model->events.count; i > 0; i--) {
		const struct sb_event_row *e = &model->events.rows[i - 1];
		const char *value = strcmp(e->name, name) == 0 ? sb_asked_text(e, key) : NULL;

		if (value && strcmp(value, text) == 0)
			return e;
	}
	return NULL;
}

/* The latest model that asked for this setting ("cache", "attention", "compiled"); NULL: none did. */
static const struct sb_event_row *asked_for(const struct sb_model *model, const char *setting)
{
	for (size_t i = model->events.count; i > 0; i--) {
		const struct sb_event_row *e = &model->events.rows[i - 1];

		if (strcmp(e->name, "torch.asked") == 0 && attr_of(e, setting))
			return e;
	}
	return NULL;
}

static const char *component_of(const struct sb_event_row *e)
{
	const char *name = sb_asked_text(e, "component");

	return name ? name : "model";
}

/* ---- the keys and values of the tokens before ----------------------------------------- */

#define UNCACHED_COSTS \
	0.5 /* of the decoding, to rank by: what is left with a cache depends on the model and the length */

static void find_uncached(struct sb_advisor *a)
{
	const struct sb_event_row *e = NULL;
	const struct sb_stage *decode = sb_model_stage(a->model, "decode");
	struct sb_advice *f;

	for (size_t i = 0; i < a->model->events.count; i++)
		if (strcmp(a->model->events.rows[i].name, "transformers.uncached") == 0)
			e = &a->model->events.rows[i];
	if (!e || !decode || !(sb_asked_number(e, "decode_count") >= a->limit))
		return;
	f = sb_advisor_find(a, sb_asked_number(e, "decode_count"), NAN,
		sb_say(a, "'%s' computes the whole text again for every token", component_of(e)),
		sb_say(a,
			"in its first answer %.0f calls took %.0f tokens each on average, where one would "
			"do; 'decode' takes %s",
			sb_asked_number(e, "decode_count"), sb_asked_number(e, "token_count"),
			sb_say_seconds(a, decode->covered_s)));
	sb_finding_cause(f,
		sb_say(a, "generate() of '%s' runs without its key-value cache: use_cache=False",
			component_of(e)),
		SB_GAIN_ESTIMATED, SB_CERTAIN);
	if (!f)
		return;
	f->stage = decode->name;
	f->rank_s = UNCACHED_COSTS * decode->covered_s;
	f->suggestion =
		"generate(..., use_cache=True), and model.config.use_cache = True: training and gradient "
		"checkpointing switch it off.";
	sb_weigh_priority(a, f);
}

/* ---- a cache ------------------------------------------------------------------- */

void sb_asked_cache(struct sb_advisor *a)
{
	const struct sb_event_row *e = asked_for(a->model, "cache");
	const struct sb_diffusion_panel *d = &a->model->diffusion;
	const struct sb_pair *threshold = attr_of(e, "threshold");
	const char *cache = sb_asked_text(e, "cache");
	struct sb_advice *f;

	find_uncached(a);
	/* only what skips whole blocks is seen in the steps: those caches have a threshold */
	if (!cache || !threshold || d->cached_steps > 0 || d->step.count < STEPS_LEAST ||
		(double)d->step.count < a->limit)
		return;
	f = sb_advisor_find(a, (double)d->step.count, NAN, sb_say(a, "the %s never serves a step", cache),
		sb_say(a, "it is set on '%s'; none of %lld steps skipped its blocks", component_of(e),
			(long long)d->step.count));
	sb_finding_cause(f,
		sb_say(a, "the %s on '%s' with threshold %.4g: no step comes below it", cache,
			component_of(e), threshold->f),
		SB_GAIN_ESTIMATED, SB_LIKELY);
	if (!f)
		return;
	f->stage = f->where.stage = component_of(e);
	f->rank_s = d->steps_s * 0.3; /* what step caches save where they serve */
	f->priority = sb_priority_name(SB_PRIORITY_MEDIUM);
	f->suggestion = "Raise its threshold (or lower what it skips at the start) until steps are served, "
			"and look at the result; or take the cache out: asking it costs time too.";
}

/* ---- compilation and attention --------------------------------------------------- */

static bool compiles(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (model->stages.stages[i].role == STROBE_ROLE_COMPILE)
			return true;
	return false;
}

static bool was_called(const struct sb_model *model, const char *component)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (strcmp(model->stages.stages[i].name, component) == 0 && model->stages.stages[i].count > 0)
			return true;
	return false;
}

static void find_not_compiled(struct sb_advisor *a)
{
	const struct sb_event_row *e = asked_for(a->model, "compiled");
	struct sb_advice *f;

	if (!e || compiles(a->model) || !was_called(a->model, component_of(e)))
		return;
	f = sb_advisor_find(a, 1, NAN,
		sb_say(a, "'%s' was to be compiled and runs uncompiled", component_of(e)),
		sb_say(a,
			"torch.compile was asked for; it was called, and nothing was compiled in this run"));
	sb_finding_cause(f,
		"torch's compiler is switched off (TORCHDYNAMO_DISABLE, TORCH_COMPILE_DISABLE, "
		"torch._dynamo.config.disable), or what is called is not what was compiled",
		SB_GAIN_ESTIMATED, SB_LIKELY);
	if (!f)
		return;
	f->stage = f->where.stage = component_of(e);
	f->rank_s = a->model->diffusion.steps_s * 0.1;
}

/* How much of the traced attention ran in a kernel of this kind. */
static double ran_s(const struct sb_model *model, const char *word)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->gpu.attention_count; i++)
		if (!word || strcasestr(model->gpu.attention[i].name, word))
			sum_s += model->gpu.attention[i].total_s;
	return sum_s;
}

/* "flash", "_flash_3_hub", "sage", "_native_efficient": what a kernel of it must be called. */
static const char *family_of(const char *backend)
{
	static const char *const families[] = { "flash", "sage", "cudnn", "xformers", "efficient", "math" };

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (strcasestr(backend, families[i]))
			return families[i];
	return NULL;
}

static void find_other_attention(struct sb_advisor *a)
{
	const struct sb_event_row *e = asked_for(a->model, "attention");
	const char *backend = sb_asked_text(e, "attention"), *family = backend ? family_of(backend) : NULL;
	const struct sb_gpu_row *largest = a->model->gpu.attention_count ? a->model->gpu.attention : NULL;
	struct sb_advice *f;

	/* a part of it may run elsewhere: in a text encoder, before the first step */
	if (!family || !largest || !(ran_s(a->model, NULL) > 0) ||
		ran_s(a->model, family) >= RAN_LEAST * ran_s(a->model, NULL))
		return;
	f = sb_advisor_find(a, 1, NAN,
		sb_say(a, "'%s' asks for the attention backend '%s', and another one runs", component_of(e),
			backend),
		sb_say(a, "%.0f %% of the traced attention is '%s'",
			largest->total_s / ran_s(a->model, NULL) * 100, largest->name));
	sb_finding_cause(f,
		sb_say(a,
			"the backend '%s' was set on '%s'; its kernels hardly appear in the trace, '%s' does",
			backend, component_of(e), largest->name),
		SB_GAIN_ESTIMATED, SB_CERTAIN);
	if (!f)
		return;
	f->stage = f->where.stage = component_of(e);
	f->where.kernel = largest->name;
	f->rank_s = ran_s(a->model, NULL);
}

#define HELD_LEAST 4 /* times: fewer may be one layer's */

/* Whether sdpa_kernel() left attention in this model a backend of the family. */
static bool was_left(const struct sb_model *model, const char *component, const char *family)
{
	for (size_t i = 0; i < model->events.count; i++) {
		const struct sb_event_row *e = &model->events.rows[i];
		const char *backends = strcmp(e->name, "torch.attention") == 0 ? sb_asked_text(e, "backends")
									       : NULL;
		const char *model_name = sb_asked_text(e, "component");

		if (backends && strstr(backends, family) && model_name && strcmp(model_name, component) == 0)
			return true;
	}
	return false;
}

/* Without a trace: the backend that was set, beside the one that sdpa_kernel() leaves inside the same model. */
static void find_held_attention(struct sb_advisor *a)
{
	const struct sb_event_row *e = asked_for(a->model, "attention"),
				  *held = sb_asked_last(
					  a->model, "torch.attention", "component", component_of(e));
	const char *backend = sb_asked_text(e, "attention"), *family = backend ? family_of(backend) : NULL,
		   *left = sb_asked_text(held, "backends"), *file = sb_asked_text(held, "file");
	uint32_t line = (uint32_t)fmax(0, sb_asked_number(held, "line"));
	struct sb_advice *f;

	if (sb_weigh_traced(a->model) || !family || !left || !file ||
		!(sb_asked_number(held, "count") >= HELD_LEAST) ||
		was_left(a->model, component_of(e), family))
		return;
	f = sb_advisor_find(a, 1, NAN,
		sb_say(a, "'%s' asks for the attention backend '%s', and is held to another", component_of(e),
			backend),
		sb_say(a, "sdpa_kernel() inside it left '%s' alone, %.0f times or more", left,
			sb_asked_number(held, "count")));
	sb_finding_cause(f,
		sb_say(a, "the backend '%s' was set on '%s'; %s:%u holds its attention to '%s'", backend,
			component_of(e), strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, left),
		SB_GAIN_ESTIMATED, SB_CERTAIN);
	if (!f)
		return;
	f->stage = f->where.stage = component_of(e);
	sb_finding_line(f, file, line);
	f->rank_s = a->model->diffusion.steps_s * 0.1;
}

void sb_rule_asked_not_ran(struct sb_advisor *a)
{
	find_not_compiled(a);
	find_other_attention(a);
	find_held_attention(a);
}

/* ---- versions -------------------------------------------------------------------- */

#define CUDNN(major, minor) ((major)*10000 + (minor)*100)

/* Combinations that are known to be slow, each with where that is written. Versions as (from, below). */
static const struct known {
	const char *from, *below; /* of torch */
	int64_t cudnn_below; /* 0: any */
	const char *words, *source;
} known[] = {
#define SB_KNOWN(from, below, cudnn_below, words, source) { from, below, cudnn_below, words, source },
#include "advise/known_versions.def"
#undef SB_KNOWN
};

/* -1, 0, 1, by the numbers alone: "2.9.1+cu128" is 2.9.1. */
static int compare_versions(const char *a, const char *b)
{
	unsigned x[3] = { 0 }, y[3] = { 0 };

	sscanf(a, "%u.%u.%u", &x[0], &x[1], &x[2]);
	sscanf(b, "%u.%u.%u", &y[0], &y[1], &y[2]);
	for (int i = 0; i < 3; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static const struct sb_event_row *versions_of(const struct sb_model *model)
{
	for (size_t i = model->events.count; i > 0; i--)
		if (strcmp(model->events.rows[i - 1].name, "torch.versions") == 0)
			return &model->events.rows[i - 1];
	return NULL;
}

/* A model with 3D convolutions in 16 bits on a GPU. */
static const struct sb_event_row *half_convolutions(const struct sb_model *model)
{
	for (size_t i = model->events.count; i > 0; i--) {
		const struct sb_event_row *e = &model->events.rows[i - 1];
		const char *dtype, *device, *convolution;

		if (strcmp(e->name, "torch.asked") != 0)
			continue;
		dtype = sb_asked_text(e, "dtype");
		device = sb_asked_text(e, "device");
		convolution = sb_asked_text(e, "convolution");
		if (dtype && device && convolution && strstr(convolution, "Conv3d") &&
			strcmp(device, "cuda") == 0 &&
			(strcmp(dtype, "bfloat16") == 0 || strcmp(dtype, "float16") == 0))
			return e;
	}
	return NULL;
}

static const struct known *known_of(const struct sb_model *model)
{
	const struct sb_event_row *e = versions_of(model);
	const struct sb_pair *cudnn = attr_of(e, "cudnn");
	const char *torch = sb_asked_text(e, "torch");

	for (size_t i = 0; torch && i < sizeof known / sizeof *known; i++)
		if (compare_versions(torch, known[i].from) >= 0 &&
			compare_versions(torch, known[i].below) < 0 &&
			(!known[i].cudnn_below || (cudnn && cudnn->i > 0 && cudnn->i < known[i].cudnn_below)))
			return &known[i];
	return NULL;
}

const char *sb_known_version(struct sb_advisor *a)
{
	const struct known *k = half_convolutions(a->model) ? known_of(a->model) : NULL;

	return k ? sb_say(a, "%s (%s)", k->words, k->source) : NULL;
}

/* The trace shows what it costs: fallback_conv says it, with the version as the cause. */
static bool shows_fallback(const struct sb_model *model)
{
	static const char *const words[] = { "vol2col", "im2col", "slow_conv" };

	for (size_t i = 0; i < model->gpu.top_kernel_count; i++)
		for (size_t k = 0; k < sizeof words / sizeof *words; k++)
			if (strcasestr(model->gpu.top_kernels[i].name, words[k]))
				return true;
	return false;
}

void sb_rule_known_version(struct sb_advisor *a)
{
	const struct sb_event_row *e = half_convolutions(a->model), *versions = versions_of(a->model);
	const struct known *k = e ? known_of(a->model) : NULL;
	const struct sb_pair *cudnn = attr_of(versions, "cudnn");
	const char *torch = sb_asked_text(versions, "torch"), *dtype = sb_asked_text(e, "dtype");
	struct sb_advice *f;

	if (!k || !torch || !dtype || shows_fallback(a->model))
		return;
	f = sb_advisor_find(a, 1, NAN,
		sb_say(a, "torch %s is known to be slow with what '%s' computes", torch, component_of(e)),
		sb_say(a, "'%s' has 3D convolutions in %s; torch %s, cuDNN %lld", component_of(e), dtype,
			torch, (long long)(cudnn ? cudnn->i : 0)));
	sb_finding_cause(f, sb_say(a, "%s. Source: %s", k->words, k->source), SB_GAIN_ESTIMATED, SB_LIKELY);
	if (!f)
		return;
	f->stage = f->where.stage = component_of(e);
	if (!sb_weigh_traced(a->model))
		return;
	f->priority = sb_priority_name(SB_PRIORITY_LOW);
	f->confidence = "possible";
	f->suggestion = "Update torch, or cuDNN from its own package.";
	f->evidence = sb_say(a, "%s; none of the traced kernels is the slow fallback", f->evidence);
}
