/* The stages of a job out of the warehouse: one row for each, with the time of every rank in it. Calls are added up by the
 * engine, their durations as buckets (base/histogram.h). */
#include "exchange/warehouse.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE_COLUMNS 17

/* "7,9", "1.5,1.25" and "1,1": of each run its total and its self time, at its slot. */
static bool take_times(const struct sb_warehouse_reading *r, char **line, struct sb_aggregate_stage *s)
{
	char *runs = sb_warehouse_next_text(line), *totals = sb_warehouse_next_text(line),
	     *selves = sb_warehouse_next_text(line);

	s->rank_room = r->a->rank_count;
	s->totals = malloc((s->rank_room + 1) * sizeof *s->totals);
	s->selves = malloc((s->rank_room + 1) * sizeof *s->selves);
	if (!s->totals || !s->selves)
		return false;
	for (size_t i = 0; i < s->rank_room; i++)
		s->totals[i] = s->selves[i] = NAN;
	while (runs && totals && selves) {
		int64_t slot = sb_warehouse_slot_of(r, strtoull(strsep(&runs, ","), NULL, 10));
		double total_s = strtod(strsep(&totals, ","), NULL);
		double self_s = strtod(strsep(&selves, ","), NULL);

		if (slot < 0 || (size_t)slot >= s->rank_room)
			continue;
		s->totals[slot] = total_s;
		s->selves[slot] = self_s;
	}
	return true;
}

static bool take_buckets(char **line, struct sb_histogram *out_calls)
{
	char *buckets = sb_warehouse_next_text(line), *counts = sb_warehouse_next_text(line);
	bool done = true;

	while (done && buckets && counts && *buckets) {
		uint32_t bucket = (uint32_t)strtoul(strsep(&buckets, ","), NULL, 10);
		uint64_t count = strtoull(strsep(&counts, ","), NULL, 10);

		done = bucket >= SB_HISTOGRAM_BUCKETS || sb_histogram_add_bucket(out_calls, bucket, count);
	}
	return done;
}

/* Loads of schema 3 did not say it: a stage without a code has its parent's path before its name. */
static void path_above(const char *key, const char *name, char *out, size_t size)
{
	size_t all = strlen(key), last = strlen(name);

	*out = 0;
	if (all > last + 1 && key[all - last - 1] == '/' && !strcmp(key + all - last, name))
		snprintf(out, size, "%.*s", (int)(all - last - 1), key);
}

static int take_keys(
	struct sb_warehouse_reading *r, struct sb_aggregate_stage *s, const char *name, char **line)
{
	const char *key = sb_warehouse_next_text(line), *parent_key = sb_warehouse_next_text(line);
	char path[1024];

	s->order = sb_warehouse_next_integer(line) * SB_AGGREGATE_ORDER_STEP;
	s->order += sb_warehouse_next_integer(line);
	if (sb_warehouse_next_integer(line) >= 0 && !*parent_key) {
		path_above(key, name, path, sizeof path);
		parent_key = path;
	}
	s->key = sb_aggregate_keep(r->a, key);
	s->parent_key = *parent_key ? sb_aggregate_keep(r->a, parent_key) : NULL;
	return s->key ? 0 : STROBE_ENOMEM;
}

static int take_stage(struct sb_warehouse_reading *r, char *line)
{
	struct sb_aggregate_stage s = { 0 };
	const char *name = sb_warehouse_next_text(&line), *code = sb_warehouse_next_text(&line);
	int err;

	s.depth = (uint32_t)sb_warehouse_next_integer(&line);
	s.role = (uint32_t)sb_warehouse_next_integer(&line);
	s.call_count = sb_warehouse_next_count(&line);
	s.min_s = sb_warehouse_next_number(&line);
	s.max_s = sb_warehouse_next_number(&line);
	err = take_keys(r, &s, name, &line);
	if (!err && take_times(r, &line, &s) && take_buckets(&line, &s.calls))
		err = sb_aggregate_add_stage(r->a, &s, name, code);
	else
		err = sb_fail(STROBE_ENOMEM, "no memory for the warehouse's answer");
	if (err)
		sb_aggregate_stage_done(&s);
	return err;
}

static int64_t largest_world(const struct sb_aggregate *a)
{
	int64_t world = -1;

	for (size_t i = 0; i < a->rank_count; i++)
		world = a->ranks[i].world_size > world ? a->ranks[i].world_size : world;
	return world;
}

