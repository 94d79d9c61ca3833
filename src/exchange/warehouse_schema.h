/* The warehouse's tables as statements: for a loader that may make them, and for an operator who
 * applies them, so that loaders need no more than INSERT. */
#ifndef SB_EXCHANGE_WAREHOUSE_SCHEMA_H
#define SB_EXCHANGE_WAREHOUSE_SCHEMA_H

#include "base/buf.h"

#include <stdbool.h>

#define SB_WAREHOUSE_SCHEMA 4

struct sb_warehouse_schema {
	const char *database;
	const char *cluster; /* "": one server; else ON CLUSTER, with Distributed tables */
	bool modern; /* LowCardinality and codecs: servers from 20 on */
	bool replicated; /* Replicated engines, by the macros {shard} and {replica} */
	unsigned ttl_days; /* rows go after so many days; 0: never. Modern ones only */
	bool on_cluster; /* the statements reach every server of the cluster */
};

/* "20.3.1.1": whether a server of that version knows what modern tables need. */
bool sb_warehouse_is_modern(const char *version);
/* How many statements; the i-th of them, without its end. */
unsigned sb_warehouse_statement_count(const struct sb_warehouse_schema *s);
void sb_warehouse_statement(const struct sb_warehouse_schema *s, unsigned i, struct sb_buf *out);
/* The tables that a database of an older schema may lack columns of, and the i-th statement that adds what is not in
 * `have` (names, each in a line); nothing: the table has all. */
unsigned sb_warehouse_table_count(void);
const char *sb_warehouse_table_name(unsigned i);
void sb_warehouse_add_columns(unsigned i, const char *table, const char *have, struct sb_buf *out);
/* All of them for a person or `clickhouse-client --multiquery`. */
void sb_warehouse_print_schema(const struct sb_warehouse_schema *s, struct sb_buf *out);

#endif
