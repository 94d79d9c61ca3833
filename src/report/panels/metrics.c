/* gpu_metrics, cpu_metrics, disk_metrics: what the monitors sampled. */
#include "report/panels/panel.h"

#include "base/memory_units.h"

#include <math.h>
#include <string.h>

#define BUSY_DIFFERS 0.02 /* of the mean: less is its rounding */

/* ---- text --------------------------------------------------------------- */

static void row(struct sb_buf *out, const struct sb_series *s, const char *column, const char *words,
	const char *unit, int decimals)
{
	const struct sb_series_column *c = sb_series_column_find(s, column);

	if (c)
		sb_buf_printf(out, "    %-24s %10.*f %10.*f %10.*f  %s\n", words, decimals, c->stats.min,
			decimals, c->stats.mean, decimals, c->stats.max, unit);
}

/* Below a row: the mean without the time in which it had nothing to do, where that is another. */
static void busy_row(struct sb_buf *out, const struct sb_series *s, const char *column, double mean,
	const char *unit, int decimals)
{
	const struct sb_series_column *c = sb_series_column_find(s, column);

	if (c && sb_series_column_find(s, "utilization_percent") &&
		fabs(mean - c->stats.mean) >= BUSY_DIFFERS * c->stats.mean)
		sb_buf_printf(out, "    %-24s %10s %10.*f %10s  %s\n", "  while it worked", "", decimals,
			mean, "", unit);
}

/* In the unit in which the highest has digits. */
static void traffic_row(struct sb_buf *out, const struct sb_series *s, const char *column, const char *words)
{
	const struct sb_series_column *c = sb_series_column_find(s, column);
	double max = c ? c->stats.max : 0, scale = max >= 0.9995 ? 1 : max >= 0.0009995 ? 1e3 : 1e6;
	int decimals = scale > 1 ? 1 : 3;

	if (c)
		sb_buf_printf(out, "    %-24s %10.*f %10.*f %10.*f  %s\n", words, decimals,
			c->stats.min * scale, decimals, c->stats.mean * scale, decimals, max * scale,
			scale == 1     ? "GB/s"
			: scale == 1e3 ? "MB/s"
				       : "kB/s");
}

/* Samples may miss a short peak, and see what strobe took at the end: the highest is what the memory panel has. */
static void rss_row(struct sb_buf *out, const struct sb_series *process, double peak_bytes)
{
	const struct sb_series_column *c = sb_series_column_find(process, "rss_mb");

	if (c)
		sb_buf_printf(out, "    %-24s %10.1f %10.1f %10.1f  MB\n", "RAM of this run (RSS)",
			c->stats.min, c->stats.mean, isnan(peak_bytes) ? c->stats.max : peak_bytes / SB_MB);
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
	if (d->others_utilization_percent.max > 0)
		row(out, s, "others_utilization_percent", "of it by other programs", "%", 1);
	row(out, s, "memory_utilization_percent", "memory utilisation", "%", 1);
	row(out, s, "temperature_c", "temperature", "°C", 0);
	row(out, s, "power_w", "power", "W", 1);
	busy_row(out, s, "power_w", d->busy_power_mean_w, "W", 1);
	row(out, s, "sm_clock_mhz", "SM clock", "MHz", 0);
	busy_row(out, s, "sm_clock_mhz", d->busy_clock_mean_mhz, "MHz", 0);
	row(out, s, "memory_clock_mhz", "memory clock", "MHz", 0);
	row(out, s, "encoder_percent", "encoder", "%", 1);
	row(out, s, "decoder_percent", "decoder", "%", 1);
	traffic_row(out, s, "pcie_rx_gb_per_s", "PCIe to the GPU");
	traffic_row(out, s, "pcie_tx_gb_per_s", "PCIe from the GPU");
	traffic_row(out, s, "nvlink_rx_gb_per_s", "NVLink to the GPU");
	traffic_row(out, s, "nvlink_tx_gb_per_s", "NVLink from the GPU");
	row(out, d->counters, "sm_active_percent", "SMs active", "%", 1);
	row(out, d->counters, "occupancy_percent", "SM occupancy", "%", 1);
	row(out, d->counters, "tensor_active_percent", "tensor cores", "%", 1);
	row(out, d->counters, "tensor_float_percent", "of it floats", "%", 1);
	row(out, d->counters, "tensor_integer_percent", "of it integers", "%", 1);
	row(out, d->counters, "fp32_active_percent", "FP32 pipes", "%", 1);
	row(out, d->counters, "fp64_active_percent", "FP64 pipes", "%", 1);
	row(out, d->counters, "dram_active_percent", "DRAM bandwidth", "%", 1);
	row(out, d->counters, "nvdec_active_percent", "video decoder (NVDEC)", "%", 1);
	if (!isnan(d->energy_wh)) /* two digits of a short run's, too */
		sb_buf_printf(out, "    %-24s %32.*f  Wh\n", "energy",
			d->energy_wh >= 0.0995 || d->energy_wh <= 0 ? 2 : 5, d->energy_wh);
	if (!isnan(d->cost))
		sb_buf_printf(out, "    %-24s %32.4f\n", "cost (gpu_cost_per_hour)", d->cost);
	if (d->throttled_ratio > 0)
		sb_buf_printf(out, "    throttled in %.1f %% of the samples in which it worked: %s\n",
			d->throttled_ratio * 100, d->throttle_reasons[0]);
	if (d->capped_ratio > 0)
		sb_buf_printf(out, "    at its power limit in %.1f %% of the samples in which it worked\n",
			d->capped_ratio * 100);
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
	if (cpu || memory || process || psi || model->disk.present)
		sb_buf_puts(out, "  Machine\n");
	row(out, cpu, "usage_percent", "CPU", "%", 1);
	row(out, cpu, "process_percent", "CPU of this run", "% of a core", 1);
	row(out, cpu, "frequency_mhz", "CPU frequency", "MHz", 0);
	row(out, cpu, "load1_count", "load (1 min)", "", 2);
	row(out, memory, "used_mb", "RAM used", "MB", 1);
	rss_row(out, process, model->memory.rss_peak_bytes);
	row(out, memory, "swap_used_mb", "swap used", "MB", 1);
	row(out, memory, "page_cache_mb", "page cache", "MB", 1);
	row(out, psi, "cpu_percent", "waiting for CPU", "% of time", 1);
	row(out, psi, "memory_percent", "waiting for memory", "% of time", 1);
	row(out, psi, "io_percent", "waiting for disk", "% of time", 1);
	if (!model->disk.present)
		return;
	traffic_row(out, &model->disk.series, "read_gb_per_s", "disk read");
	traffic_row(out, &model->disk.series, "write_gb_per_s", "disk write");
	traffic_row(out, &model->disk.series, "machine_read_gb_per_s", "disk read, machine");
	traffic_row(out, &model->disk.series, "machine_write_gb_per_s", "disk write, machine");
}

const struct sb_panel sb_panel_metrics = {
	.name = "metrics",
	.text = metrics_text,
};
