/* Which command lines a benchmark runs: a sweep's grid, a ladder's variants. */
#ifndef CLI_BENCH_PLAN_H
#define CLI_BENCH_PLAN_H

#include "compare/bench.h"

/* The command line of each row, NULL-terminated. */
struct bench_plan {
	char ***commands;
	size_t count;
};

/* One row per point of the grid of "key=v1,v2" texts (none: one row). Every
 * {key} in the command is replaced. Returns 0 or a negative STROBE_E. */
int bench_plan_sweep(const char *const *sweeps, size_t sweep_count, char **command, struct sb_bench *bench,
	struct bench_plan *out_plan);

/* One row per "NAME: WORDS" line of a file. The words replace {variant} in the
 * command, else follow it; without a command they are one. */
int bench_plan_ladder(const char *path, char **command, struct sb_bench *bench, struct bench_plan *out_plan);

/* The words of a text, split at blanks, with quotes and backslashes. path and line are named when
 * a quote is not closed. Free with bench_plan_free_words. */
int bench_plan_split(const char *text, const char *path, int line, char ***out_words);
void bench_plan_free_words(char **words);

void bench_plan_done(struct bench_plan *plan);

/* A command line as one would type it. */
char *bench_command_text(char **command);

#endif
