/* Where ranks meet: the calls come from the engine, and are matched and judged as those of
 * recordings are (compare/lateness.c). */
#include "exchange/warehouse.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define CALL_COLUMNS 10
#define TOTAL_COLUMNS 2

/* "all_reduce|gloo:0-3:0" or the name alone; loads of schema 3 have "|root|hidden_ns|bytes" behind it. */
static void read_name(struct sb_aggregate *a, char *text, struct sb_fact_collective *out)
{
	char *rest = text, *name = strsep(&rest, "|"), *group = strsep(&rest, "|"),
	     *root = strsep(&rest, "|"), *hidden = strsep(&rest, "|");

	out->name = sb_aggregate_keep(a, name);
	out->group = group && *group ? sb_aggregate_keep(a, group) : NULL;
	out->kind = sb_meet_kind_of(out->name);
	if (!root)
		return;
	out->root = (int32_t)strtol(root, NULL, 10);
	out->hidden_s = hidden ? strtod(hidden, NULL) * 1e-9 : 0;
	out->bytes = rest ? strtod(rest, NULL) : 0;
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
	r->collective_total = (int64_t)r->collective_count;
	return 0;
}

static int take_call(struct sb_warehouse_reading *r, char *line)
{
	int64_t slot = sb_warehouse_slot_of(r, sb_warehouse_next_count(&line));
	char *name = sb_warehouse_next_text(&line);
	struct sb_fact_collective c = { .occurrence = (int64_t)sb_warehouse_next_count(&line) };

	c.begin_s = sb_warehouse_next_number(&line);
	c.end_s = sb_warehouse_next_number(&line);
	c.root = sb_warehouse_next_integer(&line);
	c.hidden_s = sb_warehouse_next_number(&line);
	c.bytes = sb_warehouse_next_number(&line);
	c.late_end = sb_warehouse_next_integer(&line) != 0;
	c.apart_s = sb_warehouse_next_number(&line);
	read_name(r->a, name, &c);
	return slot < 0 ? 0 : add_call(&r->a->ranks[slot], &c);
}

/* Those that were sent twice count once; in the order of the recording. */
static int read_calls(struct sb_warehouse_reading *r)
{
	struct sb_buf sql = { 0 };
	char table[160];
	int err;

	sb_buf_puts(&sql, "SELECT " SB_WAREHOUSE_RUN ", name, occurrence, any(begin_s), any(end_s), ");
	sb_buf_puts(&sql,
		sb_warehouse_column(r, "any(root), any(hidden_s), any(bytes), any(late_end), any(apart_s)",
			"0, 0., 0., 0, 0."));
	sb_buf_printf(&sql, " FROM %s WHERE ", sb_warehouse_table(r->w, "meetings", table, sizeof table));
	sb_warehouse_put_job(r->w, &sql);
	sb_buf_printf(&sql, " GROUP BY run, name, occurrence ORDER BY %s, any(begin_s)",
		sb_warehouse_column(r, "any(place)", "run"));
	err = sb_warehouse_each(r, &sql, CALL_COLUMNS, take_call);
	sb_buf_done(&sql);
	return err;
}

static int take_total(struct sb_warehouse_reading *r, char *line)
{
	int64_t slot = sb_warehouse_slot_of(r, sb_warehouse_next_count(&line));
	int64_t total = (int64_t)sb_warehouse_next_count(&line);

	if (slot >= 0 && total > r->a->ranks[slot].collective_total)
		r->a->ranks[slot].collective_total = total;
	return 0;
}

/* How many there were: more than are kept, of a long run. */
static int read_totals(struct sb_warehouse_reading *r)
{
	struct sb_buf sql = { 0 };
	char table[160];
	int err;

	if (r->schema < 4)
		return 0;
	sb_buf_printf(&sql, "SELECT " SB_WAREHOUSE_RUN ", any(collective_total) FROM %s WHERE ",
		sb_warehouse_table(r->w, "runs", table, sizeof table));
	sb_warehouse_put_job(r->w, &sql);
	sb_buf_puts(&sql, " GROUP BY run");
	err = sb_warehouse_each(r, &sql, TOTAL_COLUMNS, take_total);
	sb_buf_done(&sql);
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

int sb_warehouse_read_collectives(struct sb_warehouse_reading *r)
{
	bool has = false;
	int err = has_collectives(r->w, &has);

	if (!err && has)
		err = read_calls(r);
	return err || !has ? err : read_totals(r);
}
