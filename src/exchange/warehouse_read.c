/* Asking the warehouse. The engine adds up; what comes back is one row per rank
 * and one per stage. */
#include "exchange/warehouse.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANK_COLUMNS 9
#define STAGE_COLUMNS 31

static void put_job_key(const struct sb_warehouse *w, struct sb_buf *sql)
{
	char key[SB_WAREHOUSE_JOB_SIZE];

	sb_warehouse_quote(sql, sb_warehouse_job_key(w, w->job, key, sizeof key));
}

void sb_warehouse_put_job(const struct sb_warehouse *w, const char *run, struct sb_buf *sql)
{
	char table[160];

	sb_buf_puts(sql, "job = ");
	put_job_key(w, sql);
	if (run) {
		sb_buf_puts(sql, " AND run = ");
		sb_warehouse_quote(sql, run);
	}
	sb_buf_printf(sql, " AND (run, version) GLOBAL IN (SELECT run, max(version) FROM %s WHERE job = ",
		sb_warehouse_table(w, "runs", table, sizeof table));
	put_job_key(w, sql);
	sb_buf_puts(sql, " GROUP BY run)");
}

/* ---- tab-separated answers ---------------------------------------------- */

/* The next field of a line, unescaped in place; NULL past the last. */
static char *next_field(char **rest)
{
	char *field = *rest ? strsep(rest, "\t") : NULL, *to = field;

	for (char *from = field; from && *from; from++) {
		if (*from == '\\' && from[1]) {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from == '0' ? ' ' : *from;
		} else {
			*to++ = *from;
		}
	}
	if (to)
		*to = 0;
	return field;
}

double sb_warehouse_next_number(char **rest)
{
	const char *field = next_field(rest);

	return field ? strtod(field, NULL) : NAN; /* "nan" reads as NaN */
}

const char *sb_warehouse_next_text(char **rest)
{
	const char *field = next_field(rest);

	return field ? field : "";
}

/* ---- ranks -------------------------------------------------------------- */

static int take_rank(struct sb_aggregate *a, char *line)
{
	struct sb_facts *f = sb_facts_new("");
	char *keys, *values;
	int err;

	if (!f)
		return STROBE_ENOMEM;
	f->rank = (int64_t)sb_warehouse_next_number(&line);
	f->world_size = (int64_t)sb_warehouse_next_number(&line);
	f->host = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->id = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->label = f->id;
	f->start_real_ns = strtoull(sb_warehouse_next_text(&line), NULL, 10);
	f->complete = sb_warehouse_next_number(&line) != 0;
	f->damage = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->damage = *f->damage ? f->damage : NULL;
	keys = next_field(&line);
	values = next_field(&line);
	while (keys && values) {
		char *key = strsep(&keys, ","), *value = strsep(&values, ",");

		for (int m = 0; m < SB_METRIC_COUNT && *value; m++)
			if (!strcmp(sb_metric_infos[m].key, key))
				f->metrics[m] = strtod(value, NULL);
	}
	err = sb_aggregate_add(a, f);
	sb_facts_free(f);
	return err;
}

static int each_line(
	struct sb_buf *answer, struct sb_aggregate *a, int (*take)(struct sb_aggregate *, char *))
{
	char *rest = answer->data;
	int err = 0;

	while (rest && *rest && !err)
		err = take(a, strsep(&rest, "\n"));
	return err;
}

static int ask(const struct sb_warehouse *w, struct sb_buf *sql, unsigned columns, struct sb_aggregate *a,
	int (*take)(struct sb_aggregate *, char *))
{
	struct sb_buf answer = { 0 };
	int err = sb_warehouse_ask(w, sql, columns, &answer);

	if (!err)
		err = each_line(&answer, a, take);
	sb_buf_done(&answer);
	sb_buf_clear(sql);
	return err;
}

static int read_ranks(const struct sb_warehouse *w, struct sb_buf *sql, struct sb_aggregate *a)
{
	char table[160];

	sb_buf_printf(sql,
		"SELECT any(rank), any(world_size), any(host), run, any(start_ns), any(complete), "
		"any(damage), "
		"arrayStringConcat(any(metric_key), ','), arrayStringConcat(arrayMap(x -> toString(x), "
		"any(metric_value)), ',') "
		"FROM %s WHERE ",
		sb_warehouse_table(w, "runs", table, sizeof table));
	sb_warehouse_put_job(w, NULL, sql);
	sb_buf_puts(sql, " GROUP BY run ORDER BY any(rank)");
	return ask(w, sql, RANK_COLUMNS, a, take_rank);
}

