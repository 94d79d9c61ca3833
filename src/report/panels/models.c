/* model_analysis: parameters, layers, variants. */
#include "report/panels/panel.h"

#include "report/label.h"
#include "base/memory_units.h"

#include <string.h>

/* ---- text --------------------------------------------------------------- */

/* One unit for the whole table: a clip of a fast model takes milliseconds. */
static void layers_text(const struct sb_model_panel *m, struct sb_buf *out)
{
	bool short_ones = m->layers_total_s < 1;
	double unit = short_ones ? 1e3 : 1;

	if (!m->layer_count)
		return;
	sb_buf_printf(out, "  Layers (%s), total %.*f %s\n",
		m->layers_on_gpu     ? "GPU span"
		: !m->summed_blocks  ? "CPU time"
		: m->layers_timed_on ? strcmp(m->layers_timed_on, "gpu") ? "as printed, on the CPU"
									 : "as printed, on the GPU"
				     : "as printed",
		short_ones ? 2 : 3, m->layers_total_s * unit, short_ones ? "ms" : "s");
	if (m->component_count)
		sb_buf_printf(
			out, "    %-20s %6s %12s %8s\n", "part of the model", "layers", "time", "share");
	for (size_t i = 0; i < m->component_count; i++)
		sb_label_printf(out, "    %-20s %6lld %*.*f %s %6.1f %%\n", m->components[i].name,
			(long long)m->components[i].layers, short_ones ? 9 : 10, short_ones ? 2 : 3,
			m->components[i].total_s * unit, short_ones ? "ms" : "s",
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

#define OPERATORS_SHOWN 10

static void operators_text(const struct sb_model_panel *m, struct sb_buf *out)
{
	if (!m->operator_count)
		return;
	sb_buf_printf(out, "  %-38s %8s %12s %12s %8s\n", "Operators of one profiled call", "calls",
		"self CPU", "CPU", "share");
	for (size_t i = 0; i < m->operator_count && i < OPERATORS_SHOWN; i++) {
		const struct sb_operator *o = &m->operators[i];
		size_t used = 2;

		sb_buf_puts(out, "    ");
		for (used += sb_text_name(out, o->name, 36); used < 39; used++)
			sb_buf_putc(out, ' ');
		sb_buf_printf(out, "%8lld %9.3f ms", (long long)o->calls, o->self_s * 1e3);
		if (isnan(o->total_s))
			sb_buf_printf(out, " %12s", "-");
		else
			sb_buf_printf(out, " %9.3f ms", o->total_s * 1e3);
		if (!isnan(o->ratio))
			sb_buf_printf(out, " %6.1f %%", o->ratio * 100);
		sb_buf_putc(out, '\n');
	}
	if (m->operator_count > OPERATORS_SHOWN)
		sb_buf_printf(out, "    and %zu more (--format json has them)\n",
			m->operator_count - OPERATORS_SHOWN);
}

static void variants_text(const struct sb_model_panel *m, struct sb_buf *out)
{
	for (size_t i = 0; i < m->variant_count; i++) {
		const struct sb_variant *v = &m->variants[i];

		sb_buf_puts(out, "  ");
		sb_text_name(out, v->name, 24);
		sb_buf_printf(out, ": %.2f ms", v->time.mean * 1e3);
		if (!isnan(v->time.std))
			sb_buf_printf(out, " ± %.2f", v->time.std * 1e3);
		if (v->time.count > 1 && v->warmup_count) /* a printed mean does not say of how many */
			sb_buf_printf(out, " (%lld runs, %lld warm-up)", (long long)v->time.count,
				(long long)v->warmup_count);
		else if (v->time.count > 1)
			sb_buf_printf(out, " (%lld runs)", (long long)v->time.count);
		if (v->reading)
			sb_buf_printf(out, ", %.2f times as fast: %s", v->speedup, v->reading);
		sb_buf_putc(out, '\n');
	}
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
	if (m->device)
		sb_label_printf(out, "  on %s%s%s\n", m->device, m->gpu ? ": " : "", m->gpu ? m->gpu : "");
	layers_text(m, out);
	variants_text(m, out);
	operators_text(m, out);
}

const struct sb_panel sb_panel_models = {
	.name = "models",
	.text = models_text,
};
