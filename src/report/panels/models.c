/* model_analysis: parameters, layers, variants. */
#include "report/panels/panel.h"

#include "base/memory_units.h"

/* ---- text --------------------------------------------------------------- */

static void layers_text(const struct sb_model_panel *m, struct sb_buf *out)
{
	if (!m->layer_count)
		return;
	sb_buf_printf(out, "  Layers (%s), total %.3f s\n",
		m->layers_on_gpu   ? "GPU span"
		: m->summed_blocks ? "as printed"
				   : "CPU time",
		m->layers_total_s);
	if (m->component_count)
		sb_buf_printf(
			out, "    %-20s %6s %12s %8s\n", "part of the model", "layers", "time", "share");
	for (size_t i = 0; i < m->component_count; i++)
		sb_buf_printf(out, "    %-20s %6lld %10.3f s %6.1f %%\n", m->components[i].name,
			(long long)m->components[i].layers, m->components[i].total_s,
			m->components[i].ratio * 100);
	if (m->block_count > 1)
		sb_buf_printf(out, "    per block %.2f ms ± %.2f (sample deviation over %lld blocks)\n",
			m->block_mean_s * 1e3, m->block_std_s * 1e3, (long long)m->block_count);
	if (!m->slowest_count)
		return;
	sb_buf_puts(out, "    slowest:");
	for (size_t i = 0; i < m->slowest_count; i++) {
		sb_buf_puts(out, i % 2 == 0 && i ? ",\n             " : i ? ", " : " ");
		sb_text_name(out, m->slowest[i].name, 20);
		sb_buf_printf(out, " %.2f ms", m->slowest[i].mean_s * 1e3);
	}
	sb_buf_putc(out, '\n');
}

static void models_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_model_panel *m = &model->models;

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
		if (v->time.count > 1) /* a printed mean does not say of how many */
			sb_buf_printf(out, " (%lld runs, %lld warm-up)", (long long)v->time.count,
				(long long)v->warmup_count);
		if (v->reading)
			sb_buf_printf(out, ", %.2f times as fast: %s", v->speedup, v->reading);
		sb_buf_putc(out, '\n');
	}
}

const struct sb_panel sb_panel_models = {
	.name = "models",
	.text = models_text,
};