/* Of several world sizes the report is on the largest. */
static void put_world(const struct sb_warehouse_reading *r, struct sb_buf *sql)
{
	int64_t world = largest_world(r->a);
	char table[160];

	sb_buf_printf(sql, " AND run GLOBAL IN (SELECT run FROM %s WHERE world_size = %lld AND ",
		sb_warehouse_table(r->w, "runs", table, sizeof table), (long long)world);
	sb_warehouse_put_job(r->w, sql);
	sb_buf_putc(sql, ')');
}

static bool has_worlds(const struct sb_aggregate *a)
{
	for (size_t i = 1; i < a->rank_count; i++)
		if (a->ranks[i].world_size != a->ranks[0].world_size)
			return true;
	return false;
}

/* From the inside out: rows that were sent twice count once; then one row per rank and stage; then one per stage. Name,
 * place and parent are those of the lowest rank that has it. */
static void put_question(const struct sb_warehouse_reading *r, struct sb_buf *sql)
{
	char table[160];

	sb_buf_puts(sql, "SELECT n2, c2, d2, r2, q2, lo2, hi2, k0, pk2, o2.1, o2.2, pa2, "
			 "arrayStringConcat(arrayMap(x -> toString(x), rs2), ','), "
			 "arrayStringConcat(arrayMap(x -> toString(x), ts2), ','), "
			 "arrayStringConcat(arrayMap(x -> toString(x), fs2), ','), "
			 "arrayStringConcat(arrayMap(x -> toString(x), m2.1), ','), "
			 "arrayStringConcat(arrayMap(x -> toString(x), m2.2), ',') ");
	sb_buf_puts(sql,
		"FROM (SELECT k0, argMin(n1, o1) AS n2, argMin(c1, o1) AS c2, argMin(d1, o1) AS d2, "
		"argMin(r1, o1) AS r2, argMin(pk1, o1) AS pk2, argMin(pa1, o1) AS pa2, min(o1) AS o2, "
		"sum(q1) AS q2, if(countIf(NOT isNaN(lo1)) = 0, nan, minIf(lo1, NOT isNaN(lo1))) AS lo2, "
		"if(countIf(NOT isNaN(hi1)) = 0, nan, maxIf(hi1, NOT isNaN(hi1))) AS hi2, "
		"sumMap(b1, bc1) AS m2, groupArray(" SB_WAREHOUSE_RUN ") AS rs2, groupArray(t1) AS ts2, "
		"groupArray(f1) AS fs2 ");
	sb_buf_puts(sql,
		"FROM (SELECT run, k0, tuple(rank, toInt64(min(place))) AS o1, argMin(n0, place) AS n1, "
		"argMin(c0, place) AS c1, argMin(d0, place) AS d1, argMin(r0, place) AS r1, "
		"argMin(pk0, place) AS pk1, argMin(pa0, place) AS pa1, sum(q0) AS q1, "
		"if(countIf(NOT isNaN(lo0)) = 0, nan, minIf(lo0, NOT isNaN(lo0))) AS lo1, "
		"if(countIf(NOT isNaN(hi0)) = 0, nan, maxIf(hi0, NOT isNaN(hi0))) AS hi1, "
		"sum(t0) AS t1, sum(f0) AS f1, sumMap(b0, bc0) AS m1, m1.1 AS b1, m1.2 AS bc1 ");
	sb_buf_printf(sql,
		"FROM (SELECT run, rank, place, any(stage_key) AS k0, any(name) AS n0, any(code) AS c0, "
		"%s AS pk0, any(parent) AS pa0, any(depth) AS d0, any(role) AS r0, any(calls) AS q0, "
		"any(min_s) AS lo0, any(max_s) AS hi0, any(total_s) AS t0, any(self_s) AS f0, "
		"any(bucket) AS b0, any(bucket_calls) AS bc0 FROM %s WHERE NOT isNaN(total_s) AND ",
		sb_warehouse_column(r, "any(parent_key)", "''"),
		sb_warehouse_table(r->w, "stages", table, sizeof table));
	sb_warehouse_put_job(r->w, sql);
	if (has_worlds(r->a))
		put_world(r, sql);
	sb_buf_puts(sql, " GROUP BY run, rank, place) GROUP BY run, rank, k0) GROUP BY k0)");
}

int sb_warehouse_read_stages(struct sb_warehouse_reading *r)
{
	struct sb_buf sql = { 0 };
	int err;

	put_question(r, &sql);
	err = sb_warehouse_each(r, &sql, STAGE_COLUMNS, take_stage);
	sb_buf_done(&sql);
	return err;
}