/* ---- stages ------------------------------------------------------------- */

static void take_extent(char **line, struct sb_extent *e)
{
	e->count = (size_t)sb_warehouse_next_number(line);
	e->min = sb_warehouse_next_number(line);
	e->max = sb_warehouse_next_number(line);
	e->sum = sb_warehouse_next_number(line);
	e->avg = e->sum / (double)e->count;
	e->adds = true; /* seconds */
	e->median = sb_warehouse_next_number(line);
	e->min_rank = (int64_t)sb_warehouse_next_number(line);
	e->max_rank = (int64_t)sb_warehouse_next_number(line);
}

/* "0,1,2" and "1.5,1.25,1.5": each rank's total, by its place among the ranks, which are in order. */
static bool take_totals(const struct sb_aggregate *a, char **line, struct sb_aggregate_stage *s)
{
	char *ranks = next_field(line), *totals = next_field(line);

	s->totals = malloc((a->rank_count + 1) * sizeof *s->totals);
	for (size_t i = 0; s->totals && i < a->rank_count; i++)
		s->totals[i] = NAN;
	while (s->totals && ranks && totals) {
		int64_t rank = strtoll(strsep(&ranks, ","), NULL, 10);
		double total = strtod(strsep(&totals, ","), NULL);

		for (size_t i = 0; i < a->rank_count; i++)
			if (a->ranks[i].rank == rank)
				s->totals[i] = total;
	}
	return s->totals;
}

static bool take_buckets(char **line, struct sb_histogram *out_calls)
{
	char *buckets = next_field(line), *counts = next_field(line);
	bool done = true;

	while (done && buckets && counts && *buckets) {
		uint32_t bucket = (uint32_t)strtoul(strsep(&buckets, ","), NULL, 10);

		done = bucket >= SB_HISTOGRAM_BUCKETS ||
		       sb_histogram_add_bucket(out_calls, bucket, strtoull(strsep(&counts, ","), NULL, 10));
	}
	return done;
}

static int take_stage(struct sb_aggregate *a, char *line)
{
	struct sb_aggregate_stage s = { 0 };
	const char *name = sb_warehouse_next_text(&line), *code = sb_warehouse_next_text(&line), *key;
	int err = 0;

	s.depth = (uint32_t)sb_warehouse_next_number(&line);
	s.role = (uint32_t)sb_warehouse_next_number(&line);
	s.call_count = strtoull(sb_warehouse_next_text(&line), NULL, 10);
	s.min_s = sb_warehouse_next_number(&line);
	s.max_s = sb_warehouse_next_number(&line);
	take_extent(&line, &s.total_s);
	take_extent(&line, &s.self_s);
	s.p50_s = sb_warehouse_next_number(&line);
	s.p95_s = sb_warehouse_next_number(&line);
	s.p99_s = sb_warehouse_next_number(&line);
	key = sb_aggregate_keep(a, sb_warehouse_next_text(&line));
	s.order = strtoull(sb_warehouse_next_text(&line), NULL, 10);
	s.parent_order = strtoll(sb_warehouse_next_text(&line), NULL, 10);
	if (!take_totals(a, &line, &s) || !take_buckets(&line, &s.calls) || !key)
		err = sb_fail(STROBE_ENOMEM, "no memory for the warehouse's answer");
	s.imbalance_s = s.total_s.max - s.total_s.avg;
	s.imbalance_ratio = s.total_s.avg > 0 ? s.total_s.max / s.total_s.avg - 1 : NAN;
	if (!err)
		err = sb_aggregate_add_stage(a, &s, name, code);
	if (err) {
		free(s.totals);
		sb_histogram_done(&s.calls);
		return err;
	}
	a->stages[a->stage_count - 1].key = key;
	return 0;
}

/* A stage's parent is the one at that place of the same rank; where a lower rank has that one, the path tells. */
static const char *parent_of(const struct sb_aggregate *a, const struct sb_aggregate_stage *s)
{
	size_t size = strlen(s->key), name = strlen(s->name);

	if (s->parent_order < 0)
		return NULL;
	for (size_t i = 0; i < a->stage_count; i++) {
		const struct sb_aggregate_stage *p = &a->stages[i];
		size_t length = strlen(p->key);

		if (p->order == (size_t)s->parent_order ||
			(length + 1 + name == size && s->key[length] == '/' &&
				!strncmp(p->key, s->key, length)))
			return p->key;
	}
	return NULL;
}

