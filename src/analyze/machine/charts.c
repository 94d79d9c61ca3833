/* How samples are drawn: the few that most readers look for on the first screen, and the columns that do not
 * share a chart with the others of their unit. */
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

static void choose_first(struct sb_model *model)
{
	struct sb_charts_panel *p = &model->charts;
	const struct sb_device *gpu = first_device(model);

	p->first = sb_model_alloc(model, sizeof wanted / sizeof *wanted * sizeof *p->first);
	for (size_t i = 0; p->first && i < sizeof wanted / sizeof *wanted; i++) {
		const struct sb_series *s = series_of(model, wanted[i].source, gpu);
		bool of_gpu = gpu && s == gpu->series;
		struct sb_first_chart chart = { wanted[i].source, of_gpu ? gpu->index : -1, NULL, 0 };

		chart.columns = s ? sb_model_alloc(model, COLUMNS_MAX * sizeof *chart.columns) : NULL;
		for (size_t k = 0; chart.columns && k < COLUMNS_MAX; k++)
			if (has_values(s, wanted[i].columns[k]))
				chart.columns[chart.column_count++] = wanted[i].columns[k];
		if (chart.column_count)
			p->first[p->first_count++] = chart;
	}
}

/* ---- columns that stand apart -------------------------------------------- */

#define NOT_DRAWN "none"
#define OWN_CHART "own"

static const struct {
	const char *source, *column, *chart, *label;
} apart[] = {
	{ "gpu", "throttle_bits_count", NOT_DRAWN, NULL }, /* bits, no amount */
	{ "cpu", "process_percent", OWN_CHART, "of this run, % of a core" }, /* may be far beyond 100 */
};

/* A total that never changes is in the tables; one that does is far above what is used of it. */
static const char *chart_of_total(const struct sb_series_column *c)
{
	if (!strstr(c->name, "total"))
		return NULL;
	return c->stats.min == c->stats.max ? NOT_DRAWN : OWN_CHART;
}

static void add_column(struct sb_model *model, const struct sb_series *s, const struct sb_series_column *c)
{
	struct sb_charts_panel *p = &model->charts;
	struct sb_chart_column row = { s->source, s->device, c->name, chart_of_total(c), NULL };

	for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
		if (!strcmp(apart[i].source, s->source) && !strcmp(apart[i].column, c->name)) {
			row.chart = apart[i].chart;
			row.label = apart[i].label;
		}
	if (row.chart)
		p->columns[p->column_count++] = row;
}

static void set_apart(struct sb_model *model)
{
	size_t most = 0;

	for (size_t i = 0; i < model->series_count; i++)
		most += model->series[i].column_count;
	model->charts.columns = sb_model_alloc(model, (most + 1) * sizeof *model->charts.columns);
	for (size_t i = 0; model->charts.columns && i < model->series_count; i++)
		for (size_t k = 0; model->series[i].count && k < model->series[i].column_count; k++)
			add_column(model, &model->series[i], &model->series[i].columns[k]);
}

void sb_charts_choose(struct sb_model *model)
{
	choose_first(model);
	set_apart(model);
}
