/* The numbers of a whole run, as facts: video, resources, times. */
#include "compare/model_facts.h"

#include <string.h>

/* Of the first GPU that has it. */
static double device_stat(const struct sb_model *m, size_t offset)
{
	for (size_t i = 0; i < m->devices.count; i++) {
		double value = *(const double *)((const char *)&m->devices.all[i] + offset);

		if (!isnan(value))
			return value;
	}
	return NAN;
}
#define DEVICE(member) device_stat(m, offsetof(struct sb_device, member))

/* Columns that only grow: their rise over the time they were watched. */
static double rate_of(const struct sb_model *m, const char *source, const char *name)
{
	for (size_t i = 0; i < m->series_count; i++) {
		const struct sb_series *s = &m->series[i];
		const struct sb_series_column *c = strcmp(s->source, source) ? NULL
									     : sb_series_column_find(s, name);

		if (c && s->count > 1 && s->t_s[s->count - 1] > s->t_s[0] && c->stats.count > 1)
			return (c->stats.last - c->first) / (s->t_s[s->count - 1] - s->t_s[0]);
	}
	return NAN;
}

#define MB 1048576.0 /* as torch and nvidia-smi print them */

static double first_of(double a, double b)
{
	return isnan(a) ? b : a;
}

/* The run's own, else the machine's; a report that was read back has the rate alone. */
static double disk_rate(const struct sb_model *m, const char *own, const char *machine, double gb_per_s)
{
	double rate = first_of(rate_of(m, "disk", own), rate_of(m, "disk", machine));

	return m->disk.present ? first_of(rate, 1e9 * gb_per_s) : rate;
}

/* Of these, nothing was measured where it is not positive. */
static double known(double value)
{
	return value > 0 ? value : NAN;
}

static void take_video(struct sb_facts *f, const struct sb_model *m)
{
	double *metrics = f->metrics;

	metrics[SB_METRIC_FPS] = known(m->summary.fps_wall);
	metrics[SB_METRIC_FPS_COMPUTE] = known(m->summary.fps_compute);
	metrics[SB_METRIC_BPS] = known(m->summary.bps_wall);
	metrics[SB_METRIC_FRAMES] = known((double)m->summary.frames);
	metrics[SB_METRIC_STEPS] = known((double)m->summary.steps);
	metrics[SB_METRIC_FIRST_BLOCK] = known(m->summary.first_block_s);
	if (m->generations.total > 0 && !m->generations.whole_run)
		metrics[SB_METRIC_GENERATIONS] = (double)m->generations.total;
	if (!m->generations.whole_run && m->generations.time.count > 0)
		metrics[SB_METRIC_GENERATION] = m->generations.time.p50;
	if (!isnan(metrics[SB_METRIC_GENERATION]))
		f->generation_unattributed_s = m->summary.unattributed_s;
	f->steps_per_chain = m->diffusion.present ? m->diffusion.steps_per_chain : -1;
	if (m->diffusion.present && m->diffusion.step.count > 0)
		metrics[SB_METRIC_STEP] = m->diffusion.step.p50;
	if (m->diffusion.present && m->diffusion.offload_s > 0)
		metrics[SB_METRIC_OFFLOAD] = m->diffusion.offload_s;
	if (m->streaming.present)
		metrics[SB_METRIC_DROPPED] = m->streaming.dropped_ratio;
	if (m->caches.present) {
		double hits = 0, requests = 0;

		for (size_t i = 0; i < m->caches.cache_count; i++) {
			hits += (double)m->caches.caches[i].hits;
			requests += (double)(m->caches.caches[i].hits + m->caches.caches[i].misses);
		}
		metrics[SB_METRIC_CACHE_HITS] = requests > 0 ? hits / requests : NAN;
	}
}

