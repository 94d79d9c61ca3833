/* docs/grafana-dashboard.json: the panels to look at first, then every other metric of the table by what it
 * is about. */
#include "generate.h"

#include "base/json.h"
#include "serve/metrics.h"

#include <stdio.h>
#include <string.h>

#define ALL_RUNS "run=~\"$run\",job=~\"$job\",rank=~\"$rank\""

struct panel {
	const char *type, *title, *help, *unit;
	int width, height;
	struct {
		const char *expression; /* '@' stands for the labels that were chosen */
		const char *legend;
	} targets[2];
};

/* clang-format off */
static const struct panel first[] = {
	{ "stat", "Live runs", "", "short", 4, 4, { { "strobe_runs_live", "" } } },
	{ "stat", "Frames per second", "Over wall time, end to end", "short", 5, 4,
		{ { "sum by (run) (rate(strobe_frames_total{@}[1m]))", "{{run}}" } } },
	{ "stat", "Time per step, median", "Every stage with the role step, whatever it is called.", "s", 5, 4,
		{ { "histogram_quantile(0.5, sum by (run, le) (rate(strobe_stage_duration_seconds_bucket{@,role=\"step\"}[5m])))", "{{run}}" } } },
	{ "stat", "Peak GPU memory", "", "decbytes", 5, 4, { { "max by (run) (strobe_gpu_memory_peak_bytes{@})", "{{run}}" } } },
	{ "stat", "Events lost", "", "short", 5, 4, { { "sum(strobe_recording_dropped_total{@})", "" } } },
	{ "timeseries", "Where the time goes", "Seconds per second in each stage, its children left out. Stages count when they end.", "percentunit", 12, 9,
		{ { "topk(10, sum by (stage) (rate(strobe_stage_self_seconds_total{@}[1m])))", "{{stage}}" } } },
	{ "timeseries", "Stage time, p95", "", "s", 12, 9,
		{ { "topk(10, histogram_quantile(0.95, sum by (stage, le) (rate(strobe_stage_duration_seconds_bucket{@}[5m]))))", "{{stage}}" } } },
	{ "timeseries", "GPU utilisation", "", "percentunit", 12, 8, { { "strobe_gpu_utilization_ratio{@}", "{{run}} GPU {{device}}" } } },
	{ "timeseries", "GPU memory", "", "decbytes", 12, 8, { { "strobe_gpu_memory_used_bytes{@}", "{{run}} GPU {{device}}" } } },
	{ "timeseries", "GPU power", "", "watt", 12, 8, { { "strobe_gpu_power_watts{@}", "{{run}} GPU {{device}}" } } },
	{ "timeseries", "GPU temperature", "", "celsius", 12, 8, { { "strobe_gpu_temperature_celsius{@}", "{{run}} GPU {{device}}" } } },
	{ "timeseries", "CPU", "", "percentunit", 12, 8, { { "strobe_cpu_usage_ratio{@}", "{{run}}" } } },
	{ "timeseries", "Memory of the process tree", "", "decbytes", 12, 8, { { "strobe_process_rss_bytes{@}", "{{run}}" } } },
	{ "timeseries", "Disk", "", "Bps", 12, 8,
		{ { "rate(strobe_disk_read_bytes_total{@}[1m])", "{{run}} read" }, { "rate(strobe_disk_write_bytes_total{@}[1m])", "{{run}} write" } } },
	{ "timeseries", "Unattributed time", "Share of the run that no stage of the main thread covers; a stage counts when it has ended.", "percentunit", 12, 8,
		{ { "clamp_min(1 - strobe_run_attributed_seconds_total{@} / (strobe_run_seen_time_seconds{@} - strobe_run_start_time_seconds{@}), 0)", "{{run}}" } } },
	{ "timeseries", "Time per step by rank", "The slowest rank holds the others up.", "s", 12, 8,
		{ { "sum by (job, rank) (rate(strobe_stage_duration_seconds_sum{@,role=\"step\"}[1m])) / sum by (job, rank) (rate(strobe_stage_duration_seconds_count{@,role=\"step\"}[1m]))", "{{job}} rank {{rank}}" } } },
	{ "timeseries", "CPU by core", "", "percentunit", 12, 8, { { "strobe_cpu_core_usage_ratio{@}", "{{run}} core {{core}}" } } },
};

