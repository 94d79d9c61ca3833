/* The machine as sampled: GPUs that were throttled, used, paid for; the disk's
 * rates. */
#include "analyze/machine/system.h"

#include "analyze/sampled.h"
#include "base/throttle.h"
#include "run/setting.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#define BUSY_PERCENT 10 /* utilisation of a sample that says something about clocks */

static double column_max(const struct sb_series *s, const char *name)
{
	const struct sb_series_column *c = sb_series_column_find(s, name);

	return c ? c->stats.max : NAN;
}

/* Where nothing tells which GPUs are the run's: unless it is known that it did nothing. A text may have its memory alone. */
static bool may_be_used(const struct sb_model *model, const struct sb_series *s)
{
	double utilization = column_max(s, "utilization_percent"),
	       memory = column_max(s, "process_memory_mb");

	if (!sb_device_is_of_run(&model->devices.touched, s->device))
		return false;
	return sb_devices_of_zone(&model->devices.touched, 0) || utilization > 0 || memory > 0 ||
	       (isnan(utilization) && isnan(memory));
}

static bool is_busy(const struct sb_series_column *utilization, size_t i)
{
	return !utilization || !(utilization->values[i] < BUSY_PERCENT);
}

/* The mean and the highest of a column while it worked. */
static void take_busy(const struct sb_series *s, const char *column, double *out_mean, double *out_max)
{
	const struct sb_series_column *utilization = sb_series_column_find(s, "utilization_percent"),
				      *c = sb_series_column_find(s, column);
	double sum = 0, count = 0;

	*out_mean = *out_max = NAN;
	for (size_t i = 0; c && i < s->count; i++) {
		double value = c->values[i];

		if (isnan(value) || !is_busy(utilization, i))
			continue;
		sum += value;
		count++;
		*out_max = fmax(*out_max, value);
	}
	if (count > 0)
		*out_mean = sum / count;
}

/* Clocks and power fall when there is nothing to do: those of idle times say nothing. */
static void take_busy_columns(const struct sb_series *s, struct sb_device *device)
{
	double max;

	take_busy(s, "sm_clock_mhz", &device->busy_clock_mean_mhz, &device->busy_clock_max_mhz);
	take_busy(s, "power_w", &device->busy_power_mean_w, &max);
}

static void list_reasons(uint64_t seen, struct sb_model *model, struct sb_device *device)
{
	device->throttle_reasons = sb_model_alloc(
		model, SB_THROTTLE_REASONS * sizeof *device->throttle_reasons);
	for (size_t k = 0; device->throttle_reasons && k < SB_THROTTLE_REASONS; k++)
		if (seen & sb_throttle_reasons[k].bit && sb_throttle_reasons[k].fault)
			device->throttle_reasons[device->throttle_reason_count++] =
				sb_throttle_reasons[k].words;
}

static void take_throttling(const struct sb_series *s, struct sb_model *model, struct sb_device *device)
{
	const struct sb_series_column *c = sb_series_column_find(s, "throttle_bits_count"),
				      *utilization = sb_series_column_find(s, "utilization_percent");
	uint64_t seen = 0, faults = 0, limits = 0;
	size_t held = 0, capped = 0, known = 0;

	for (size_t k = 0; k < SB_THROTTLE_REASONS; k++)
		*(sb_throttle_reasons[k].fault ? &faults : &limits) |= sb_throttle_reasons[k].bit;
	device->throttled_ratio = device->capped_ratio = NAN;
	for (size_t i = 0; c && i < s->count; i++) {
		uint64_t bits;

		if (!(c->values[i] >= 0 && c->values[i] < 9e15) || !is_busy(utilization, i))
			continue;
		known++;
		bits = (uint64_t)c->values[i];
		held += (bits & faults) != 0;
		capped += (bits & limits) != 0;
		seen |= bits;
	}
	if (!known)
		return;
	device->throttled_ratio = (double)held / (double)known;
	device->capped_ratio = (double)capped / (double)known;
	list_reasons(seen, model, device);
}

static const char *device_fact(struct sb_model *model, const struct sb_run *run, int index, const char *what)
{
	const struct sb_run_meta *meta;
	char key[48];

	snprintf(key, sizeof key, "gpu%d.%s", index, what);
	meta = sb_run_meta_find(run, SB_META_SYSTEM, key);
	return meta && meta->attr.type == STROBE_TYPE_STRING ? sb_model_text(model, meta->attr.s) : NULL;
}

