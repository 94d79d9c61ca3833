/* The tool series: one metric over time, in at most so many points. */
#include "serve/mcp/tool.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which there are ---- */

static void put_column(const struct sb_series *s, const struct sb_series_column *c, struct sb_json *j)
{
	sb_json_string(j, "source", s->source);
	if (s->device >= 0)
		sb_json_int(j, "device_index", s->device);
	sb_json_string(j, "metric", c->name);
	sb_json_double(j, "min_value", c->stats.min);
	sb_json_double(j, "mean_value", c->stats.mean);
	sb_json_double(j, "max_value", c->stats.max);
}

static void list(const struct sb_model *model, size_t most, struct sb_json *j)
{
	size_t seen = 0;

	sb_json_array_begin(j, "metrics");
	for (size_t i = 0; i < model->series_count; i++) {
		for (size_t k = 0; k < model->series[i].column_count; k++) {
			if (seen++ >= most)
				continue;
			sb_json_object_begin(j, NULL);
			put_column(&model->series[i], &model->series[i].columns[k], j);
			sb_json_object_end(j);
		}
	}
	sb_json_array_end(j);
	if (seen > most)
		sb_json_uint(j, "left_out_count", seen - most);
}

/* ---- one of them ---- */

static bool fits(const struct sb_series *s, const char *source, double device)
{
	return (!source || !strcmp(s->source, source)) && (isnan(device) || s->device == (int)device);
}

static const struct sb_series_column *find(
	const struct sb_model *model, const struct sb_mcp_call *call, const struct sb_series **out_series)
{
	const char *source = sb_mcp_text(call, "source"), *metric = sb_mcp_text(call, "metric");

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		const struct sb_series_column *c = fits(s, source, sb_mcp_number(call, "device"))
							   ? sb_series_column_find(s, metric)
							   : NULL;

		if (c) {
			*out_series = s;
			return c;
		}
	}
	return NULL;
}

struct bin {
	double t_s, sum, min, max;
	size_t count;
};

static void put_bins(const struct bin *bins, size_t count, const char *key,
	double (*value)(const struct bin *), struct sb_json *j)
{
	sb_json_array_begin(j, key);
	for (size_t i = 0; i < count; i++)
		sb_json_double(j, NULL, value(&bins[i]));
	sb_json_array_end(j);
}

static double time_of(const struct bin *b)
{
	return b->t_s;
}

static double mean_of(const struct bin *b)
{
	return b->count ? b->sum / (double)b->count : NAN;
}

static double min_of(const struct bin *b)
{
	return b->min;
}

static double max_of(const struct bin *b)
{
	return b->max;
}

static void add(struct bin *b, double t_s, double value)
{
	if (isnan(b->t_s))
		b->t_s = t_s;
	if (isnan(value))
		return;
	b->sum += value;
	b->min = isnan(b->min) || value < b->min ? value : b->min;
	b->max = isnan(b->max) || value > b->max ? value : b->max;
	b->count++;
}

/* Rows of the range, in bins of equally many. */
static size_t fill(const struct sb_series *s, const struct sb_series_column *c, size_t first, size_t rows,
	struct bin *bins, size_t most)
{
	size_t count = rows < most ? rows : most;

	for (size_t i = 0; i < count; i++)
		bins[i] = (struct bin){ .t_s = NAN, .min = NAN, .max = NAN };
	for (size_t i = 0; i < rows; i++)
		add(&bins[i * count / rows], s->t_s[first + i], c->values[first + i]);
	return count;
}

#define POINTS_MOST 500

static void put_values(const struct sb_series *s, const struct sb_series_column *c,
	const struct sb_mcp_call *call, struct sb_json *j)
{
	double from_s = sb_mcp_number(call, "from_s"), to_s = sb_mcp_number(call, "to_s");
	struct bin bins[POINTS_MOST];
	size_t first = 0, end = s->count, count;
	char key[200];

	while (first < end && s->t_s[first] < from_s)
		first++;
	while (end > first && s->t_s[end - 1] > to_s)
		end--;
	count = fill(s, c, first, end - first, bins, call->limit);
	put_column(s, c, j);
	sb_json_uint(j, "row_count", end - first);
	put_bins(bins, count, "t_s", time_of, j);
	if (count == end - first) {
		put_bins(bins, count, c->name, mean_of, j);
		return;
	}
	snprintf(key, sizeof key, "mean_%s", c->name);
	put_bins(bins, count, key, mean_of, j);
	snprintf(key, sizeof key, "min_%s", c->name);
	put_bins(bins, count, key, min_of, j);
	snprintf(key, sizeof key, "max_%s", c->name);
	put_bins(bins, count, key, max_of, j);
}

static int series(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	const struct sb_series_column *column;
	const struct sb_series *s = NULL;
	const struct sb_model *model;
	int err = sb_mcp_model(m, sb_mcp_text(call, "run"), &model);

	if (err)
		return err;
	if (!sb_mcp_text(call, "metric")) {
		list(model, call->limit, j);
		return 0;
	}
	column = find(model, call, &s);
	if (!column)
		return sb_fail(STROBE_EINVAL,
			"the run has no such metric as '%.100s': the tool 'series' without a metric lists "
			"them",
			sb_mcp_text(call, "metric"));
	put_values(s, column, call, j);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_series = {
	.name = "series",
	.title = "A metric over time",
	.description =
		"Without a metric: every sampled metric (GPU, CPU, memory, disk) with its smallest, mean and "
		"largest value. With one, such as power_w: its values over time. The name of a metric ends "
		"in its "
		"unit. Where rows were merged, the smallest and largest of each point are given too.",
	.arguments = { SB_MCP_RUN, { "metric", SB_MCP_TEXT, "such as memory_used_mb, power_w", false, 0, 0 },
		{ "source", SB_MCP_TEXT, "gpu, cpu, memory, disk, process... (the first that has it)", false,
			0, 0 },
		{ "device", SB_MCP_WHOLE, "index of the GPU", false, 0, 100000 },
		{ "from_s", SB_MCP_NUMBER, "seconds since the start of the run", false, 0, 1e9 },
		{ "to_s", SB_MCP_NUMBER, "seconds since the start of the run", false, 0, 1e9 } },
	.limit_default = 100,
	.limit_most = POINTS_MOST,
	.answer = series,
};
