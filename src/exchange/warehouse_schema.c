/* Rows carry the version of the load they belong to; the row in `runs` comes last and makes them
 * count. Equal rows (a batch that was sent twice) merge into one; rows of other versions never
 * touch each other. Buckets are those of base/histogram.h: sumMap adds them up over ranks, and
 * quantiles follow with the same error. */
#include "exchange/warehouse_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct column {
	const char *name, *type;
	const char *modern; /* its type and codec there; NULL: the same */
};

#define WORD "LowCardinality(String)"
#define SMOOTH "Float64 CODEC(Gorilla, ZSTD)"
#define COUNTED "UInt64 CODEC(Delta, ZSTD)"
#define PLAIN_FLOATS "Float64 CODEC(ZSTD)"

#define COMMON                                                                                  \
	{ "job", "String", WORD }, { "run", "String", NULL }, { "version", "UInt64", COUNTED }, \
		{ "start", "DateTime", "DateTime CODEC(Delta, ZSTD)" },                         \
	{                                                                                       \
		"rank", "Int32", NULL                                                           \
	}
#define END                      \
	{                        \
		NULL, NULL, NULL \
	}

static const struct column runs[] = { { "job", "String", WORD }, { "run", "String", NULL },
	{ "version", "UInt64", COUNTED }, { "rank", "Int32", NULL }, { "world_size", "Int32", NULL },
	{ "name", "String", WORD }, { "host", "String", WORD }, { "start", "DateTime", NULL },
	{ "start_ns", "UInt64", COUNTED }, { "complete", "UInt8", NULL }, { "damage", "String", NULL },
	{ "metric_key", "Array(String)", "Array(LowCardinality(String))" },
	{ "metric_value", "Array(Float64)", NULL },
	{ "tag_key", "Array(String)", "Array(LowCardinality(String))" },
	{ "tag_value", "Array(String)", NULL }, /* schema 4: */ { "session", "String", NULL },
	{ "clock", "String", WORD }, { "gpu", "String", NULL }, { "collective_total", "UInt64", NULL },
	{ "pair_scope", "Array(UInt8)", NULL }, { "pair_key", "Array(String)", NULL },
	{ "pair_value", "Array(String)", NULL }, { "lane_name", "Array(String)", NULL },
	{ "lane", "String", NULL }, END };
static const struct column stages[] = { COMMON, { "place", "UInt32", NULL }, { "parent", "Int32", NULL },
	{ "stage_key", "String", WORD }, { "name", "String", WORD }, { "code", "String", WORD },
	{ "depth", "UInt16", NULL }, { "role", "UInt8", NULL }, { "state", "UInt8", NULL },
	{ "calls", "UInt64", NULL }, { "total_s", "Float64", PLAIN_FLOATS },
	{ "self_s", "Float64", PLAIN_FLOATS }, { "min_s", "Float64", PLAIN_FLOATS },
	{ "max_s", "Float64", PLAIN_FLOATS }, { "bucket", "Array(UInt32)", NULL },
	{ "bucket_calls", "Array(UInt64)", NULL }, { "parent_key", "String", WORD }, END };
static const struct column steps[] = { COMMON, { "kind", "String", WORD }, { "step_index", "UInt32", NULL },
	{ "duration_s", "Float64", PLAIN_FLOATS }, { "weight", "UInt32 DEFAULT 1", NULL },
	{ "sum_s", "Float64 DEFAULT duration_s", NULL }, END };
static const struct column samples[] = { COMMON, { "source", "String", WORD }, { "device", "Int32", NULL },
	{ "metric", "String", WORD }, { "t_s", "Float64", SMOOTH }, { "value", "Float64", SMOOTH }, END };
static const struct column kernels[] = { COMMON, { "name", "String", NULL }, { "calls", "UInt64", NULL },
	{ "total_s", "Float64", NULL }, END };
static const struct column collectives[] = { COMMON, { "name", "String", WORD },
	{ "occurrence", "UInt32", "UInt32 CODEC(Delta, ZSTD)" }, { "start_ns", "UInt64", COUNTED },
	{ "begin_s", "Float64", SMOOTH }, { "end_s", "Float64", SMOOTH }, { "place", "UInt32", NULL },
	{ "root", "Int32", NULL }, { "hidden_s", "Float64", NULL }, { "bytes", "Float64", NULL },
	{ "late_end", "UInt8", NULL }, { "apart_s", "Float64", NULL }, END };

static const struct {
	const char *name;
	const struct column *columns;
	const char *order;
} tables[] = {
	{ "runs", runs, "job, run" },
	{ "stages", stages, "job, run, version, place" },
	{ "steps", steps, "job, run, version, kind, step_index" },
	{ "samples", samples, "job, run, version, source, device, metric, t_s" },
	{ "gpu_kernels", kernels, "job, run, version, name" },
	{ "meetings", collectives, "job, run, version, name, occurrence" },
};
enum { TABLES = sizeof tables / sizeof tables[0], BEFORE = 2 }; /* the database, and its version's table */

