/* Pressure stall information: the share of time in which something waited for
 * CPU, memory or disk, from the kernel's running totals. */
#include "monitor/source.h"

#include "monitor/procfile.h"
#include "monitor/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 3 };
static const struct sb_column columns[KINDS] = {
	{ "cpu_percent", SB_MERGE_MEAN },
	{ "memory_percent", SB_MERGE_MEAN },
	{ "io_percent", SB_MERGE_MEAN },
};
static const char *const names[KINDS] = { "pressure/cpu", "pressure/memory", "pressure/io" };

static struct {
	struct sb_samples series;
	struct sb_procfile files[KINDS];
	double total_us[KINDS];
	uint64_t mono_ns;
} pressure;

static bool wanted(const struct sb_settings *s)
{
	return s->monitor_cpu_usage;
}

/* "some avg10=… avg60=… avg300=… total=123" in µs. */
static double read_total_us(int kind)
{
	char text[256];
	const char *total;

	if (sb_procfile_read_proc(&pressure.files[kind], names[kind], text, sizeof text) <= 0)
		return NAN;
	total = strncmp(text, "some", 4) ? NULL : strstr(text, "total=");
	return total ? strtod(total + 6, NULL) : NAN;
}

static void start(const struct sb_settings *settings)
{
	memset(&pressure, 0, sizeof pressure);
	for (int i = 0; i < KINDS; i++)
		pressure.total_us[i] = read_total_us(i);
	if (isnan(pressure.total_us[0])) {
		sb_samples_missing("pressure (PSI)", "the kernel does not offer /proc/pressure",
			"boot with psi=1, or a kernel with CONFIG_PSI");
		return;
	}
	sb_samples_open(&pressure.series, "psi", -1, columns, KINDS, settings->max_data_points);
}

static void sample(const struct sb_tick *tick)
{
	double v[KINDS], elapsed_us = (double)(tick->mono_ns - pressure.mono_ns) / 1000;

	if (!pressure.series.open)
		return;
	for (int i = 0; i < KINDS; i++) {
		double total_us = read_total_us(i);

		v[i] = NAN;
		if (pressure.mono_ns && elapsed_us > 0)
			v[i] = fmin(100, 100 * (total_us - pressure.total_us[i]) / elapsed_us);
		pressure.total_us[i] = total_us;
	}
	if (pressure.mono_ns)
		sb_samples_push(&pressure.series, tick->ticks, v);
	pressure.mono_ns = tick->mono_ns;
}

static void finish(const struct sb_tick *tick)
{
	sb_samples_close(&pressure.series, tick->ticks);
	for (int i = 0; i < KINDS; i++)
		sb_procfile_close(&pressure.files[i]);
}

const struct sb_source sb_source_pressure = { "pressure", wanted, start, sample, finish };
