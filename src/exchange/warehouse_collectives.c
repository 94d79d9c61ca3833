/* Where ranks meet: the calls come from the engine, and are matched and judged as those of
 * recordings are (compare/lateness.c). */
#include "exchange/warehouse.h"

#include "base/error.h"

#include <stdio.h>
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

/* "all_reduce|gloo:0-3:0|root|hidden_ns|bytes", or the name alone: warehouse_insert.c writes them. */
static void read_name(struct sb_aggregate *a, char *text, struct sb_fact_collective *out)
{
	char *rest = text, *name = strsep(&rest, "|"), *group = strsep(&rest, "|"),
	     *root = strsep(&rest, "|"), *hidden = strsep(&rest, "|");

	out->name = sb_aggregate_keep(a, name);
	out->group = group && *group ? sb_aggregate_keep(a, group) : NULL;
	out->root = root ? (int32_t)strtol(root, NULL, 10) : 0;
	out->hidden_s = hidden ? strtod(hidden, NULL) * 1e-9 : 0;
	out->bytes = rest ? strtod(rest, NULL) : 0;
	out->kind = sb_meet_kind_of(out->name);
}

static int add_call(struct sb_aggregate_rank *r, const struct sb_fact_collective *c)
{
	size_t n = r->collective_count;

	if (!(n & (n - 1))) {
		struct sb_fact_collective *more = realloc(r->collectives, (n ? 2 * n : 1) * sizeof *more);

		if (!more)
			return sb_fail(STROBE_ENOMEM, "no memory for the collectives");
		r->collectives = more;
	}
	r->collectives[r->collective_count++] = *c;
	r->collective_total++;
	return 0;
}

static int take_call(struct sb_aggregate *a, char *line)
{
	struct sb_aggregate_rank *r = rank_at(a, (int64_t)sb_warehouse_next_number(&line));
	struct sb_fact_collective c = { 0 };
	char name[1024];

	snprintf(name, sizeof name, "%s", sb_warehouse_next_text(&line));
	read_name(a, name, &c);
	c.occurrence = (int64_t)sb_warehouse_next_number(&line);
	c.begin_s = sb_warehouse_next_number(&line);
	c.end_s = sb_warehouse_next_number(&line);
	return r ? add_call(r, &c) : 0;
}

static int read_calls(const struct sb_warehouse *w, struct sb_aggregate *a)
{
	struct sb_buf sql = { 0 }, answer = { 0 };
	int err;

	sb_buf_puts(&sql, "SELECT rank, name, occurrence, b, e FROM ");
	put_collectives(w, &sql, NULL);
	err = sb_warehouse_ask(w, &sql, 5, &answer);
	for (char *rest = answer.data; !err && rest && *rest;)
		err = take_call(a, strsep(&rest, "\n"));
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
	bool has = false;
	int err = has_collectives(w, &has);

	if (!err && has)
		err = read_calls(w, a);
	return err ? err : sb_aggregate_meet(a);
}
