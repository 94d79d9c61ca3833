/* CPU: total and per core from /proc/stat, the process tree's share, load, and
 * now and then the frequency. */
#include "monitor/source.h"

#include "monitor/procfile.h"
#include "monitor/samples.h"
#include "monitor/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MAX = 256, FREQUENCY_CORES = 8, TICKS_LEAST = 5 };
#define TREE_LEAST_NS 50000000ull
#define SECOND_NS 1000000000ull

enum { USAGE, PROCESS, FREQUENCY, LOAD1, LOAD5, LOAD15, COLUMNS };
static const struct sb_column columns[COLUMNS] = {
	[USAGE] = { "usage_percent", SB_MERGE_MEAN },
	[PROCESS] = { "process_percent", SB_MERGE_MEAN }, /* 100 is one core */
	[FREQUENCY] = { "frequency_mhz", SB_MERGE_MEAN },
	[LOAD1] = { "load1_count", SB_MERGE_LAST },
	[LOAD5] = { "load5_count", SB_MERGE_LAST },
	[LOAD15] = { "load15_count", SB_MERGE_LAST },
};

struct times {
	uint64_t busy, total;
};

static struct {
	struct sb_samples series, cores;
	struct sb_procfile stat, loadavg;
	struct times all, core[CORES_MAX];
	uint32_t core_count;
	struct sb_pace frequency;
	double frequency_mhz;
	double tree_cpu_s;
	uint64_t tree_ns;
	char *text;
	size_t text_size;
} cpu;

static bool wanted(const struct sb_settings *s)
{
	return s->monitor_cpu_usage;
}

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice": guest
 * time is in user already. */
static bool parse_times(const char *line, struct times *out)
{
	unsigned long long v[8] = { 0 };
	int n = sscanf(line + strcspn(line, " \n"), "%llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1],
		&v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);

	if (n < 4)
		return false;
	out->busy = v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
	out->total = out->busy + v[3] + v[4];
	return true;
}

/* Since the last value; the kernel counts in hundredths of a second, so too short
 * a time says nothing and is added to the next. */
static double percent(struct times *before, const struct times *now, uint32_t cores)
{
	double value = NAN;

	if (now->total < before->total + TICKS_LEAST * cores && now->total >= before->total && before->total)
		return NAN;
	if (before->total && now->total > before->total && now->busy >= before->busy)
		value = 100.0 * (double)(now->busy - before->busy) / (double)(now->total - before->total);
	*before = *now;
	return value;
}

/* Walks /proc/stat's cpu lines; values[i] is core i's. Cores can come and go:
 * a core that is absent has no line and gets NaN. */
static double read_stat(double *core_values)
{
	double usage = NAN;
	const char *line = cpu.text;

	if (sb_procfile_read_proc(&cpu.stat, "stat", cpu.text, cpu.text_size) <= 0)
		return NAN;
	for (; line && !strncmp(line, "cpu", 3); line = strchr(line, '\n'), line += line != NULL) {
		struct times now, *before = &cpu.all;
		double value;

		if (!parse_times(line, &now))
			continue;
		if (line[3] != ' ') {
			long core = strtol(line + 3, NULL, 10);

			if (core < 0 || core >= (long)cpu.core_count)
				continue;
			before = &cpu.core[core];
		}
		value = percent(before, &now, before == &cpu.all ? cpu.core_count : 1);
		if (before == &cpu.all)
			usage = value;
		else
			core_values[before - cpu.core] = value;
	}
	return usage;
}

static uint32_t count_cores(void)
{
	const char *line = cpu.text;
	uint32_t count = 0;

	if (sb_procfile_read_proc(&cpu.stat, "stat", cpu.text, cpu.text_size) <= 0)
		return 0;
	for (; line && !strncmp(line, "cpu", 3); line = strchr(line, '\n'), line += line != NULL)
		if (line[3] != ' ') {
			long core = strtol(line + 3, NULL, 10);

			if (core >= 0 && core < CORES_MAX && (uint32_t)core >= count)
				count = (uint32_t)core + 1;
		}
	return count;
}

