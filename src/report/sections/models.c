/* model_analysis: parameters, layers, variants. */
#include "report/sections/section.h"

#include "base/memory_units.h"

#define SLOWEST 5

/* ---- JSON --------------------------------------------------------------- */

static void models_list_json(const struct sb_model_section *m, struct sb_json *j)
{
	if (!m->model_count)
		return;
	sb_json_int(j, "parameter_count", m->total_parameters);
	sb_json_array_begin(j, "models");
	for (size_t i = 0; i < m->model_count; i++) {
		const struct sb_model_entry *entry = &m->models[i];
		char size[16];

		sb_parameters_text(entry->parameters, size);
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", entry->name);
		sb_json_opt_string(j, "type", entry->type);
		sb_json_int(j, "parameter_count", entry->parameters);
		sb_json_string(j, "parameters", size);
		if (!isnan(entry->bytes))
			sb_json_fixed(j, "size_mb", entry->bytes / SB_MB, 1);
		sb_json_opt(j, "step_flops", entry->flops_per_step);
		sb_json_opt(j, "reached_tflops", entry->tflops_reached);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void layer_json(const struct sb_layer *layer, struct sb_json *j)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", layer->name);
	sb_json_string(j, "component", layer->component);
	sb_json_int(j, "count", layer->count);
	sb_json_double(j, "total_s", layer->total_s);
	sb_json_double(j, "mean_s", layer->total_s / (double)layer->count);
	sb_json_opt(j, "std_s", layer->time.std);
	sb_json_opt(j, "gpu_span_s", layer->gpu_span_s);
	sb_json_opt(j, "model_ratio", layer->ratio);
	if (layer->nested)
		sb_json_bool(j, "nested", true);
	sb_json_object_end(j);
}

static void layers_json(const struct sb_model_section *m, struct sb_json *j)
{
	size_t shown = 0;

	if (!m->layer_count)
		return;
	sb_json_object_begin(j, "layers");
	sb_json_double(j, "total_s", m->layers_total_s);
	sb_json_string(j, "timed_on", m->layers_on_gpu ? "gpu" : "cpu");
	sb_json_opt(j, "block_mean_s", m->block_mean_s);
	sb_json_opt(j, "block_std_s", m->block_std_s);
	sb_json_int(j, "block_count", m->block_count);
	sb_json_opt(j, "attention_ratio", m->attention_ratio);
	sb_json_array_begin(j, "components");
	for (size_t i = 0; i < m->component_count; i++) {
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", m->components[i].name);
		sb_json_int(j, "layer_count", m->components[i].layers);
		sb_json_double(j, "total_s", m->components[i].total_s);
		sb_json_opt(j, "model_ratio", m->components[i].ratio);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	sb_json_array_begin(j, "slowest");
	for (size_t i = 0; i < m->layer_count && shown < SLOWEST; i++) {
		if (m->block_count ? !m->layers[i].block : m->layers[i].nested)
			continue;
		layer_json(&m->layers[i], j);
		shown++;
	}
	sb_json_array_end(j);
	sb_json_array_begin(j, "items");
	for (size_t i = 0; i < m->layer_count; i++)
		layer_json(&m->layers[i], j);
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void variants_json(const struct sb_model_section *m, struct sb_json *j)
{
	if (!m->variant_count)
		return;
	sb_json_array_begin(j, "variants");
	for (size_t i = 0; i < m->variant_count; i++) {
		const struct sb_variant *v = &m->variants[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", v->name);
		sb_json_int(j, "count", v->time.count);
		sb_json_int(j, "warmup_count", v->warmup_count);
		sb_json_double(j, "mean_s", v->time.mean);
		sb_json_opt(j, "std_s", v->time.std);
		sb_json_opt(j, "speedup_ratio", v->speedup);
		sb_json_opt_string(j, "reading", v->reading);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void models_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_model_section *m = &model->models;

	if (!m->present)
		return;
	sb_json_object_begin(j, "model_analysis");
	models_list_json(m, j);
	layers_json(m, j);
	variants_json(m, j);
	sb_json_object_end(j);
}

/* ---- text --------------------------------------------------------------- */

static void layers_text(const struct sb_model_section *m, struct sb_buf *out)
{
	size_t shown = 0;

	if (!m->layer_count)
		return;
	sb_buf_printf(out, "  Layers (%s), total %.3f s\n", m->layers_on_gpu ? "GPU span" : "CPU time",
		m->layers_total_s);
	for (size_t i = 0; i < m->component_count; i++)
		sb_buf_printf(out, "    %-20s %6lld layer%s %10.3f s %6.1f %%\n", m->components[i].name,
			(long long)m->components[i].layers, m->components[i].layers == 1 ? " " : "s",
			m->components[i].total_s, m->components[i].ratio * 100);
	if (m->block_count > 1)
		sb_buf_printf(out, "    per block %.2f ms ± %.2f (sample deviation over %lld blocks)\n",
			m->block_mean_s * 1e3, m->block_std_s * 1e3, (long long)m->block_count);
	sb_buf_puts(out, "    slowest:");
	for (size_t i = 0; i < m->layer_count && shown < SLOWEST; i++) {
		if (m->block_count ? !m->layers[i].block : m->layers[i].nested)
			continue;
		sb_buf_puts(out, shown % 2 == 0 && shown ? ",\n             " : shown ? ", " : " ");
		sb_text_name(out, m->layers[i].name, 20);
		sb_buf_printf(out, " %.2f ms", m->layers[i].total_s / (double)m->layers[i].count * 1e3);
		shown++;
	}
	sb_buf_putc(out, '\n');
}

static void models_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_model_section *m = &model->models;

	if (!m->present)
		return;
	sb_text_heading(out, options, "Models");
	for (size_t i = 0; i < m->model_count; i++) {
		const struct sb_model_entry *entry = &m->models[i];
		char size[16];

		sb_parameters_text(entry->parameters, size);
		sb_buf_puts(out, "  ");
		sb_text_name(out, entry->name, 30);
		sb_buf_printf(out, ": %s parameters (%lld)", size, (long long)entry->parameters);
		if (entry->type) {
			sb_buf_puts(out, ", ");
			sb_text_name(out, entry->type, 20);
		}
		if (!isnan(entry->bytes))
			sb_buf_printf(out, ", %.1f MB", entry->bytes / SB_MB);
		sb_buf_putc(out, '\n');
		if (!isnan(entry->tflops_reached))
			sb_buf_printf(out, "    %.2f TFLOP per step, %.1f TFLOP/s reached\n",
				entry->flops_per_step / 1e12, entry->tflops_reached);
	}
	layers_text(m, out);
	for (size_t i = 0; i < m->variant_count; i++) {
		const struct sb_variant *v = &m->variants[i];

		sb_buf_puts(out, "  ");
		sb_text_name(out, v->name, 24);
		sb_buf_printf(out, ": %.2f ms", v->time.mean * 1e3);
		if (!isnan(v->time.std))
			sb_buf_printf(out, " ± %.2f", v->time.std * 1e3);
		sb_buf_printf(out, " (%lld runs, %lld warm-up)", (long long)v->time.count,
			(long long)v->warmup_count);
		if (v->reading)
			sb_buf_printf(out, ", %.2f times as fast: %s", v->speedup, v->reading);
		sb_buf_putc(out, '\n');
	}
}

const struct sb_section sb_section_models = {
	.name = "models",
	.json = models_json,
	.text = models_text,
};
