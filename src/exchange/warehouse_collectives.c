/* Where ranks meet: matched and judged inside the engine, as analyze/align.c and
 * analyze/aggregate_straggler.c do it here. */
#include "exchange/warehouse.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static struct sb_aggregate_rank *rank_at(struct sb_aggregate *a, int64_t rank)
{
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].rank == rank)
			return &a->ranks[i];
	return NULL;
}

/* FROM: the job's collectives, those that were sent twice once. */
static void put_collectives(const struct sb_warehouse *w, struct sb_buf *sql, const char *run)
{
	char table[160];

	sb_buf_printf(sql,
		"(SELECT rank, name, occurrence, any(begin_s) AS b, any(end_s) AS e, any(start_ns) AS s FROM "
		"%s "
		"WHERE ",
		sb_warehouse_table(w, "meetings", table, sizeof table));
	sb_warehouse_put_job(w, run, sql);
	sb_buf_puts(sql, " GROUP BY run, rank, name, occurrence)");
}

/* A percentile as statistics.c has it, of a sorted array called `of`. */
static void put_percentile(struct sb_buf *sql, const char *of, double q)
{
	sb_buf_printf(sql,
		"%s[1 + toUInt32(floor(%g * (n - 1)))] + (%g * (n - 1) - floor(%g * (n - 1))) * (%s[least(n, "
		"2 + "
		"toUInt32(floor(%g * (n - 1))))] - %s[1 + toUInt32(floor(%g * (n - 1)))])",
		of, q, q, q, of, q, of, q);
}

/* By how much each rank's clock says later than the first's that a collective ended. */
static int align(const struct sb_warehouse *w, struct sb_aggregate *a)
{
	const struct sb_aggregate_rank *first = &a->ranks[0];
	struct sb_buf sql = { 0 }, answer = { 0 };
	int err;

	sb_buf_puts(&sql, "SELECT rank, n, if(n = 0, nan, middle), if(n = 0, nan, ");
	put_percentile(&sql, "scatter", 0.95);
	sb_buf_puts(&sql, ") FROM (SELECT rank, n, middle, arraySort(arrayMap(x -> abs(x - middle), later)) "
			  "AS scatter FROM "
			  "(SELECT rank, later, toUInt32(length(later)) AS n, ");
	put_percentile(&sql, "later", 0.5);
	sb_buf_printf(&sql,
		" AS middle FROM (SELECT rank, arraySort(groupArrayIf(e + (toInt64(s) - toInt64(%llu)) / 1e9 "
		"- "
		"first_e, found = 1)) AS later FROM ",
		(unsigned long long)first->start_real_ns);
	put_collectives(w, &sql, NULL);
	sb_buf_puts(&sql, " GLOBAL ANY LEFT JOIN (SELECT name, occurrence, e AS first_e, 1 AS found FROM ");
	put_collectives(w, &sql, first->id);
	sb_buf_puts(&sql, ") USING (name, occurrence) GROUP BY rank)))");
	err = sb_warehouse_ask(w, &sql, 4, &answer);
	for (char *rest = answer.data; !err && rest && *rest;) {
		char *line = strsep(&rest, "\n");
		struct sb_aggregate_rank *r = rank_at(a, (int64_t)sb_warehouse_next_number(&line));
		size_t matched = (size_t)sb_warehouse_next_number(&line);
		double later_s = sb_warehouse_next_number(&line), scatter_s = sb_warehouse_next_number(&line);

		if (!r)
			continue;
		a->collectives_elsewhere = true;
		r->caused_wait_s = a->rank_count > 1 ? 0 : NAN;
		if (r != first)
			sb_align_settle(&r->align, first->host, matched, later_s, scatter_s);
	}
	sb_buf_done(&sql);
	sb_buf_done(&answer);
	return err;
}

/* ", transform(rank, [...], [...], 0.)": what to add to a rank's times. */
static void put_offsets(struct sb_buf *sql, const struct sb_aggregate *a)
{
	sb_buf_puts(sql, "transform(rank, [-1");
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].align.offset_s != 0)
			sb_buf_printf(sql, ",%lld", (long long)a->ranks[i].rank);
	sb_buf_puts(sql, "], [0.");
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].align.offset_s != 0)
			sb_buf_printf(sql, ",%.9f", a->ranks[i].align.offset_s);
	sb_buf_puts(sql, "], 0.)");
}

/* A collective counts that more than half of the ranks know, the first among them. */
static int judge(const struct sb_warehouse *w, struct sb_aggregate *a)
{
	struct sb_buf sql = { 0 }, answer = { 0 };
	int err;

	sb_buf_puts(&sql,
		"SELECT last, count(), sum(waited) FROM (SELECT name, occurrence, count() AS there, "
		"argMax(rank, tuple(at, -rank)) AS last, there * max(at) - sum(at) AS waited FROM (SELECT "
		"rank, "
		"name, occurrence, ");
	sb_buf_printf(&sql, "b + (toInt64(s) - toInt64(%llu)) / 1e9 + ",
		(unsigned long long)a->ranks[0].start_real_ns);
	put_offsets(&sql, a);
	sb_buf_puts(&sql, " AS at FROM ");
	put_collectives(w, &sql, NULL);
	sb_buf_printf(&sql,
		") GROUP BY name, occurrence HAVING there > 1 AND there * 2 > %zu AND countIf(rank = %lld) > "
		"0) "
		"GROUP BY last",
		a->rank_count, (long long)a->ranks[0].rank);
	err = sb_warehouse_ask(w, &sql, 3, &answer);
	for (char *rest = answer.data; !err && rest && *rest;) {
		char *line = strsep(&rest, "\n");
		struct sb_aggregate_rank *r = rank_at(a, (int64_t)sb_warehouse_next_number(&line));
		size_t count = (size_t)sb_warehouse_next_number(&line);

		a->collective_count += count;
		if (!r)
			continue;
		r->last_count = count;
		r->caused_wait_s = sb_warehouse_next_number(&line);
	}
	sb_buf_done(&sql);
	sb_buf_done(&answer);
	return err;
}

/* A database of schema 1 has no such table until something is loaded into it. */
static int has_collectives(const struct sb_warehouse *w, bool *out_has)
{
	struct sb_buf sql = { 0 }, answer = { 0 };
	char table[160];
	int err;

	sb_buf_printf(&sql, "EXISTS TABLE %s", sb_warehouse_table(w, "meetings", table, sizeof table));
	err = sb_warehouse_ask(w, &sql, 1, &answer);
	*out_has = sb_buf_text(&answer)[0] == '1';
	sb_buf_done(&sql);
	sb_buf_done(&answer);
	return err;
}

int sb_warehouse_meet(const struct sb_warehouse *w, struct sb_aggregate *a)
{
	struct sb_align_rank *clocks;
	bool has = false;
	int err = has_collectives(w, &has);

	if (!err && has)
		err = align(w, a);
	if (err || !a->collectives_elsewhere)
		return err;
	clocks = malloc(a->rank_count * sizeof *clocks);
	if (!clocks)
		return sb_fail(STROBE_ENOMEM, "no memory for the clocks of %zu ranks", a->rank_count);
	for (size_t i = 0; i < a->rank_count; i++)
		clocks[i] = a->ranks[i].align;
	a->residual_s = sb_align_residual(clocks, a->rank_count);
	free(clocks);
	return a->rank_count > 1 ? judge(w, a) : 0;
}
