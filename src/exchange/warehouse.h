/* The warehouse: many runs and ranks in ClickHouse, over HTTP, where one machine
 * is not enough. docs/warehouse.md has the tables. */
#ifndef SB_EXCHANGE_WAREHOUSE_H
#define SB_EXCHANGE_WAREHOUSE_H

#include "compare/aggregate.h"
#include "compare/facts.h"
#include "base/buf.h"

struct sb_warehouse {
	char host[256];
	char port[16];
	char database[64];
	char job[256]; /* "" : each run's own */
	char tenant[64]; /* "" : none; its jobs are called "TENANT/ID" */
	char cluster[64]; /* "" : one server */
	bool replicated; /* tables are made ON CLUSTER, with Replicated engines */
	char user[128];
	char password[256];
	bool tls;
	char ca_path[4096]; /* "" : the authorities of the machine */
	double retry_s; /* how long a server may be away or silent, tries included */
};

/* True for a URL that sb_warehouse_open() takes. */
bool sb_warehouse_is_url(const char *text);

/* clickhouse://HOST[:8123]/DATABASE[?job=ID][&cluster=NAME], or https://HOST[:8443]/... through TLS: there the
 * certificate is checked, against the file that STROBE_CLICKHOUSE_CA names where it is set. Credentials come
 * from STROBE_CLICKHOUSE_USER and STROBE_CLICKHOUSE_PASSWORD, or from the file
 * that STROBE_CLICKHOUSE_FILE names (user on the first line, password on the
 * second); in the URL they are refused. Connects to nothing yet. */
int sb_warehouse_open(const char *url, struct sb_warehouse *out_warehouse);

/* Makes the database and the tables where missing, as the server's version knows them; refuses a newer
 * schema. Where they are there, INSERT and SELECT are all that is needed. */
int sb_warehouse_prepare(const struct sb_warehouse *w);

/* Its tables, for a server of today; the operator's server may be older: modern. */
struct sb_warehouse_schema;
void sb_warehouse_schema_of(const struct sb_warehouse *w, struct sb_warehouse_schema *out_schema);

struct sb_warehouse_load {
	uint64_t rows, bytes, retries;
};
/* Loads any number of runs, in batches, trying again while the server is away. A
 * run that is there already is replaced; half a run is never seen. model may be
 * NULL: then there are no samples and kernels. w stays the caller's. */
struct sb_warehouse_loader;
int sb_warehouse_begin(const struct sb_warehouse *w, struct sb_warehouse_loader **out_loader);
int sb_warehouse_add(
	struct sb_warehouse_loader *l, const struct sb_facts *facts, const struct sb_model *model);
/* Sends the rest and frees; out_load NULL: throws the rest away. Takes NULL. */
int sb_warehouse_end(struct sb_warehouse_loader *l, struct sb_warehouse_load *out_load);

/* Reads the ranks of w->job. The engine adds up over calls and ranks; the rest is computed as for files. */
int sb_warehouse_aggregate(const struct sb_warehouse *w, struct sb_aggregate **out_aggregate);

struct sb_warehouse_point {
	char *job;
	uint64_t start_real_ns;
	double value;
};
/* A metric, or a stage by its name or code, over jobs, as sb_facts_of_job() has it; oldest first. */
struct sb_warehouse_trend {
	const char *metric;
	const char *name; /* of the runs; NULL: any */
	uint64_t since_real_ns; /* 0: any */
	size_t limit;
};
int sb_warehouse_trend(const struct sb_warehouse *w, const struct sb_warehouse_trend *trend,
	struct sb_warehouse_point **out_points, size_t *out_count);
void sb_warehouse_points_free(struct sb_warehouse_point *points, size_t count);

/* ---- for the warehouse's own files ---- */
/* Runs a statement; body (may be NULL) follows it. Tries again while the server
 * is away. The answer, where wanted, goes to out. */
int sb_warehouse_query(const struct sb_warehouse *w, const char *sql, const void *body, size_t size,
	struct sb_buf *out, uint64_t *retries);
/* A question of any length (it goes as the body): every line of the answer has so many fields, or it is refused. */
int sb_warehouse_ask(
	const struct sb_warehouse *w, const struct sb_buf *sql, unsigned columns, struct sb_buf *out);
void sb_warehouse_quote(struct sb_buf *out, const char *text); /* 'text' */
/* What a job is called in there: its tenant's name in front. */
#define SB_WAREHOUSE_JOB_SIZE 384
const char *sb_warehouse_job_key(const struct sb_warehouse *w, const char *job, char *out, size_t size);
/* "job = ... AND ...": the job's rows from loads that were finished: the latest of each run. */
void sb_warehouse_put_job(const struct sb_warehouse *w, struct sb_buf *sql);
/* The schema of the database, as the server has it. */
int sb_warehouse_version(const struct sb_warehouse *w, long *out_version);
/* The next field of a tab-separated answer's line, unescaped in place; past the last: "" and NaN. */
char *sb_warehouse_next_text(char **rest);
double sb_warehouse_next_number(char **rest);
uint64_t sb_warehouse_next_count(char **rest);
int32_t sb_warehouse_next_integer(char **rest);
/* A part of a rank's lane of stages as one letter: '0' + the name's number, '-' none. */
char sb_warehouse_lane_letter(uint8_t number);

/* A job on its way from the engine to the aggregate: its runs are known by a number that the engine makes. */
struct sb_warehouse_slot {
	uint64_t run;
	size_t slot; /* in the order of reading, as in aggregate->ranks before it is finished */
};
struct sb_warehouse_reading {
	const struct sb_warehouse *w;
	struct sb_aggregate *a;
	long schema; /* of the database */
	struct sb_warehouse_slot *slots; /* by run */
	size_t slot_count;
};
#define SB_WAREHOUSE_RUN "cityHash64(run)" /* that number */
/* The slot of a run; -1: it came while we read. */
int64_t sb_warehouse_slot_of(const struct sb_warehouse_reading *r, uint64_t run);
/* A column that came with schema 4, or what stands for it in an older database. */
const char *sb_warehouse_column(
	const struct sb_warehouse_reading *r, const char *column, const char *otherwise);
/* Asks, and hands each line of the answer over. */
int sb_warehouse_each(struct sb_warehouse_reading *r, struct sb_buf *sql, unsigned columns,
	int (*take)(struct sb_warehouse_reading *, char *line));
/* The job's stages, each with what every rank took; its collectives. Nothing is judged here. */
int sb_warehouse_read_stages(struct sb_warehouse_reading *r);
int sb_warehouse_read_collectives(struct sb_warehouse_reading *r);
/* "runs", or on a cluster "runs_all". */
const char *sb_warehouse_table(const struct sb_warehouse *w, const char *table, char *out, size_t size);

#endif
