/* Measurements from inside a process: the generations or iterations that it
 * marked while `strobe run` recorded it. */
#ifndef CLI_BENCH_MARKS_H
#define CLI_BENCH_MARKS_H

#include "compare/bench.h"

/* A folder for the recordings of a benchmark; removed again by done. */
int bench_marks_begin(char *out_folder, size_t size);
void bench_marks_done(const char *folder);

/* The command line that records command into folder; NULL: no memory. Free the
 * list, not its words. */
char **bench_marks_command(char **command, const char *folder);

/* Adds the durations of the last recording in folder to row, without the first
 * warmup of them, and takes the frames of a clip from it where frames, those of a clip, is NaN.
 * name: only marks of this name or code; "" : generations, else iterations, else steps.
 * *out_added: how many. */
int bench_marks_read(const char *folder, const char *name, size_t warmup, double frames,
	struct sb_bench_row *row, size_t *out_added);

#endif
