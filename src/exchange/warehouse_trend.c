/* A number over many jobs, asked of the warehouse. */
#include "exchange/warehouse.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_warehouse_points_free(struct sb_warehouse_point *points, size_t count)
{
	for (size_t i = 0; i < count && points; i++)
		free(points[i].job);
	free(points);
}

static void put_filter(const struct sb_warehouse *w, const struct sb_warehouse_trend *t, struct sb_buf *sql)
{
	const char *and = " WHERE ";

	if (*w->tenant) {
		char head[sizeof w->tenant + 2];

		snprintf(head, sizeof head, "%s/", w->tenant);
		sb_buf_printf(sql, "%sstartsWith(job, ", and);
		sb_warehouse_quote(sql, head);
		sb_buf_putc(sql, ')');
		and = " AND ";
	}
	if (t->name) {
		sb_buf_printf(sql, "%sname = ", and);
		sb_warehouse_quote(sql, t->name);
	}
}

static void put_since(const struct sb_warehouse_trend *t, struct sb_buf *sql)
{
	sb_buf_printf(sql, " GROUP BY job HAVING started >= %llu", (unsigned long long)t->since_real_ns);
}

/* Every rank's value: what a job's is of them, compare/job_facts.c says. */
static void ask_metric(const struct sb_warehouse *w, const struct sb_warehouse_trend *t,
	enum sb_metric metric, struct sb_buf *sql)
{
	char table[160];

	sb_buf_puts(sql, "SELECT job, min(began) AS started, arrayStringConcat(arrayMap(x -> toString(x), "
			 "groupArrayIf(numbers[place], place > 0)), ',') FROM (SELECT job, run, "
			 "argMax(start_ns, version) "
			 "AS began, argMax(metric_value, version) AS numbers, indexOf(argMax(metric_key, "
			 "version), ");
	sb_warehouse_quote(sql, sb_metric_infos[metric].key);
	sb_buf_printf(sql, ") AS place FROM %s", sb_warehouse_table(w, "runs", table, sizeof table));
	put_filter(w, t, sql);
	sb_buf_puts(sql, " GROUP BY job, run)");
	put_since(t, sql);
	sb_buf_puts(sql, " AND sum(place > 0) > 0");
}

/* A stage by its name or code, as a job's is: of its paths the median rank's times, added up. */
static void ask_stage(const struct sb_warehouse *w, const struct sb_warehouse_trend *t, struct sb_buf *sql)
{
	char table[160];

	sb_buf_printf(sql, "SELECT job, started, value FROM (SELECT job, min(start_ns) AS started FROM %s",
		sb_warehouse_table(w, "runs", table, sizeof table));
	put_filter(w, t, sql);
	put_since(t, sql);
	sb_buf_printf(sql,
		") AS began ANY INNER JOIN (SELECT job, toString(sum(middle)) AS value FROM (SELECT job, "
		"stage_path, "
		"arraySort(groupArray(total)) AS sorted, (sorted[intDiv(count() + 1, 2)] + "
		"sorted[intDiv(count(), 2) + 1]) / 2 AS middle FROM (SELECT job, run, stage_path, sum(once) "
		"AS total FROM (SELECT job, run, place, any(stage_key) AS stage_path, any(total_s) AS once "
		"FROM %s WHERE NOT isNaN(total_s) AND (name = ",
		sb_warehouse_table(w, "stages", table, sizeof table));
	sb_warehouse_quote(sql, t->metric);
	sb_buf_puts(sql, " OR code = ");
	sb_warehouse_quote(sql, t->metric);
	sb_buf_puts(sql, " OR concat('[', code, ']') = ");
	sb_warehouse_quote(sql, t->metric);
	sb_buf_printf(sql, ") AND (job, run, version) GLOBAL IN (SELECT job, run, max(version) FROM %s",
		sb_warehouse_table(w, "runs", table, sizeof table));
	put_filter(w, t, sql);
	sb_buf_puts(sql, " GROUP BY job, run) GROUP BY job, run, version, place) GROUP BY job, run, "
			 "stage_path) GROUP BY job, stage_path) GROUP BY job) AS took USING job");
}

/* "1.5,2,1.25": of every rank. */
static double value_of(int metric, char *values, double *room, size_t room_count)
{
	size_t count = 0;

	if (metric < 0)
		return strtod(values, NULL);
	while (values && count < room_count)
		room[count++] = strtod(strsep(&values, ","), NULL);
	return sb_job_value((enum sb_metric)metric, room, count);
}

static size_t values_in(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == ',';
	return count;
}

static int take_point(struct sb_warehouse_point *p, int metric, char *line)
{
	char *values;
	double *room;

	p->job = strdup(sb_warehouse_next_text(&line));
	p->start_real_ns = sb_warehouse_next_count(&line);
	values = sb_warehouse_next_text(&line);
	room = malloc(values_in(values) * sizeof *room);
	if (room)
		p->value = value_of(metric, values, room, values_in(values));
	free(room);
	return p->job && room ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the trend");
}

static void turn_round(struct sb_warehouse_point *points, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct sb_warehouse_point swapped = points[i];

		points[i] = points[count - 1 - i];
		points[count - 1 - i] = swapped;
	}
}

int sb_warehouse_trend(const struct sb_warehouse *w, const struct sb_warehouse_trend *t,
	struct sb_warehouse_point **out_points, size_t *out_count)
{
	struct sb_warehouse_point *points = calloc(t->limit + 1, sizeof *points);
	struct sb_buf sql = { 0 }, answer = { 0 };
	int metric = sb_metric_find(t->metric),
	    err = points ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the trend");
	size_t count = 0;

	if (metric >= 0)
		ask_metric(w, t, (enum sb_metric)metric, &sql);
	else
		ask_stage(w, t, &sql);
	sb_buf_printf(&sql, " ORDER BY started DESC, job DESC LIMIT %zu", t->limit);
	if (!err)
		err = sb_warehouse_ask(w, &sql, 3, &answer);
	for (char *rest = answer.data; !err && rest && *rest && count < t->limit;)
		err = take_point(&points[count++], metric, strsep(&rest, "\n"));
	sb_buf_done(&sql);
	sb_buf_done(&answer);
	if (err) {
		sb_warehouse_points_free(points, count);
		return err;
	}
	turn_round(points, count);
	*out_points = points;
	*out_count = count;
	return 0;
}
