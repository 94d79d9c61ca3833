/* Which samples the first screen draws: of all that monitors see, the few that most readers look for. */
#include "analyze/machine/system.h"

#include <math.h>
#include <string.h>

#define COLUMNS_MAX 2u

/* In this order. Of a chart's columns those are drawn that the series has. */
static const struct {
	const char *source;
	const char *columns[COLUMNS_MAX];
} wanted[] = {
	{ "gpu", { "utilization_percent" } },
	{ "gpu", { "process_memory_mb", "memory_used_mb" } },
	{ "cpu", { "usage_percent" } },
	{ "disk", { "read_gb_per_s", "write_gb_per_s" } },
	{ "process", { "rss_mb", "pss_mb" } },
};

/* The first GPU that did something for the run. */
static const struct sb_device *first_device(const struct sb_model *model)
{
	for (size_t i = 0; i < model->devices.count; i++)
		if (model->devices.all[i].used)
			return &model->devices.all[i];
	return model->devices.count ? &model->devices.all[0] : NULL;
}

static const struct sb_series *series_of(
	const struct sb_model *model, const char *source, const struct sb_device *gpu)
{
	if (!strcmp(source, "gpu"))
		return gpu ? gpu->series : NULL;
	if (!strcmp(source, "disk"))
		return model->disk.series.count ? &model->disk.series : NULL;
	return !strcmp(source, "cpu") ? model->cpu.series : model->cpu.process;
}

static bool has_values(const struct sb_series *s, const char *column)
{
	const struct sb_series_column *c = column ? sb_series_column_find(s, column) : NULL;

	for (size_t i = 0; c && i < s->count; i++)
		if (!isnan(c->values[i]))
			return true;
	return false;
}

void sb_first_charts_choose(struct sb_model *model)
{
	struct sb_first_charts_panel *p = &model->first_charts;
	const struct sb_device *gpu = first_device(model);

	p->all = sb_model_alloc(model, sizeof wanted / sizeof *wanted * sizeof *p->all);
	for (size_t i = 0; p->all && i < sizeof wanted / sizeof *wanted; i++) {
		const struct sb_series *s = series_of(model, wanted[i].source, gpu);
		bool of_gpu = gpu && s == gpu->series;
		struct sb_first_chart chart = { wanted[i].source, of_gpu ? gpu->index : -1, NULL, 0 };

		chart.columns = s ? sb_model_alloc(model, COLUMNS_MAX * sizeof *chart.columns) : NULL;
		for (size_t k = 0; chart.columns && k < COLUMNS_MAX; k++)
			if (has_values(s, wanted[i].columns[k]))
				chart.columns[chart.column_count++] = wanted[i].columns[k];
		if (chart.column_count)
			p->all[p->count++] = chart;
	}
}