/* The other metrics, by how their names begin; the last takes the rest. */
static const struct { const char *title, *begin; } groups[] = {
	{ "GPU", "strobe_gpu_" }, { "CPU", "strobe_cpu_" }, { "Memory", "strobe_memory_" },
	{ "Processes", "strobe_process_" }, { "Disk", "strobe_disk_" }, { "Pressure", "strobe_pressure_" }, { "Runs", "strobe_" },
};

/* Grafana's unit, by how a metric's name ends. */
static const struct { const char *end, *unit; } units[] = {
	{ "_bytes_per_second", "Bps" }, { "_bytes", "decbytes" }, { "_ratio", "percentunit" }, { "_seconds", "s" },
	{ "_celsius", "celsius" }, { "_watts", "watt" }, { "_joules", "joule" }, { "_hertz", "hertz" },
};
/* clang-format on */

struct place {
	struct sb_json json;
	int id, x, y, row_height;
};

static void put_source(struct sb_json *j)
{
	sb_json_object_begin(j, "datasource");
	sb_json_string(j, "type", "prometheus");
	sb_json_string(j, "uid", "${datasource}");
	sb_json_object_end(j);
}

static void put_target(struct sb_json *j, char id, const char *expression, const char *legend)
{
	struct sb_buf whole = { 0 };

	for (const char *c = expression; *c; c++)
		if (*c == '@')
			sb_buf_puts(&whole, ALL_RUNS);
		else
			sb_buf_putc(&whole, *c);
	sb_json_object_begin(j, NULL);
	sb_json_string_n(j, "refId", &id, 1);
	sb_json_string(j, "expr", sb_buf_text(&whole));
	sb_json_string(j, "legendFormat", legend);
	put_source(j);
	sb_json_object_end(j);
	sb_buf_done(&whole);
}

static void put_options(struct sb_json *j, const char *type)
{
	sb_json_object_begin(j, "options");
	if (!strcmp(type, "stat")) {
		sb_json_raw(j, "reduceOptions", "{\"calcs\": [\"lastNotNull\"]}");
	} else {
		sb_json_raw(j, "legend", "{\"displayMode\": \"list\", \"placement\": \"bottom\"}");
		sb_json_raw(j, "tooltip", "{\"mode\": \"multi\"}");
	}
	sb_json_object_end(j);
}

/* In the row, else in the next one. */
static void put_place(struct place *p, int width, int height)
{
	if (p->x + width > 24) {
		p->x = 0;
		p->y += p->row_height;
	}
	sb_json_object_begin(&p->json, "gridPos");
	sb_json_int(&p->json, "x", p->x);
	sb_json_int(&p->json, "y", p->y);
	sb_json_int(&p->json, "w", width);
	sb_json_int(&p->json, "h", height);
	sb_json_object_end(&p->json);
	p->x += width;
	p->row_height = height;
}

