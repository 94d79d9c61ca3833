/* `strobe export RUN --to clickhouse://...`: a run, or all ranks of a job. */
#ifndef CLI_EXPORT_WAREHOUSE_H
#define CLI_EXPORT_WAREHOUSE_H

/* Returns the exit code. */
int export_warehouse(const char *spec, const char *url);

#endif
