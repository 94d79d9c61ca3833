/* `strobe export RUN --to clickhouse://...`: a run, or all ranks of a job. */
#ifndef CLI_EXPORT_WAREHOUSE_H
#define CLI_EXPORT_WAREHOUSE_H

/* Returns the exit code. */
int export_warehouse(const char *spec, const char *url);

/* The warehouse's tables on standard output; version NULL or "": today's. */
int export_print_schema(const char *url, const char *version);

#endif