/* What the page draws and diff compares: each rank's own total. */
static void open_stages(struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->stage_count; i++) {
		a->stages[i].parent_key = parent_of(a, &a->stages[i]);
		a->stages[i].rank_room = a->rank_count;
	}
	sb_aggregate_nest(a);
}

/* An extent over ranks, of sorted values; the ranks of its ends are the lowest of
 * those that tie, as in the local report. */
static void put_extent(struct sb_buf *sql, const char *c, const char *end)
{
	sb_buf_printf(sql,
		"ranks, %s_sorted[1], %s_sorted[ranks], arraySum(%s_sorted), "
		"(%s_sorted[intDiv(ranks + 1, 2)] + %s_sorted[intDiv(ranks, 2) + 1]) / 2, %s_low, %s_high%s",
		c, c, c, c, c, c, c, end);
}

/* From the added-up buckets, as base/histogram.c does it. */
static void put_quantile(struct sb_buf *sql, const char *q, const char *end)
{
	sb_buf_printf(sql,
		"if(empty(counts), nan, arrayMap(b -> if(b < 32, toFloat64(b), (32 + b %% 32 + 0.5) * "
		"exp2(intDiv(b, 32) - 1) - 0.5), "
		"[buckets[arrayFirstIndex(x -> x > %s * (arraySum(counts) - 1), arrayCumSum(counts))]])[1] / "
		"1e9)%s",
		q, end);
}

static int read_stages(const struct sb_warehouse *w, struct sb_buf *sql, struct sb_aggregate *a)
{
	char table[160];

	/* From the inside out: rows that were sent twice count once; then one row per
	 * rank and stage; then one per stage. */
	sb_buf_puts(sql, "SELECT n2, c2, d2, r2, q2, lo2, hi2, ");
	put_extent(sql, "t", ", ");
	put_extent(sql, "f", ", ");
	put_quantile(sql, "0.50", ", ");
	put_quantile(sql, "0.95", ", ");
	put_quantile(sql, "0.99", ", k0, bitShiftLeft(toInt64(o2.1), 32) + o2.2, ");
	sb_buf_puts(sql, "if(pa2 < 0, -1, bitShiftLeft(toInt64(o2.1), 32) + pa2), "
			 "arrayStringConcat(arrayMap(x -> toString(x), rs2), ','), "
			 "arrayStringConcat(arrayMap(x -> toString(x), ts2), ','), "
			 "arrayStringConcat(arrayMap(x -> toString(x), "
			 "buckets), ','), arrayStringConcat(arrayMap(x -> toString(x), counts), ',') ");
	sb_buf_puts(sql,
		"FROM (SELECT k0, any(n1) AS n2, any(c1) AS c2, any(d1) AS d2, any(r1) AS r2, sum(q1) AS q2, "
		"min(lo1) AS lo2, max(hi1) AS hi2, sumMap(b1, bc1) AS m2, m2.1 AS buckets, m2.2 AS counts, "
		"groupArray(rank) AS rs2, groupArray(t1) AS ts2, min(tuple(rank, p1)) AS o2, argMin(pa1, "
		"tuple(rank, p1)) AS "
		"pa2, "
		"count() AS ranks, arraySort(groupArray(t1)) AS t_sorted, arraySort(groupArray(f1)) AS "
		"f_sorted, "
		"argMin(rank, tuple(t1, rank)) AS t_low, argMax(rank, tuple(t1, -rank)) AS t_high, "
		"argMin(rank, tuple(f1, rank)) AS f_low, argMax(rank, tuple(f1, -rank)) AS f_high ");
	sb_buf_printf(sql,
		"FROM (SELECT run, rank, k0, any(n0) AS n1, any(c0) AS c1, any(d0) AS d1, any(r0) AS r1, "
		"sum(q0) AS q1, toInt64(min(place)) AS p1, toInt64(argMin(pa0, place)) AS pa1, "
		"min(lo0) AS lo1, max(hi0) AS hi1, sum(t0) AS t1, sum(f0) AS f1, sumMap(b0, bc0) AS m1, m1.1 "
		"AS b1, "
		"m1.2 AS bc1 FROM (SELECT run, rank, place, any(stage_key) AS k0, any(name) AS n0, any(code) "
		"AS c0, any(parent) AS pa0, "
		"any(depth) AS d0, any(role) AS r0, any(calls) AS q0, any(min_s) AS lo0, any(max_s) AS hi0, "
		"any(total_s) AS t0, any(self_s) AS f0, any(bucket) AS b0, any(bucket_calls) AS bc0 "
		"FROM %s WHERE NOT isNaN(total_s) AND ",
		sb_warehouse_table(w, "stages", table, sizeof table));
	sb_warehouse_put_job(w, NULL, sql);
	sb_buf_puts(sql, " GROUP BY run, rank, place) GROUP BY run, rank, k0) GROUP BY k0)");
	return ask(w, sql, STAGE_COLUMNS, a, take_stage);
}

