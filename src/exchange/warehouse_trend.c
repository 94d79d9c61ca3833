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

/* of several loads of a run the latest; of several ranks the worst */
static void ask_metric(const struct sb_warehouse *w, enum sb_metric metric, struct sb_buf *sql)
{
	bool higher = sb_metric_infos[metric].sense == SB_HIGHER_IS_BETTER;
	char table[160];

	sb_buf_printf(sql,
		"SELECT job, min(started), %s(value) FROM (SELECT job, run, argMax(start_ns, version) AS "
		"started, "
		"argMax(metric_value, version) AS numbers, argMax(metric_key, version) AS keys, "
		"numbers[indexOf(keys, ",
		higher ? "min" : "max");
	sb_warehouse_quote(sql, sb_metric_infos[metric].key);
	sb_buf_puts(sql, ")] AS value, has(keys, ");
	sb_warehouse_quote(sql, sb_metric_infos[metric].key);
	sb_buf_printf(sql, ") AS there FROM %s", sb_warehouse_table(w, "runs", table, sizeof table));
}

/* A stage by its name or code: its time on the slowest rank, of loads that were finished. */
static void ask_stage(const struct sb_warehouse *w, const char *stage, struct sb_buf *sql)
{
	char table[160];

	sb_buf_printf(sql,
		"SELECT job, min(started), max(value) FROM (SELECT job, run, min(began) AS started, "
		"sum(total) AS "
		"value, 1 AS there FROM (SELECT job, run, version, place, any(total_s) AS total, "
		"toUInt64(toUnixTimestamp(any(start))) * 1000000000 AS began FROM %s WHERE (name = ",
		sb_warehouse_table(w, "stages", table, sizeof table));
	sb_warehouse_quote(sql, stage);
	sb_buf_puts(sql, " OR code = ");
	sb_warehouse_quote(sql, stage);
	sb_buf_printf(sql, ") AND (job, run, version) GLOBAL IN (SELECT job, run, max(version) FROM %s",
		sb_warehouse_table(w, "runs", table, sizeof table));
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
		and = " AND ";
	}
	if (t->since_real_ns)
		sb_buf_printf(sql, "%sstart_ns >= %llu", and, (unsigned long long)t->since_real_ns);
}

int sb_warehouse_trend(const struct sb_warehouse *w, const struct sb_warehouse_trend *t,
	struct sb_warehouse_point **out_points, size_t *out_count)
{
	struct sb_warehouse_point *points = calloc(t->limit + 1, sizeof *points);
	struct sb_buf sql = { 0 }, answer = { 0 };
	int known = sb_metric_find(t->metric),
	    err = points ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the trend");
	size_t count = 0;

	if (!err) {
		if (known >= 0)
			ask_metric(w, (enum sb_metric)known, &sql);
		else
			ask_stage(w, t->metric, &sql);
		put_filter(w, t, &sql);
		sb_buf_puts(&sql, known >= 0
					  ? " GROUP BY job, run)"
					  : " GROUP BY job, run) GROUP BY job, run, version, place) GROUP BY "
					    "job, run)");
		sb_buf_printf(
			&sql, " WHERE there GROUP BY job ORDER BY min(started) DESC LIMIT %zu", t->limit);
		err = sb_warehouse_ask(w, &sql, 3, &answer);
	}
	for (char *rest = answer.data; !err && rest && *rest && count < t->limit;) {
		char *line = strsep(&rest, "\n");

		points[count].job = strdup(sb_warehouse_next_text(&line));
		points[count].start_real_ns = strtoull(sb_warehouse_next_text(&line), NULL, 10);
		points[count].value = sb_warehouse_next_number(&line);
		count++;
	}
	for (size_t i = 0; i < count / 2; i++) {
		struct sb_warehouse_point swapped = points[i];

		points[i] = points[count - 1 - i];
		points[count - 1 - i] = swapped;
	}
	sb_buf_done(&sql);
	sb_buf_done(&answer);
	if (err) {
		sb_warehouse_points_free(points, count);
		return err;
	}
	*out_points = points;
	*out_count = count;
	return 0;
}
