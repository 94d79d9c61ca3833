/* gpu_metrics, cpu_metrics, disk_metrics: what the monitors sampled. */
#include "report/sections/section.h"
#include "report/sections/series_json.h"

#include <string.h>

static const char *const usual[] = { "min", "mean", "max", NULL };
static const char *const mean_max[] = { "mean", "max", NULL };
static const char *const top[] = { "max", NULL };

/* ---- JSON --------------------------------------------------------------- */

static const struct {
	const char *column;
	const char *const *words;
} gpu_columns[] = {
	{ "memory_used_mb", usual },
	{ "utilization_percent", usual },
	{ "memory_utilization_percent", mean_max },
	{ "temperature_c", mean_max },
	{ "power_w", mean_max },
	{ "sm_clock_mhz", usual },
	{ "memory_clock_mhz", mean_max },
	{ "encoder_percent", mean_max },
	{ "decoder_percent", mean_max },
	{ "pcie_tx_gb_per_s", mean_max },
	{ "pcie_rx_gb_per_s", mean_max },
	{ "nvlink_tx_gb_per_s", mean_max },
	{ "nvlink_rx_gb_per_s", mean_max },
	{ "process_memory_mb", mean_max },
	{ "other_process_count", top },
};

static void device_json(const struct sb_device *d, const struct sb_series *s, struct sb_json *j)
{
	const struct sb_series_column *total = sb_series_column_find(s, "memory_total_mb");

	sb_json_object_begin(j, NULL);
	sb_json_int(j, "index", d->index);
	sb_json_opt_string(j, "name", d->name);
	sb_json_opt_string(j, "uuid", d->uuid);
	sb_json_bool(j, "used", d->used);
	sb_json_uint(j, "sample_count", s->recorded_count);
	if (total)
		sb_json_opt(j, "memory_total_mb", total->stats.last);
	for (size_t i = 0; i < sizeof gpu_columns / sizeof *gpu_columns; i++)
		sb_json_column(j, s, gpu_columns[i].column, gpu_columns[i].words);
	sb_json_opt(j, "energy_wh", d->energy_wh);
	sb_json_opt(j, "gpu_cost", d->cost);
	sb_json_opt(j, "throttled_ratio", d->throttled_ratio);
	if (d->throttle_reason_count) {
		sb_json_array_begin(j, "throttle_reasons");
		for (size_t i = 0; i < d->throttle_reason_count; i++)
			sb_json_string(j, NULL, d->throttle_reasons[i]);
		sb_json_array_end(j);
	}
	sb_json_series(j, "series", s);
	sb_json_object_end(j);
}

static void gpu_json(const struct sb_model *model, struct sb_json *j)
{
	if (!model->devices.count)
		return;
	sb_json_object_begin(j, "gpu_metrics");
	sb_json_uint(j, "device_count", model->devices.count);
	sb_json_opt(j, "energy_wh", model->summary.run_energy_wh);
	sb_json_opt(j, "gpu_cost", model->summary.run_cost);
	sb_json_array_begin(j, "devices");
	for (size_t i = 0; i < model->devices.count; i++)
		device_json(&model->devices.all[i],
			sb_model_series(model, "gpu", model->devices.all[i].index), j);
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void cpu_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_series *cpu = sb_model_series(model, "cpu", -2),
			       *cores = sb_model_series(model, "cpu_core", -2);
	const struct sb_series *process = sb_model_series(model, "process", -2),
			       *psi = sb_model_series(model, "psi", -2);

	if (!cpu && !cores && !process && !psi)
		return;
	sb_json_object_begin(j, "cpu_metrics");
	if (cpu) {
		sb_json_uint(j, "sample_count", cpu->recorded_count);
		sb_json_column(j, cpu, "usage_percent", usual);
		sb_json_column(j, cpu, "process_percent", mean_max);
		sb_json_column(j, cpu, "frequency_mhz", mean_max);
		sb_json_column(j, cpu, "load1_count", mean_max);
		sb_json_series(j, "series", cpu);
	}
	if (cores) {
		sb_json_uint(j, "core_count", cores->column_count);
		sb_json_series(j, "cores", cores);
	}
	sb_json_column(j, process, "rss_mb", mean_max);
	sb_json_column(j, process, "pss_mb", mean_max);
	sb_json_column(j, process, "process_count", top);
	sb_json_column(j, process, "thread_count", top);
	sb_json_series(j, "process", process);
	sb_json_series(j, "pressure", psi);
	sb_json_object_end(j);
}

static void disk_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_disk_section *d = &model->disk;

	if (!d->present)
		return;
	sb_json_object_begin(j, "disk_metrics");
	sb_json_opt(j, "read_bytes", d->read_bytes);
	sb_json_opt(j, "write_bytes", d->write_bytes);
	sb_json_opt(j, "machine_read_bytes", d->machine_read_bytes);
	sb_json_opt(j, "machine_write_bytes", d->machine_write_bytes);
	sb_json_opt(j, "read_mean_gb_per_s", d->read_gb_per_s);
	sb_json_opt(j, "write_mean_gb_per_s", d->write_gb_per_s);
	sb_json_opt(j, "read_max_gb_per_s", d->read_max_gb_per_s);
	sb_json_opt(j, "write_max_gb_per_s", d->write_max_gb_per_s);
	sb_json_series(j, "series", &d->series);
	sb_json_object_end(j);
}

static bool has_home(const char *source)
{
	static const char *const homes[] = { "gpu", "cpu", "cpu_core", "process", "psi", "memory", "disk" };

	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
		if (strcmp(source, homes[i]) == 0)
			return true;
	}
	return false;
}