static struct sb_stats column_stats(const struct sb_series *s, const char *name)
{
	const struct sb_series_column *c = sb_series_column_find(s, name);

	return c ? c->stats : SB_STATS_NONE;
}

static void take_columns(const struct sb_series *s, struct sb_device *d)
{
	d->series = s;
	d->sample_count = (int64_t)s->recorded_count;
	d->memory_total_mb = column_stats(s, "memory_total_mb").last;
	d->memory_used_mb = column_stats(s, "memory_used_mb");
	d->utilization_percent = column_stats(s, "utilization_percent");
	d->memory_utilization_percent = column_stats(s, "memory_utilization_percent");
	d->temperature_c = column_stats(s, "temperature_c");
	d->power_w = column_stats(s, "power_w");
	d->sm_clock_mhz = column_stats(s, "sm_clock_mhz");
	d->memory_clock_mhz = column_stats(s, "memory_clock_mhz");
	d->encoder_percent = column_stats(s, "encoder_percent");
	d->decoder_percent = column_stats(s, "decoder_percent");
	d->pcie_tx_gb_per_s = column_stats(s, "pcie_tx_gb_per_s");
	d->pcie_rx_gb_per_s = column_stats(s, "pcie_rx_gb_per_s");
	d->nvlink_tx_gb_per_s = column_stats(s, "nvlink_tx_gb_per_s");
	d->nvlink_rx_gb_per_s = column_stats(s, "nvlink_rx_gb_per_s");
	d->process_memory_mb = column_stats(s, "process_memory_mb");
	d->other_processes = column_stats(s, "other_process_count");
	d->others_utilization_percent = column_stats(s, "others_utilization_percent");
}

static void list_devices(struct sb_model *model, const struct sb_run *run)
{
	struct sb_devices_panel *panel = &model->devices;
	double per_hour = sb_run_setting_number(run, "gpu_cost_per_hour");

	panel->all = sb_model_alloc(model, (model->series_count + 1) * sizeof *panel->all);
	for (size_t i = 0; panel->all && i < model->series_count; i++) {
		struct sb_series *s = &model->series[i];
		struct sb_device *device = &panel->all[panel->count];
		const struct sb_series_column *total, *power;

		if (strcmp(s->source, "gpu") != 0 || !s->count)
			continue;
		panel->count++;
		total = sb_series_column_find(s, "energy_j");
		power = sb_series_column_find(s, "power_w");
		device->index = s->device;
		device->name = device_fact(model, run, s->device, "name");
		device->uuid = device_fact(model, run, s->device, "uuid");
		device->used = may_be_used(model, s);
		device->energy_wh = total   ? (total->stats.last - total->first) / 3600
				    : power ? power->integral / 3600
					    : NAN;
		device->cost = per_hour > 0 ? model->stages.wall_s / 3600 * per_hour : NAN;
		s->device_name = device->name;
		take_columns(s, device);
		device->counters = sb_model_series(model, "gpu_counters", s->device);
		device->sampled = sb_model_series(model, "gpu_pm", s->device);
		take_throttling(s, model, device);
		take_busy_columns(s, device);
	}
}

/* The driver's numbers of the run are means of all samples, also beside its counters, whose first reading comes later. */
static void take_counted_mean(struct sb_model *model)
{
	struct sb_gpu_counters *c = &model->gpu_counters;
	const struct sb_series *s = sb_model_series(model, "gpu", model->counted_device);

	if (c->source != sb_counter_source_names[SB_COUNTED_GPM])
		return;
	for (int i = 0; i < SB_BESIDES; i++) {
		double mean = s ? column_stats(s, sb_gpu_beside_columns[i]).mean : NAN;

		c->beside[i] = isnan(mean) ? c->beside[i] : mean;
	}
}

/* ---- the CPU, and sources of other kinds -------------------------------- */

static void take_cpu(struct sb_model *model)
{
	struct sb_cpu_panel *c = &model->cpu;

	c->series = sb_model_series(model, "cpu", -2);
	c->cores = sb_model_series(model, "cpu_core", -2);
	c->process = sb_model_series(model, "process", -2);
	c->pressure = sb_model_series(model, "psi", -2);
	c->sample_count = c->series ? (int64_t)c->series->recorded_count : -1;
	c->core_count = c->cores ? (int64_t)c->cores->column_count : -1;
	c->usage_percent = column_stats(c->series, "usage_percent");
	c->process_percent = column_stats(c->series, "process_percent");
	c->frequency_mhz = column_stats(c->series, "frequency_mhz");
	c->load1 = column_stats(c->series, "load1_count");
	c->rss_mb = column_stats(c->process, "rss_mb");
	c->pss_mb = column_stats(c->process, "pss_mb");
	c->processes = column_stats(c->process, "process_count");
	c->threads = column_stats(c->process, "thread_count");
}