static void take_resources(struct sb_facts *f, const struct sb_model *m)
{
	double *metrics = f->metrics;

	metrics[SB_METRIC_GPU_MEMORY_PEAK] = first_of(
		known(m->summary.gpu_peak_bytes), MB * DEVICE(memory_used_mb.max));
	metrics[SB_METRIC_GPU_MEMORY_MEAN] = MB * DEVICE(memory_used_mb.mean);
	metrics[SB_METRIC_GPU_RESERVED_PEAK] = known(m->summary.gpu_reserved_peak_bytes);
	metrics[SB_METRIC_GPU_MEMORY_TOTAL] = known(m->summary.gpu_total_bytes);
	metrics[SB_METRIC_RAM_PEAK] = first_of(
		known(m->summary.ram_peak_bytes), known(m->memory.ram_peak_bytes));
	metrics[SB_METRIC_RSS_PEAK] = first_of(
		known(m->session.peak_rss_bytes), known(m->memory.rss_peak_bytes));
	if (m->memory.present) {
		metrics[SB_METRIC_SWAP_PEAK] = m->memory.swap_peak_bytes;
		metrics[SB_METRIC_PAGE_CACHE_PEAK] = known(m->memory.page_cache_peak_bytes);
	}
	metrics[SB_METRIC_GPU_UTILIZATION] = DEVICE(utilization_percent.mean);
	metrics[SB_METRIC_GPU_TEMPERATURE] = DEVICE(temperature_c.max);
	metrics[SB_METRIC_GPU_POWER] = DEVICE(power_w.mean);
	metrics[SB_METRIC_GPU_CLOCK] = DEVICE(sm_clock_mhz.mean);
	f->gpu_busy_clock_mhz = DEVICE(busy_clock_mean_mhz);
	f->gpu_throttled_ratio = DEVICE(throttled_ratio);
	f->gpu_capped_ratio = DEVICE(capped_ratio);
	metrics[SB_METRIC_ENERGY] = known(m->summary.energy_wh);
	metrics[SB_METRIC_CPU] = m->cpu.usage_percent.mean;
	metrics[SB_METRIC_PROCESS_CPU] = m->cpu.process_percent.mean;
	metrics[SB_METRIC_DISK_READ] = disk_rate(
		m, "read_bytes", "machine_read_bytes", m->disk.read_gb_per_s);
	metrics[SB_METRIC_DISK_WRITE] = disk_rate(
		m, "write_bytes", "machine_write_bytes", m->disk.write_gb_per_s);
	if (m->gpu.present) {
		double copies = 0;

		for (size_t i = 0; i < m->gpu.copy_count; i++)
			copies += m->gpu.copies[i].total_s;
		metrics[SB_METRIC_GPU_BUSY] = m->gpu.busy_s;
		metrics[SB_METRIC_GPU_IDLE] = m->gpu.idle_s;
		metrics[SB_METRIC_COPIES] = copies;
		metrics[SB_METRIC_COMMUNICATION] = m->gpu.communication_s;
	}
}

static void take_others_cpu(struct sb_facts *f, const struct sb_cpu_panel *cpu)
{
	if (cpu->core_count > 0 && !isnan(cpu->process_percent.mean))
		f->others_cpu_ratio = fmax(0, cpu->usage_percent.mean -
						      cpu->process_percent.mean / (double)cpu->core_count) /
				      100;
}

static void take_stage_times(struct sb_facts *f, const struct sb_model *m)
{
	double collective = NAN, offload = NAN;

	f->digit_s = m->session.digit_s;
	f->metrics[SB_METRIC_WALL] = m->session.no_times ? 0 : m->stages.wall_s;
	f->metrics[SB_METRIC_UNATTRIBUTED] = m->session.no_times ? NAN : m->stages.unattributed_s;
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *s = &m->stages.stages[i];
		bool nested = s->parent >= 0 && m->stages.stages[s->parent].role == s->role;

		if (nested || s->state == SB_STAGE_SKIPPED || s->state == SB_STAGE_UNTIMED)
			continue;
		if (s->role == STROBE_ROLE_COLLECTIVE)
			collective = (isnan(collective) ? 0 : collective) + s->total_s;
		if (s->role == STROBE_ROLE_OFFLOAD)
			offload = (isnan(offload) ? 0 : offload) + s->total_s;
	}
	f->metrics[SB_METRIC_COLLECTIVE] = collective;
	if (isnan(f->metrics[SB_METRIC_OFFLOAD]))
		f->metrics[SB_METRIC_OFFLOAD] = offload;
}

void sb_facts_take_metrics(struct sb_facts *f, const struct sb_model *m)
{
	take_video(f, m);
	take_resources(f, m);
	take_others_cpu(f, &m->cpu);
	take_stage_times(f, m);
}
