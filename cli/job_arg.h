/* A job that a command was given where it takes a RUN: its ranks in one aggregate. */
#ifndef CLI_JOB_ARG_H
#define CLI_JOB_ARG_H

#include "command.h"

#include "aggregate_find.h"
#include "compare/aggregate.h"
#include "run/job_parts.h"
#include "run/run.h"

#include <limits.h>

/* Whether spec means a job: a folder of ranks, or a run whose recordings are of several. */
bool job_arg_is_job(const char *spec);
/* The ranks of a job, read; prints nothing. threads 0: as many as the machine has cores. */
int job_arg_read(const char *spec, size_t threads, struct sb_aggregate **out_aggregate);
/* The same for inputs that are found already. */
int job_arg_read_inputs(
	const struct aggregate_inputs *inputs, size_t threads, struct sb_aggregate **out_aggregate);
/* Shows a folder of this machine under another name: every path of it in the texts of the aggregate. */
void job_arg_rename(struct sb_aggregate *a, const char *folder, const char *name);
/* Opens a part of a job that is to be copied, and makes its folder, of the same name, in folder. A part
 * that cannot be read is named and left out: then it returns 0 and no run. */
int job_arg_open_part(
	const struct sb_job_part *part, const char *folder, struct sb_run **out_run, char out_path[PATH_MAX]);
/* Text, JSON or a page of it, to standard output or a file. Returns an exit code. */
int job_arg_print(
	const struct args *args, const struct sb_aggregate *a, const char *format, const char *path);
/* aggregated_report.json, .html and .txt into a folder: those of files, as report/files.h names them. */
int job_arg_write(const struct args *args, const struct sb_aggregate *a, const char *folder, unsigned files);

/* The same with the usual rows and without a word; a negative STROBE_E. */
int job_arg_write_quietly(const struct sb_aggregate *a, const char *folder, unsigned files);

#endif