static bool has_home(const char *source)
{
	static const char *const homes[] = { "gpu", "gpu_counters", "cpu", "cpu_core", "process", "psi",
		"memory", "disk" };

	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
		if (strcmp(source, homes[i]) == 0)
			return true;
	}
	return false;
}

/* Sampled counters are their device's, where a monitor saw that device. */
static bool is_of_device(const struct sb_model *model, const struct sb_series *s)
{
	return !strcmp(s->source, "gpu_pm") && sb_model_series(model, "gpu", s->device);
}

static void list_others(struct sb_model *model)
{
	struct sb_other_panel *o = &model->others;

	o->all = sb_model_alloc(model, (model->series_count + 1) * sizeof *o->all);
	for (size_t i = 0; o->all && i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];

		if (!has_home(s->source) && !is_of_device(model, s) && s->count)
			o->all[o->count++] = (struct sb_other){ s->source, s->device,
				(int64_t)s->recorded_count, s };
	}
}

/* ---- disk --------------------------------------------------------------- */

static double gained(const struct sb_series *s, const char *name)
{
	const struct sb_series_column *c = sb_series_column_find(s, name);

	return c ? c->stats.last - c->first : NAN;
}

static int fill_rates(const struct sb_series *s, struct sb_model *model, size_t points)
{
	static const char *const totals[] = { "read_bytes", "write_bytes", "machine_read_bytes",
		"machine_write_bytes" };
	static const char *const rates[] = { "read_gb_per_s", "write_gb_per_s", "machine_read_gb_per_s",
		"machine_write_gb_per_s" };
	const struct sb_series_column *c[4];
	struct sb_sampled rows;
	int err = sb_sampled_init(&rows, rates, 4, points);

	for (size_t k = 0; k < 4; k++)
		c[k] = sb_series_column_find(s, totals[k]);
	for (size_t i = 1; !err && i < s->count; i++) {
		double interval_s = s->t_s[i] - s->t_s[i - 1], row[4];

		if (!(interval_s > 0))
			continue;
		for (size_t k = 0; k < 4; k++)
			row[k] = c[k] ? (c[k]->values[i] - c[k]->values[i - 1]) / interval_s / 1e9 : NAN;
		err = sb_sampled_add(&rows, s->t_s[i], row);
	}
	if (!err)
		err = sb_sampled_store(&rows, model, &model->disk.series);
	sb_sampled_done(&rows);
	return err;
}

static int take_disk(struct sb_model *model, const struct sb_run *run)
{
	const struct sb_series *s = sb_model_series(model, "disk", -2);
	struct sb_disk_panel *disk = &model->disk;
	double span_s;
	int err;

	disk->read_bytes = disk->write_bytes = disk->machine_read_bytes = disk->machine_write_bytes = NAN;
	disk->read_gb_per_s = disk->write_gb_per_s = disk->read_max_gb_per_s = disk->write_max_gb_per_s = NAN;
	if (!s || s->count < 2)
		return 0;
	err = fill_rates(s, model, sb_model_points(model, run));
	span_s = s->t_s[s->count - 1] - s->t_s[0];
	disk->present = true;
	disk->read_bytes = gained(s, "read_bytes");
	disk->write_bytes = gained(s, "write_bytes");
	disk->machine_read_bytes = gained(s, "machine_read_bytes");
	disk->machine_write_bytes = gained(s, "machine_write_bytes");
	disk->read_gb_per_s = disk->read_bytes / span_s / 1e9;
	disk->write_gb_per_s = disk->write_bytes / span_s / 1e9;
	disk->read_max_gb_per_s = column_max(&disk->series, "read_gb_per_s");
	disk->write_max_gb_per_s = column_max(&disk->series, "write_gb_per_s");
	return err;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	int err;

	list_devices(model, run);
	take_counted_mean(model);
	take_cpu(model);
	list_others(model);
	err = take_disk(model, run);
	if (!err)
		sb_charts_choose(model);
	return model->failed ? sb_fail(STROBE_ENOMEM, "no memory for the machine's samples") : err;
}

const struct sb_analysis sb_analysis_system = {
	.name = "system",
	.finish = finish,
};
