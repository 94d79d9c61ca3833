/* strobe history trend: one number over time, from the history or a warehouse. */
#include "history_parts.h"

#include "base/error.h"
#include "base/json.h"
#include "exchange/warehouse.h"
#include "report/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_trend_json(const struct sb_history_trend *trend, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_fields_write(&sb_history_trend_fields, trend, NULL, &j);
	sb_buf_putc(out, '\n');
}

/* One line over runs that are not alike says little. */
static void hint_at_names(struct sb_buf *out, const struct sb_history_point *p, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (strcmp(p[i].name, p[0].name)) {
			sb_buf_printf(out, "runs of several names ('%s', '%s'…): --name shows one of them\n",
				p[0].name, p[i].name);
			return;
		}
}

static void put_trend(struct sb_buf *out, const char *words, enum sb_metric unit,
	const struct sb_history_point *p, size_t count)
{
	double *values = malloc(count * sizeof *values);
	int columns = terminal_columns(STDOUT_FILENO);
	char low[32], high[32], last[32], median[32], first_time[32], last_time[32];
	struct sb_stats stats;

	if (!values) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		values[i] = p[i].value;
	if (sb_stats_of(values, count, &stats)) {
		out->failed = true;
		free(values);
		return;
	}
	sb_metric_text(unit, stats.min, low, sizeof low);
	sb_metric_text(unit, stats.max, high, sizeof high);
	sb_metric_text(unit, stats.last, last, sizeof last);
	sb_metric_text(unit, stats.median, median, sizeof median);
	history_time(p[0].start_real_ns, first_time, sizeof first_time);
	history_time(p[count - 1].start_real_ns, last_time, sizeof last_time);
	sb_buf_printf(out, "== %s over %zu run%s, %s to %s\n", words, count, count == 1 ? "" : "s",
		first_time, last_time);
	if (count > 1)
		sb_plot(values, count, low, high, columns < 100 ? columns : 100, 8, out);
	sb_buf_printf(out, "last %s (run %" PRId64 "), median %s, least %s, most %s", last, p[count - 1].id,
		median, low, high);
	if (count > 1 && stats.median > 0)
		sb_buf_printf(
			out, "; the last is %+.1f %% from the median", 100 * (stats.last / stats.median - 1));
	sb_buf_putc(out, '\n');
	free(values);
}

/* A job of the warehouse counts as a run, as one of the history does. */
static int trend_of_warehouse(const struct args *args, const char *metric,
	const struct sb_history_filter *filter, struct sb_history_point **out_points, size_t *out_count)
{
	struct sb_warehouse_point *points = NULL;
	struct sb_warehouse w;
	size_t count = 0;
	int err = sb_warehouse_open(args_value(args, "from"), &w);

	if (!err)
		err = sb_warehouse_trend(&w,
			&(struct sb_warehouse_trend){
				metric, filter->name, filter->since_real_ns, filter->limit },
			&points, &count);
	if (!err && !(*out_points = calloc(count + 1, sizeof **out_points)))
		err = sb_fail(STROBE_ENOMEM, "no memory for the trend");
	for (size_t i = 0; i < count && !err; i++) {
		(*out_points)[i] = (struct sb_history_point){ (int64_t)i + 1, points[i].start_real_ns,
			points[i].value, points[i].job };
		points[i].job = NULL;
	}
	if (!err)
		*out_count = count;
	sb_warehouse_points_free(points, count);
	return err;
}

static int read_trend(const struct args *args, struct sb_history *h, const char *metric,
	const struct sb_history_filter *filter, struct sb_history_point **out_points, size_t *out_count)
{
	return args_has(args, "from") ? trend_of_warehouse(args, metric, filter, out_points, out_count)
				      : sb_history_trend(h, metric, filter, out_points, out_count);
}

/* Why there is no point; always EXIT_USAGE. */
static int explain_no_points(
	const struct args *args, struct sb_history *h, const char *metric, struct sb_history_filter filter)
{
	const char *where = args_has(args, "from") ? "in the warehouse" : "in the history";
	const char *what = args_has(args, "from") ? "job" : "run";
	struct sb_history_point *newest = NULL;
	struct sb_buf text = { 0 }, told = { 0 };
	bool late = filter.since_real_ns;
	size_t count = 0;
	int code;

	filter.since_real_ns = 0;
	filter.limit = 1;
	if (late && read_trend(args, h, metric, &filter, &newest, &count))
		return complain_last();
	sb_buf_printf(&text, "%s%s%s %s with '%s'", what, filter.name ? " of " : "",
		filter.name ? filter.name : "", where, metric);
	if (count) {
		history_put_too_old(args, sb_buf_text(&text), newest->start_real_ns, &told);
		code = complain("%s", sb_buf_text(&told));
	} else {
		code = complain("no %s%s%s %s has '%s'", what, filter.name ? " of " : "",
			filter.name ? filter.name : "", where, metric);
	}
	sb_buf_done(&text);
	sb_buf_done(&told);
	sb_history_points_free(newest, count);
	return code;
}

int history_trend(struct args *args, struct sb_history *h)
{
	const char *metric = args_value(args, "metric") ? args_value(args, "metric")
			     : args->count > 1          ? args->values[1]
							: "wall_s";
	struct sb_history_filter filter = { 0 };
	struct sb_history_point *points = NULL;
	struct sb_buf out = { 0 };
	int known = sb_metric_find(metric);
	size_t count = 0;

	if (!history_filter(args, 200, &filter))
		return EXIT_USAGE;
	if (read_trend(args, h, metric, &filter, &points, &count))
		return complain_last();
	if (!count) {
		sb_history_points_free(points, count);
		return explain_no_points(args, h, metric, filter);
	}
	if (history_wants_json(args))
		put_trend_json(&(struct sb_history_trend){ metric, points, count }, &out);
	else
		put_trend(&out, known >= 0 ? sb_metric_infos[known].words : metric,
			known >= 0 ? (enum sb_metric)known : SB_METRIC_WALL, points, count);
	if (!history_wants_json(args) && !args_has(args, "from"))
		hint_at_names(&out, points, count);
	history_print(&out);
	sb_history_points_free(points, count);
	return EXIT_OK;
}