static double frequency_from_cpuinfo(void)
{
	double sum = 0;
	uint32_t count = 0;

	if (sb_procfile_proc_text(cpu.text, cpu.text_size, "cpuinfo") <= 0)
		return NAN;
	for (const char *p = strstr(cpu.text, "\ncpu MHz"); p; p = strstr(p + 1, "\ncpu MHz")) {
		const char *colon = strchr(p, ':');

		if (!colon)
			break;
		sum += strtod(colon + 1, NULL);
		count++;
	}
	return count ? sum / count : NAN;
}

/* The mean of a few cores: asking every core wakes every core. */
static double read_frequency(void)
{
	uint32_t step = cpu.core_count > FREQUENCY_CORES ? cpu.core_count / FREQUENCY_CORES : 1;
	double sum = 0, khz;
	uint32_t count = 0;

	for (uint32_t i = 0; i < cpu.core_count && count < FREQUENCY_CORES; i += step)
		if (sb_procfile_sys_number(&khz, "devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", i)) {
			sum += khz / 1000;
			count++;
		}
	return count ? sum / count : frequency_from_cpuinfo();
}

static void open_cores(uint32_t point_limit)
{
	struct sb_column *names = calloc(CORES_MAX, sizeof *names);

	if (!names)
		return;
	for (uint32_t i = 0; i < cpu.core_count; i++) {
		snprintf(names[i].name, sizeof names[i].name, "core%u_percent", i);
		names[i].merge = SB_MERGE_MEAN;
	}
	sb_samples_open(&cpu.cores, "cpu_core", -1, names, cpu.core_count, point_limit);
	free(names);
}

static void start(const struct sb_settings *settings)
{
	double ignored[CORES_MAX];

	memset(&cpu, 0, sizeof cpu);
	cpu.text_size = 256 << 10;
	cpu.text = malloc(cpu.text_size);
	if (!cpu.text)
		return;
	cpu.core_count = count_cores();
	if (!cpu.core_count) {
		sb_samples_missing("CPU usage", "/proc/stat cannot be read", "mount /proc in this container");
		return;
	}
	cpu.frequency_mhz = NAN;
	sb_samples_open(&cpu.series, "cpu", -1, columns, COLUMNS, settings->max_data_points);
	open_cores(settings->max_data_points);
	read_stat(ignored);
}

/* Percent of one core over the time since the last sample. */
static double tree_percent(uint64_t mono_ns)
{
	struct sb_tree_totals totals;
	double value = NAN;

	sb_tree_totals(&totals);
	if (cpu.tree_ns && mono_ns < cpu.tree_ns + TREE_LEAST_NS)
		return NAN;
	if (cpu.tree_ns)
		value = 100.0 * (totals.cpu_s - cpu.tree_cpu_s) / ((double)(mono_ns - cpu.tree_ns) * 1e-9);
	cpu.tree_cpu_s = totals.cpu_s;
	cpu.tree_ns = mono_ns;
	return value;
}

static void sample(const struct sb_tick *tick)
{
	double values[COLUMNS], core_values[CORES_MAX];
	char text[128];

	if (!cpu.series.open)
		return;
	for (uint32_t i = 0; i < cpu.core_count; i++)
		core_values[i] = NAN;
	for (int i = 0; i < COLUMNS; i++)
		values[i] = NAN;
	values[USAGE] = read_stat(core_values);
	values[PROCESS] = tree_percent(tick->mono_ns);
	if (sb_procfile_read_proc(&cpu.loadavg, "loadavg", text, sizeof text) > 0)
		sscanf(text, "%lf %lf %lf", &values[LOAD1], &values[LOAD5], &values[LOAD15]);
	if (sb_pace_due(&cpu.frequency, tick->mono_ns)) {
		uint64_t start_ns = sb_mono_ns();

		cpu.frequency_mhz = read_frequency();
		sb_pace_done(&cpu.frequency, tick->mono_ns, sb_mono_ns() - start_ns, 2 * SECOND_NS);
	}
	values[FREQUENCY] = cpu.frequency_mhz;
	sb_samples_push(&cpu.series, tick->ticks, values);
	sb_samples_push(&cpu.cores, tick->ticks, core_values);
}

static void finish(const struct sb_tick *tick)
{
	sb_samples_close(&cpu.series, tick->ticks);
	sb_samples_close(&cpu.cores, tick->ticks);
	sb_procfile_close(&cpu.stat);
	sb_procfile_close(&cpu.loadavg);
	free(cpu.text);
	cpu.text = NULL;
}

const struct sb_source sb_source_cpu = { "cpu", wanted, start, sample, finish };
