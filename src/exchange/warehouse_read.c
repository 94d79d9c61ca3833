/* A job out of the warehouse. The engine delivers what its ranks are and what their stages took; who is late and what a
 * quantile is, the aggregate concludes, as it does from files. */
#include "exchange/warehouse.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define RANK_COLUMNS 16
#define BETWEEN_NAMES "\x1f"

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the warehouse's answer");
}

static void put_job_key(const struct sb_warehouse *w, struct sb_buf *sql)
{
	char key[SB_WAREHOUSE_JOB_SIZE];

	sb_warehouse_quote(sql, sb_warehouse_job_key(w, w->job, key, sizeof key));
}

void sb_warehouse_put_job(const struct sb_warehouse *w, struct sb_buf *sql)
{
	char table[160];

	sb_buf_puts(sql, "job = ");
	put_job_key(w, sql);
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

char *sb_warehouse_next_text(char **rest)
{
	static char none[1];
	char *field = next_field(rest);

	return field ? field : none;
}

double sb_warehouse_next_number(char **rest)
{
	const char *field = next_field(rest);

	return field ? strtod(field, NULL) : NAN; /* "nan" reads as NaN */
}

uint64_t sb_warehouse_next_count(char **rest)
{
	return strtoull(sb_warehouse_next_text(rest), NULL, 10);
}

int32_t sb_warehouse_next_integer(char **rest)
{
	return (int32_t)strtol(sb_warehouse_next_text(rest), NULL, 10);
}

int sb_warehouse_each(struct sb_warehouse_reading *r, struct sb_buf *sql, unsigned columns,
	int (*take)(struct sb_warehouse_reading *, char *line))
{
	struct sb_buf answer = { 0 };
	int err = sb_warehouse_ask(r->w, sql, columns, &answer);
	char *rest = answer.data;

	while (rest && *rest && !err)
		err = take(r, strsep(&rest, "\n"));
	sb_buf_done(&answer);
	return err;
}

const char *sb_warehouse_column(
	const struct sb_warehouse_reading *r, const char *column, const char *otherwise)
{
	return r->schema >= 4 ? column : otherwise;
}

/* ---- which run is which ------------------------------------------------- */

static int by_run(const void *a, const void *b)
{
	const struct sb_warehouse_slot *x = a, *y = b;

	return (x->run > y->run) - (x->run < y->run);
}

int64_t sb_warehouse_slot_of(const struct sb_warehouse_reading *r, uint64_t run)
{
	const struct sb_warehouse_slot key = { run, 0 };
	const struct sb_warehouse_slot *found =
		r->slot_count ? bsearch(&key, r->slots, r->slot_count, sizeof *r->slots, by_run) : NULL;

	return found ? (int64_t)found->slot : -1;
}

static bool add_slot(struct sb_warehouse_reading *r, uint64_t run)
{
	struct sb_warehouse_slot *grown = r->slots;

	if (!(r->slot_count & (r->slot_count - 1)))
		grown = realloc(r->slots, (r->slot_count ? 2 * r->slot_count : 1) * sizeof *grown);
	if (!grown)
		return false;
	r->slots = grown;
	r->slots[r->slot_count] = (struct sb_warehouse_slot){ run, r->slot_count };
	r->slot_count++;
	return true;
}

/* ---- ranks -------------------------------------------------------------- */

static void take_metrics(struct sb_facts *f, char *keys, char *values)
{
	while (keys && values) {
		const char *key = strsep(&keys, ","), *value = strsep(&values, ",");

		for (int m = 0; m < SB_METRIC_COUNT && *value; m++)
			if (!strcmp(sb_metric_infos[m].key, key))
				f->metrics[m] = strtod(value, NULL);
	}
}

char sb_warehouse_lane_letter(uint8_t number)
{
	return (char)(number < SB_STAGE_LANE_NAMES ? '0' + number : '-');
}

static uint8_t number_of(char letter)
{
	return (uint8_t)(letter >= '0' && letter < (char)('0' + SB_STAGE_LANE_NAMES) ? letter - '0'
										     : SB_STAGE_LANE_NONE);
}

static bool take_lane(struct sb_facts *f, char *names, const char *letters)
{
	struct sb_stage_lane *lane = &f->stage_lane;

	if (!*names || strlen(letters) != SB_STAGE_LANE_BINS)
		return true;
	lane->names = calloc(SB_STAGE_LANE_NAMES, sizeof *lane->names);
	lane->bins = malloc(SB_STAGE_LANE_BINS);
	if (!lane->names || !lane->bins)
		return false;
	while (names && lane->name_count < SB_STAGE_LANE_NAMES)
		lane->names[lane->name_count++] = sb_facts_text(f, strsep(&names, BETWEEN_NAMES));
	for (size_t i = 0; i < SB_STAGE_LANE_BINS; i++)
		lane->bins[i] = number_of(letters[i]);
	return true;
}

static const char *text_or_null(struct sb_facts *f, const char *text)
{
	return *text ? sb_facts_text(f, text) : NULL;
}

static bool fill_rank(struct sb_facts *f, char *line)
{
	char *keys, *names;

	f->rank = sb_warehouse_next_integer(&line);
	f->world_size = sb_warehouse_next_integer(&line);
	f->host = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->label = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->start_real_ns = sb_warehouse_next_count(&line);
	f->complete = sb_warehouse_next_integer(&line) != 0;
	f->damage = text_or_null(f, sb_warehouse_next_text(&line));
	f->name = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->id = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->id = *f->id ? f->id : f->label;
	f->clock = sb_facts_text(f, sb_warehouse_next_text(&line));
	f->gpu = text_or_null(f, sb_warehouse_next_text(&line));
	keys = sb_warehouse_next_text(&line);
	take_metrics(f, keys, sb_warehouse_next_text(&line));
	names = sb_warehouse_next_text(&line);
	return take_lane(f, names, sb_warehouse_next_text(&line));
}

static int take_rank(struct sb_warehouse_reading *r, char *line)
{
	struct sb_facts *f = sb_facts_new("");
	uint64_t run = sb_warehouse_next_count(&line);
	int err = f && fill_rank(f, line) && add_slot(r, run) ? 0 : no_memory();

	if (!err)
		err = sb_aggregate_add(r->a, f);
	sb_facts_free(f);
	return err;
}

static void put_new_column(const struct sb_warehouse_reading *r, struct sb_buf *sql, const char *column)
{
	sb_buf_printf(sql, "%s, ", sb_warehouse_column(r, column, "''"));
}

static int read_ranks(struct sb_warehouse_reading *r)
{
	struct sb_buf sql = { 0 };
	char table[160];
	int err;

	sb_buf_puts(&sql, "SELECT " SB_WAREHOUSE_RUN ", any(rank), any(world_size), any(host), run, "
			  "any(start_ns), any(complete), any(damage), any(name), ");
	put_new_column(r, &sql, "any(session)");
	put_new_column(r, &sql, "any(clock)");
	put_new_column(r, &sql, "any(gpu)");
	sb_buf_puts(&sql, "arrayStringConcat(any(metric_key), ','), arrayStringConcat(arrayMap(x -> "
			  "toString(x), any(metric_value)), ','), ");
	put_new_column(r, &sql, "arrayStringConcat(any(lane_name), '\\x1f')");
	sb_buf_printf(&sql, "%s FROM %s WHERE ", sb_warehouse_column(r, "any(lane)", "''"),
		sb_warehouse_table(r->w, "runs", table, sizeof table));
	sb_warehouse_put_job(r->w, &sql);
	sb_buf_puts(&sql, " GROUP BY run ORDER BY any(rank), run");
	err = sb_warehouse_each(r, &sql, RANK_COLUMNS, take_rank);
	sb_buf_done(&sql);
	if (!err && r->slot_count)
		qsort(r->slots, r->slot_count, sizeof *r->slots, by_run);
	return err;
}

/* ---- command, tags, settings: of the first rank, as everywhere ---------- */

static int take_pair(struct sb_warehouse_reading *r, char *line)
{
	int scope = sb_warehouse_next_integer(&line);
	const char *key = sb_warehouse_next_text(&line);

	if (scope < SB_FACT_TAG || scope > SB_FACT_COMMAND)
		return 0;
	return sb_aggregate_add_pair(r->a, (enum sb_fact_scope)scope, key, sb_warehouse_next_text(&line));
}

static int read_pairs(struct sb_warehouse_reading *r)
{
	struct sb_buf sql = { 0 };
	char table[160];
	int err;

	if (r->schema < 4)
		return 0;
	sb_buf_printf(&sql,
		"SELECT scope, key, value FROM (SELECT pair_scope, pair_key, pair_value FROM %s WHERE ",
		sb_warehouse_table(r->w, "runs", table, sizeof table));
	sb_warehouse_put_job(r->w, &sql);
	sb_buf_puts(&sql, " ORDER BY rank, run LIMIT 1) ARRAY JOIN pair_scope AS scope, pair_key AS key, "
			  "pair_value AS value, arrayEnumerate(pair_scope) AS place ORDER BY place");
	err = sb_warehouse_each(r, &sql, 3, take_pair);
	sb_buf_done(&sql);
	return err;
}

/* ---- the whole ---------------------------------------------------------- */

static int read_job(struct sb_warehouse_reading *r)
{
	int err = sb_warehouse_version(r->w, &r->schema);

	if (!err)
		err = read_ranks(r);
	if (!err && !r->slot_count)
		err = sb_fail(
			STROBE_ENOENT, "the warehouse has no job '%s' in '%s'", r->w->job, r->w->database);
	if (!err)
		err = read_pairs(r);
	if (!err)
		err = sb_warehouse_read_collectives(r);
	if (!err)
		err = sb_warehouse_read_stages(r);
	if (!err)
		err = sb_aggregate_finish(r->a);
	if (!err && !(r->a->job = strdup(r->w->job)))
		err = no_memory();
	return err;
}

int sb_warehouse_aggregate(const struct sb_warehouse *w, struct sb_aggregate **out_aggregate)
{
	struct sb_warehouse_reading r = { .w = w };
	int err;

	if (!*w->job)
		return sb_fail(STROBE_EINVAL, "no job given: clickhouse://%s:%s/%s?job=ID", w->host, w->port,
			w->database);
	r.a = sb_aggregate_new();
	err = r.a ? read_job(&r) : STROBE_ENOMEM;
	free(r.slots);
	if (err) {
		sb_aggregate_free(r.a);
		return err;
	}
	*out_aggregate = r.a;
	return 0;
}
