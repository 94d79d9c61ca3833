/* Rules about models, precision and layers. */
#include "advise/rule.h"

#include <string.h>

void sb_rule_parameters_many(struct sb_advisor *a)
{
	const struct sb_model_panel *m = &a->model->models;

	for (size_t i = 0; i < m->model_count; i++) {
		const struct sb_model_entry *entry = &m->models[i];
		char size[16];
		struct sb_advice *f;

		if (!((double)entry->parameters > a->limit))
			continue;
		sb_parameters_text(entry->parameters, size);
		f = sb_advisor_find(a, (double)entry->parameters, NAN,
			sb_say(a, "'%s' has %s parameters", entry->name, size),
			entry->bytes > 0
				? sb_say(a, "%lld parameters in %.1f MB (%s)", (long long)entry->parameters,
					  entry->bytes / 1048576, entry->type ? entry->type : "type unknown")
				: sb_say(a, "%lld parameters (%s)", (long long)entry->parameters,
					  entry->type ? entry->type : "type unknown"));
		if (f)
			f->stage = entry->name;
	}
}

/* A model that already runs in that precision gains nothing. */
static bool in_use(const struct sb_model_panel *m, const char *variant)
{
	for (size_t i = 0; i < m->model_count; i++) {
		if (m->models[i].type && strcasestr(m->models[i].type, variant))
			return true;
	}
	return false;
}

void sb_rule_precision_gain(struct sb_advisor *a)
{
	const struct sb_model_panel *m = &a->model->models;
	const struct sb_variant *best = NULL;
	double steps_s = a->model->diffusion.step.count ? a->model->diffusion.steps_s : NAN;

	for (size_t i = 1; i < m->variant_count; i++) {
		if (m->variants[i].speedup > a->limit && !in_use(m, m->variants[i].name) &&
			(!best || m->variants[i].speedup > best->speedup))
			best = &m->variants[i];
	}
	if (!best)
		return;
	sb_advisor_find(a, best->speedup, steps_s * (1 - 1 / best->speedup),
		sb_say(a, "%s is %.2f times as fast as %s", best->name, best->speedup, m->variants[0].name),
		sb_say(a, "%.2f ms against %.2f ms: %s", best->time.mean * 1e3,
			m->variants[0].time.mean * 1e3, best->reading));
}

/* ---- layers ------------------------------------------------------------- */

static double component_percent(const struct sb_model *model, const char *name)
{
	for (size_t i = 0; i < model->models.component_count; i++) {
		if (strcmp(model->models.components[i].name, name) == 0)
			return model->models.components[i].ratio * 100;
	}
	return NAN;
}

/* "Transformer (24 blocks)": what they take together is for blocks_dominate. */
static bool is_row_of_blocks(const struct sb_layer *layer)
{
	return layer->stands_for > 1 && !strcmp(layer->component, "blocks");
}

void sb_rule_layer_dominates(struct sb_advisor *a)
{
	const struct sb_model_panel *m = &a->model->models;

	for (size_t i = 0; i < m->layer_count; i++) {
		const struct sb_layer *layer = &m->layers[i];
		struct sb_advice *f;

		if (!(layer->ratio * 100 > a->limit) || is_row_of_blocks(layer))
			continue;
		f = sb_advisor_find(a, layer->ratio * 100, NAN,
			sb_say(a, "layer '%s' takes %.1f %% of the model", layer->name, layer->ratio * 100),
			sb_say(a, "%s of %s in %lld calls", sb_say_seconds(a, layer->total_s),
				sb_say_seconds(a, m->layers_total_s), (long long)layer->count));
		if (f) {
			f->stage = layer->name;
			f->rank_s = layer->total_s * 0.1;
		}
	}
}

/* Blocks without attention are not a transformer's. */
static bool has_attention(const struct sb_model_panel *m)
{
	for (size_t i = 0; i < m->layer_count; i++)
		if (m->layers[i].attention)
			return true;
	return false;
}

void sb_rule_blocks_dominate(struct sb_advisor *a)
{
	double percent = component_percent(a->model, "blocks");

	if (percent >= a->limit)
		sb_advisor_find(a, percent, NAN,
			sb_say(a, "%s take %.1f %% of the model",
				has_attention(&a->model->models) ? "transformer blocks" : "its blocks",
				percent),
			sb_say(a, "%lld block%s, %.2f ms each", (long long)a->model->models.block_count,
				a->model->models.block_count == 1 ? "" : "s",
				a->model->models.block_mean_s * 1e3));
}

void sb_rule_block_variance(struct sb_advisor *a)
{
	const struct sb_model_panel *m = &a->model->models;

	if (m->block_count > 1 && m->block_std_s * 1e3 > a->limit)
		sb_advisor_find(a, m->block_std_s * 1e3, NAN,
			sb_say(a, "equal blocks differ by %.2f ms (standard deviation)",
				m->block_std_s * 1e3),
			sb_say(a, "%lld blocks, mean %.2f ms, sample deviation %.2f ms",
				(long long)m->block_count, m->block_mean_s * 1e3, m->block_std_s * 1e3));
}

void sb_rule_patch_embedding(struct sb_advisor *a)
{
	double percent = component_percent(a->model, "patch_embed");

	if (percent > a->limit)
		sb_advisor_find(a, percent, NAN,
			sb_say(a, "the patch embedding takes %.1f %% of the model", percent),
			sb_say(a, "%.3f s of %.3f s", percent / 100 * a->model->models.layers_total_s,
				a->model->models.layers_total_s));
}

static double traced_attention_s(const struct sb_gpu_panel *gpu)
{
	double sum_s = 0;

	for (size_t i = 0; gpu->present && i < gpu->attention_count; i++)
		sum_s += gpu->attention[i].total_s;
	return sum_s;
}

void sb_rule_attention(struct sb_advisor *a)
{
	const struct sb_gpu_panel *gpu = &a->model->gpu;
	double traced = gpu->present && gpu->kernel_total_s > 0
				? traced_attention_s(gpu) / gpu->kernel_total_s * 100
				: NAN;
	double layers = a->model->models.attention_ratio * 100;

	if (traced >= a->limit)
		sb_advisor_find(a, traced, NAN,
			sb_say(a, "attention takes %.1f %% of the kernel time", traced),
			sb_say(a, "%.3f s of %.3f s", traced_attention_s(gpu), gpu->kernel_total_s));
	else if (isnan(traced) && layers >= a->limit)
		sb_advisor_find(a, layers, NAN, sb_say(a, "attention takes %.1f %% of the model", layers),
			sb_say(a, "%.3f s of %.3f s", layers / 100 * a->model->models.layers_total_s,
				a->model->models.layers_total_s));
}
