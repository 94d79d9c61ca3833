/* The table of metrics: what they are called and how they read. */
#include "compare/facts.h"

#include <stdio.h>
#include <string.h>

#define TIMES_LEAST 10.0 /* from there on a factor reads better than a percentage */
#define TIMES_MOST 1e6

const struct sb_metric_info sb_metric_infos[SB_METRIC_COUNT] = {
#define SB_METRIC_INFO_(symbol, key, words, unit, sense, least, adds) \
	[SB_METRIC_##symbol] = { key, words, unit, sense, least, adds },
	SB_METRICS(SB_METRIC_INFO_)
#undef SB_METRIC_INFO_
};

int sb_metric_find(const char *name)
{
	static const struct {
		const char *name;
		enum sb_metric metric;
	} others[] = {
		{ "total", SB_METRIC_WALL },
		{ "time", SB_METRIC_WALL },
		{ "duration", SB_METRIC_WALL },
		{ "peak_memory", SB_METRIC_GPU_MEMORY_PEAK },
		{ "memory", SB_METRIC_GPU_MEMORY_PEAK },
		{ "vram", SB_METRIC_GPU_MEMORY_PEAK },
		{ "peak_vram", SB_METRIC_GPU_MEMORY_PEAK },
		{ "ram", SB_METRIC_RAM_PEAK },
		{ "peak_ram", SB_METRIC_RAM_PEAK },
		{ "throughput", SB_METRIC_FPS },
		{ "gpu_temperature", SB_METRIC_GPU_TEMPERATURE },
		{ "disk_read", SB_METRIC_DISK_READ },
		{ "disk_write", SB_METRIC_DISK_WRITE },
	};

	for (int i = 0; i < SB_METRIC_COUNT; i++) {
		const char *key = sb_metric_infos[i].key, *unit = strrchr(key, '_');

		if (!strcmp(key, name))
			return i;
		if (unit && strlen(name) == (size_t)(unit - key) && !strncmp(key, name, (size_t)(unit - key)))
			return i;
	}
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (!strcmp(others[i].name, name))
			return (int)others[i].metric;
	return -1;
}

/* Memory in steps of 1024, as nvidia-smi and torch have it; traffic in steps of 1000. */
static void scaled(double value, double step, const char *after, char *out, size_t size)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	int unit = 0;

	for (; fabs(value) >= step && unit < 4; unit++)
		value /= step;
	snprintf(out, size, "%.*f %s%s", !unit ? 0 : fabs(value) < 9.95 ? 2 : 1, value, units[unit], after);
}

static void seconds(double value, char *out, size_t size)
{
	double v = fabs(value);

	if (v == 0)
		snprintf(out, size, "0 s");
	else if (v >= 0.9995)
		snprintf(out, size, "%.2f s", value);
	else if (v >= 0.0009995)
		snprintf(out, size, "%.*f ms", v < 0.0099995 ? 2 : 1, value * 1e3);
	else if (v >= 0.9995e-6)
		snprintf(out, size, "%.1f us", value * 1e6);
	else
		snprintf(out, size, "%.0f ns", value * 1e9);
}

void sb_percent_text(double ratio, char *out, size_t size)
{
	if (fabs(ratio) >= 0.0005 || isnan(ratio))
		snprintf(out, size, "%+.1f %%", 100 * ratio);
	else
		snprintf(out, size, fabs(ratio) < 1e-9 ? "0 %%" : "< 0.1 %%");
}

void sb_change_text(double base, double now, char *out, size_t size)
{
	double ratio = now / base;

	if (!(base > 0) || isnan(now))
		snprintf(out, size, now > 0 ? "from nothing" : "-");
	else if (ratio < TIMES_LEAST)
		sb_percent_text(ratio - 1, out, size);
	else if (ratio < TIMES_MOST)
		snprintf(out, size, "x %.*f", ratio < 99.95 ? 1 : 0, ratio);
	else
		snprintf(out, size, "x %.1e", ratio);
}

bool sb_change_from_little(enum sb_metric metric, double base, double now)
{
	return base > 0 && base < sb_metric_infos[metric].least_change && now >= TIMES_LEAST * base;
}

void sb_metric_text(enum sb_metric metric, double value, char *out, size_t size)
{
	const char *unit = sb_metric_infos[metric].unit;

	if (isnan(value))
		snprintf(out, size, "n/a");
	else if (!strcmp(unit, "s"))
		seconds(value, out, size);
	else if (!strcmp(unit, "bytes"))
		scaled(value, 1024, "", out, size);
	else if (!strcmp(unit, "bytes/s"))
		scaled(value, 1000, "/s", out, size);
	else if (!strcmp(unit, "ratio"))
		snprintf(out, size, "%.1f %%", value * 100);
	else if (!*unit)
		snprintf(out, size, "%.0f", value);
	else if (value != 0 && fabs(value) < 0.0995)
		snprintf(out, size, "%.2g %s", value, unit); /* small, not nothing */
	else
		snprintf(out, size, "%.*f %s", fabs(value) < 99.95 ? 2 : 1, value, unit);
}