/* Sources nobody has thought of yet. */
static void other_json(const struct sb_model *model, struct sb_json *j)
{
	bool open = false;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];

		if (has_home(s->source) || !s->count)
			continue;
		if (!open)
			sb_json_array_begin(j, "other_metrics");
		open = true;
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "source", s->source);
		if (s->device >= 0)
			sb_json_int(j, "device_index", s->device);
		sb_json_uint(j, "sample_count", s->recorded_count);
		sb_json_series(j, "series", s);
		sb_json_object_end(j);
	}
	if (open)
		sb_json_array_end(j);
}

static void metrics_json(const struct sb_model *model, struct sb_json *j)
{
	gpu_json(model, j);
	cpu_json(model, j);
	disk_json(model, j);
	other_json(model, j);
}

/* ---- text --------------------------------------------------------------- */

static void row(struct sb_buf *out, const struct sb_series *s, const char *column, const char *words,
	const char *unit, int decimals)
{
	const struct sb_series_column *c = sb_series_column_find(s, column);

	if (c)
		sb_buf_printf(out, "    %-24s %10.*f %10.*f %10.*f  %s\n", words, decimals, c->stats.min,
			decimals, c->stats.mean, decimals, c->stats.max, unit);
}

static void device_text(const struct sb_model *model, const struct sb_device *d, struct sb_buf *out)
{
	const struct sb_series *s = sb_model_series(model, "gpu", d->index);
	const struct sb_series_column *total = sb_series_column_find(s, "memory_total_mb");

	sb_buf_printf(out, "  GPU %d", d->index);
	if (d->name) {
		sb_buf_putc(out, ' ');
		sb_text_name(out, d->name, 40);
	}
	if (total)
		sb_buf_printf(out, ", %.1f MB", total->stats.last);
	sb_buf_printf(out, "%s\n", d->used ? "" : " (not used)");
	row(out, s, "memory_used_mb", "memory used", "MB", 1);
	row(out, s, "process_memory_mb", "of it this run's", "MB", 1);
	row(out, s, "utilization_percent", "utilisation", "%", 1);
	row(out, s, "memory_utilization_percent", "memory utilisation", "%", 1);
	row(out, s, "temperature_c", "temperature", "°C", 0);
	row(out, s, "power_w", "power", "W", 1);
	row(out, s, "sm_clock_mhz", "SM clock", "MHz", 0);
	row(out, s, "memory_clock_mhz", "memory clock", "MHz", 0);
	row(out, s, "encoder_percent", "encoder", "%", 1);
	row(out, s, "decoder_percent", "decoder", "%", 1);
	row(out, s, "pcie_rx_gb_per_s", "PCIe to the GPU", "GB/s", 3);
	row(out, s, "pcie_tx_gb_per_s", "PCIe from the GPU", "GB/s", 3);
	row(out, s, "nvlink_rx_gb_per_s", "NVLink to the GPU", "GB/s", 3);
	row(out, s, "nvlink_tx_gb_per_s", "NVLink from the GPU", "GB/s", 3);
	if (!isnan(d->energy_wh))
		sb_buf_printf(out, "    %-24s %32.2f  Wh\n", "energy", d->energy_wh);
	if (!isnan(d->cost))
		sb_buf_printf(out, "    %-24s %32.4f\n", "cost (gpu_cost_per_hour)", d->cost);
	if (d->throttled_ratio > 0)
		sb_buf_printf(out, "    throttled in %.1f %% of the samples: %s\n", d->throttled_ratio * 100,
			d->throttle_reasons[0]);
}

static void metrics_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_series *cpu = sb_model_series(model, "cpu", -2),
			       *memory = sb_model_series(model, "memory", -2);
	const struct sb_series *process = sb_model_series(model, "process", -2),
			       *psi = sb_model_series(model, "psi", -2);

	if (!model->devices.count && !cpu && !memory && !process && !model->disk.present)
		return;
	sb_text_heading(out, options, "System");
	sb_buf_printf(out, "    %-24s %10s %10s %10s\n", "", "min", "mean", "max");
	for (size_t i = 0; i < model->devices.count; i++)
		device_text(model, &model->devices.all[i], out);
	if (cpu || memory || process || psi)
		sb_buf_puts(out, "  Machine\n");
	row(out, cpu, "usage_percent", "CPU", "%", 1);
	row(out, cpu, "process_percent", "CPU of this run", "% of a core", 1);
	row(out, cpu, "frequency_mhz", "CPU frequency", "MHz", 0);
	row(out, cpu, "load1_count", "load (1 min)", "", 2);
	row(out, memory, "used_mb", "RAM used", "MB", 1);
	row(out, process, "rss_mb", "RAM of this run (RSS)", "MB", 1);
	row(out, memory, "swap_used_mb", "swap used", "MB", 1);
	row(out, memory, "page_cache_mb", "page cache", "MB", 1);
	row(out, psi, "cpu_percent", "waiting for CPU", "% of time", 1);
	row(out, psi, "memory_percent", "waiting for memory", "% of time", 1);
	row(out, psi, "io_percent", "waiting for disk", "% of time", 1);
	if (!model->disk.present)
		return;
	row(out, &model->disk.series, "read_gb_per_s", "disk read", "GB/s", 3);
	row(out, &model->disk.series, "write_gb_per_s", "disk write", "GB/s", 3);
	row(out, &model->disk.series, "machine_read_gb_per_s", "disk read, machine", "GB/s", 3);
	row(out, &model->disk.series, "machine_write_gb_per_s", "disk write, machine", "GB/s", 3);
}

const struct sb_section sb_section_metrics = {
	.name = "metrics",
	.json = metrics_json,
	.text = metrics_text,
};