bool sb_warehouse_is_modern(const char *version)
{
	return strtol(version, NULL, 10) >= 20;
}

static void put_cluster(const struct sb_warehouse_schema *s, struct sb_buf *out)
{
	if (s->on_cluster && *s->cluster)
		sb_buf_printf(out, " ON CLUSTER %s", s->cluster);
}

static void put_engine(const struct sb_warehouse_schema *s, const char *kind, const char *table,
	const char *argument, struct sb_buf *out)
{
	sb_buf_printf(out, " ENGINE = %s%s", s->replicated ? "Replicated" : "", kind);
	if (s->replicated)
		sb_buf_printf(out, "('/clickhouse/tables/{shard}/%s/%s', '{replica}'%s%s)", s->database,
			table, *argument ? ", " : "", argument);
	else if (*argument)
		sb_buf_printf(out, "(%s)", argument);
}

static void put_table(const struct sb_warehouse_schema *s, unsigned t, struct sb_buf *out)
{
	sb_buf_printf(out, "CREATE TABLE IF NOT EXISTS %s.%s", s->database, tables[t].name);
	put_cluster(s, out);
	for (const struct column *c = tables[t].columns; c->name; c++)
		sb_buf_printf(out, "%s%s %s", c == tables[t].columns ? " (" : ", ", c->name,
			s->modern && c->modern ? c->modern : c->type);
	sb_buf_putc(out, ')');
	put_engine(s, "ReplacingMergeTree", tables[t].name, "version", out);
	sb_buf_printf(out, " PARTITION BY toYYYYMM(start) ORDER BY (%s)", tables[t].order);
	if (s->modern && s->ttl_days)
		sb_buf_printf(out, " TTL start + INTERVAL %u DAY", s->ttl_days);
}

unsigned sb_warehouse_table_count(void)
{
	return TABLES;
}

const char *sb_warehouse_table_name(unsigned i)
{
	return tables[i].name;
}

static bool has_line(const char *lines, const char *name)
{
	size_t size = strlen(name);

	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
		if (!strncmp(lines, name, size) && (lines[size] == '\n' || !lines[size]))
			return true;
	return false;
}

/* Plain types: the same in a table and in the Distributed one above it. */
void sb_warehouse_add_columns(unsigned i, const char *table, const char *have, struct sb_buf *out)
{
	const char *before = NULL;

	for (const struct column *c = tables[i].columns; c->name; c++)
		if (!has_line(have, c->name)) {
			if (before)
				sb_buf_puts(out, before);
			else
				sb_buf_printf(out, "ALTER TABLE %s ", table);
			sb_buf_printf(out, "ADD COLUMN %s %s", c->name, c->type);
			before = ", ";
		}
}

unsigned sb_warehouse_statement_count(const struct sb_warehouse_schema *s)
{
	return BEFORE + (*s->cluster ? 2 : 1) * TABLES;
}

void sb_warehouse_statement(const struct sb_warehouse_schema *s, unsigned i, struct sb_buf *out)
{
	if (i == 0) {
		sb_buf_printf(out, "CREATE DATABASE IF NOT EXISTS %s", s->database);
		put_cluster(s, out);
	} else if (i == 1) {
		sb_buf_printf(out, "CREATE TABLE IF NOT EXISTS %s.strobe_schema", s->database);
		put_cluster(s, out);
		sb_buf_puts(out, " (version UInt32, made DateTime DEFAULT now())");
		put_engine(s, "MergeTree", "strobe_schema", "", out);
		sb_buf_puts(out, " ORDER BY version");
	} else if (i < BEFORE + TABLES) {
		put_table(s, i - BEFORE, out);
	} else {
		const char *name = tables[i - BEFORE - TABLES].name;

		sb_buf_printf(out, "CREATE TABLE IF NOT EXISTS %s.%s_all", s->database, name);
		put_cluster(s, out);
		sb_buf_printf(out, " AS %s.%s ENGINE = Distributed(%s, %s, %s)", s->database, name,
			s->cluster, s->database, name);
	}
}

void sb_warehouse_print_schema(const struct sb_warehouse_schema *s, struct sb_buf *out)
{
	sb_buf_printf(out,
		"-- strobe's warehouse, schema %d. Loaders then need: GRANT INSERT, SELECT ON %s.* TO ...\n",
		SB_WAREHOUSE_SCHEMA, s->database);
	for (unsigned i = 0; i < sb_warehouse_statement_count(s); i++) {
		sb_warehouse_statement(s, i, out);
		sb_buf_puts(out, ";\n");
	}
	sb_buf_printf(out,
		"INSERT INTO %s.strobe_schema (version) SELECT %d WHERE (SELECT max(version) FROM "
		"%s.strobe_schema) < %d;\n",
		s->database, SB_WAREHOUSE_SCHEMA, s->database, SB_WAREHOUSE_SCHEMA);
}