/* ---- what a straggler is slow at ---------------------------------------- */

static int name_slow_stage(
	const struct sb_warehouse *w, struct sb_buf *sql, struct sb_aggregate *a, struct sb_aggregate_rank *r)
{
	struct sb_buf answer = { 0 };
	char table[160], *line, *name;
	int err;

	/* the engine knows the stages' medians by now: so do we */
	sb_buf_printf(sql,
		"SELECT any(name), any(code), sum(self_s) FROM (SELECT place, any(name) AS name, any(code) "
		"AS code, "
		"any(stage_key) AS stage_key, any(self_s) AS self_s FROM %s WHERE role != %d AND NOT "
		"isNaN(total_s) AND ",
		sb_warehouse_table(w, "stages", table, sizeof table), STROBE_ROLE_COLLECTIVE);
	sb_warehouse_put_job(w, r->id, sql);
	sb_buf_puts(sql, " GROUP BY place) GROUP BY stage_key");
	err = sb_warehouse_ask(w, sql, 3, &answer);
	sb_buf_clear(sql);
	for (char *rest = answer.data; !err && rest && *rest;) {
		const char *code;
		double self, most = isnan(r->slow_stage_s) ? 0 : r->slow_stage_s - r->slow_stage_median_s;

		line = strsep(&rest, "\n");
		name = next_field(&line);
		code = sb_warehouse_next_text(&line);
		self = sb_warehouse_next_number(&line);
		for (size_t i = 0; i < a->stage_count && name; i++) {
			const struct sb_aggregate_stage *s = &a->stages[i];

			if (strcmp(s->name, name) || strcmp(s->code ? s->code : "", code) ||
				self - s->self_s.median <= most)
				continue;
			free(r->slow_stage);
			r->slow_stage = strdup(name);
			r->slow_stage_s = self;
			r->slow_stage_median_s = s->self_s.median;
		}
	}
	sb_buf_done(&answer);
	return err;
}

int sb_warehouse_aggregate(const struct sb_warehouse *w, struct sb_aggregate **out_aggregate)
{
	struct sb_aggregate *a = sb_aggregate_new();
	struct sb_buf sql = { 0 };
	int err = a ? 0 : STROBE_ENOMEM;

	if (!err && !*w->job)
		err = sb_fail(STROBE_EINVAL, "no job given: clickhouse://%s:%s/%s?job=ID", w->host, w->port,
			w->database);
	if (!err)
		err = read_ranks(w, &sql, a);
	if (!err && !a->rank_count)
		err = sb_fail(STROBE_ENOENT, "the warehouse has no job '%s' in '%s'", w->job, w->database);
	if (!err)
		err = read_stages(w, &sql, a);
	if (!err)
		err = sb_aggregate_finish(a);
	if (!err)
		err = sb_warehouse_meet(w, a);
	if (!err)
		open_stages(a);
	if (!err)
		err = sb_aggregate_draw(a);
	for (size_t i = 0; !err && i < a->rank_count; i++)
		if (a->ranks[i].straggler)
			err = name_slow_stage(w, &sql, a, &a->ranks[i]);
	if (!err && !(a->job = strdup(w->job)))
		err = sb_fail(STROBE_ENOMEM, "no memory for the warehouse's answer");
	sb_buf_done(&sql);
	if (err) {
		sb_aggregate_free(a);
		return err;
	}
	*out_aggregate = a;
	return 0;
}