static void put_panel(struct place *p, const struct panel *panel)
{
	struct sb_json *j = &p->json;

	sb_json_object_begin(j, NULL);
	sb_json_int(j, "id", ++p->id);
	sb_json_string(j, "type", panel->type);
	sb_json_string(j, "title", panel->title);
	sb_json_string(j, "description", panel->help);
	put_source(j);
	put_place(p, panel->width, panel->height);
	sb_json_object_begin(j, "fieldConfig");
	sb_json_object_begin(j, "defaults");
	sb_json_string(j, "unit", panel->unit);
	sb_json_int(j, "min", 0);
	sb_json_object_end(j);
	sb_json_array_begin(j, "overrides");
	sb_json_array_end(j);
	sb_json_object_end(j);
	put_options(j, panel->type);
	sb_json_array_begin(j, "targets");
	for (size_t i = 0; i < 2 && panel->targets[i].expression; i++)
		put_target(j, (char)('A' + i), panel->targets[i].expression, panel->targets[i].legend);
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static bool ends_with(const char *name, size_t size, const char *end)
{
	return size >= strlen(end) && !memcmp(name + size - strlen(end), end, strlen(end));
}

static const char *unit_of_metric(const struct sb_exposed_metric *m, bool counter)
{
	size_t size = strlen(m->name) - (counter ? strlen("_total") : 0);

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (ends_with(m->name, size, units[i].end))
			return counter && !strcmp(units[i].unit, "decbytes") ? "Bps" : units[i].unit;
	return "short";
}

/* A metric on its own; of a counter its growth a second. */
static void put_metric(struct place *p, const struct sb_exposed_metric *m)
{
	bool counter = !strcmp(m->type, "counter");
	bool gpu = m->source && !strncmp(m->source, "gpu", 3);
	bool whole = !strncmp(m->name, "strobe_runs_", 12); /* the server's own, of no run */
	char expression[200], title[160];

	snprintf(expression, sizeof expression,
		counter ? "rate(%s{@}[1m])"
		: whole ? "%s"
			: "%s{@}",
		m->name);
	snprintf(title, sizeof title, "%.*s%s", (int)strcspn(m->help, ".;"), m->help,
		counter ? ", a second" : "");
	put_panel(p, &(struct panel){ "timeseries", title, m->help, unit_of_metric(m, counter), 8, 7,
			     { { expression, gpu ? "{{run}} GPU {{device}}" : "{{run}}" } } });
}

static bool is_drawn(const struct sb_exposed_metric *m)
{
	if (!strcmp(m->name, "strobe_run_info"))
		return true; /* the choices of the page's head come from it */
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		for (size_t k = 0; k < 2 && first[i].targets[k].expression; k++)
			if (strstr(first[i].targets[k].expression, m->name))
				return true;
	return false;
}

static size_t group_of(const struct sb_exposed_metric *m)
{
	size_t g = 0;

	while (strncmp(m->name, groups[g].begin, strlen(groups[g].begin)) != 0)
		g++;
	return g;
}

/* A row that opens, with the group's metrics. */
static void put_group(struct place *p, size_t group)
{
	struct sb_json *j = &p->json;
	size_t count;
	const struct sb_exposed_metric *table = sb_metrics_table(&count);

	p->y += p->row_height;
	p->x = 0;
	sb_json_object_begin(j, NULL);
	sb_json_int(j, "id", ++p->id);
	sb_json_string(j, "type", "row");
	sb_json_string(j, "title", groups[group].title);
	sb_json_bool(j, "collapsed", true);
	put_place(p, 24, 1);
	sb_json_array_begin(j, "panels");
	for (size_t i = 0; i < count; i++)
		if (group_of(&table[i]) == group && !is_drawn(&table[i]))
			put_metric(p, &table[i]);
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void put_choice(struct sb_json *j, const char *name, const char *label, const char *query)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", name);
	sb_json_string(j, "type", "query");
	sb_json_string(j, "label", label);
	put_source(j);
	sb_json_object_begin(j, "query");
	sb_json_string(j, "query", query);
	sb_json_string(j, "refId", name);
	sb_json_object_end(j);
	sb_json_int(j, "refresh", 2);
	sb_json_bool(j, "includeAll", true);
	sb_json_bool(j, "multi", true);
	sb_json_string(j, "allValue", ".*");
	sb_json_raw(j, "current", "{\"text\": \"All\", \"value\": \"$__all\"}");
	sb_json_object_end(j);
}

static void put_head(struct sb_json *j)
{
	sb_json_string(j, "title", "strobe");
	sb_json_string(j, "description", "Made by tools/generate from the table of metrics.");
	sb_json_string(j, "uid", "strobe-live");
	sb_json_int(j, "schemaVersion", 39);
	sb_json_int(j, "version", 3);
	sb_json_bool(j, "editable", true);
	sb_json_string(j, "refresh", "10s");
	sb_json_raw(j, "time", "{\"from\": \"now-1h\", \"to\": \"now\"}");
	sb_json_raw(j, "tags", "[\"strobe\"]");
	sb_json_object_begin(j, "templating");
	sb_json_array_begin(j, "list");
	sb_json_raw(j, NULL,
		"{\"name\": \"datasource\", \"type\": \"datasource\", \"query\": \"prometheus\", \"label\": "
		"\"Data source\"}");
	put_choice(j, "job", "Job", "label_values(strobe_run_info, job)");
	put_choice(j, "run", "Run", "label_values(strobe_run_info{job=~\"$job\"}, run)");
	put_choice(j, "rank", "Rank", "label_values(strobe_run_info{job=~\"$job\"}, rank)");
	sb_json_array_end(j);
	sb_json_object_end(j);
}

void dashboard_write(struct sb_buf *out)
{
	struct place p = { .id = 0 };

	sb_json_init(&p.json, out, true);
	sb_json_object_begin(&p.json, NULL);
	put_head(&p.json);
	sb_json_array_begin(&p.json, "panels");
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		put_panel(&p, &first[i]);
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
		put_group(&p, g);
	sb_json_array_end(&p.json);
	sb_json_object_end(&p.json);
	sb_buf_putc(out, '\n');
}
