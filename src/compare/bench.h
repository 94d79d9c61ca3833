/* The measurements of `strobe bench`: rows of repeated runs of one command, and
 * what follows from them. */
#ifndef SB_COMPARE_BENCH_H
#define SB_COMPARE_BENCH_H

#include "stats/fields.h"

#include <stdbool.h>
#include <stddef.h>

enum sb_bench_state {
	SB_BENCH_OK,
	SB_BENCH_OOM,
	SB_BENCH_FAILED,
	SB_BENCH_TIMEOUT,
	SB_BENCH_EMPTY /* ran, but left nothing to measure */
};

struct sb_bench_row {
	char *name; /* "batch=4 dtype=fp16", a variant's name, or the command */
	char **values; /* one per sweep key, in the order of keys; NULL without a sweep */
	struct sb_pair *settings; /* the same with their keys; computed */
	size_t setting_count;
	enum sb_bench_state state;
	int exit_code; /* of the run that ended the row */
	char *reason; /* in words, NULL when ok */
	char *held; /* of one that had too little memory: what asked for more and what held it; NULL: not known */
	double *seconds; /* measured, in order; warm-up is not among them */
	size_t count;
	size_t capacity;
	double frames_per_clip; /* of what seconds measures; NaN: not known */
	const char *counted; /* what seconds measures, where that is no clip: "steps", "calls"; NULL: clips */
	double peak_memory_bytes; /* resident, of the largest process; NaN: not known */
	/* computed */
	struct sb_stats stats; /* seconds per clip */
	struct sb_interval median_interval;
	double per_s; /* 1 / mean: clips, steps or calls */
	double clips_per_s; /* NaN: no clips were measured */
	double frames_per_s;
	double total_speedup; /* of medians, against the first row that is ok; NaN */
	double step_speedup; /* against the row before that is ok; NaN */
	struct sb_judgement against_first; /* valid where total_speedup is, and row is not the first */
	bool has_target; /* there is one, and frames_per_s to judge it by */
	bool target_met;
	double ladder_speedup; /* step_speedup of a ladder; NaN elsewhere */
};

struct sb_bench {
	char *command;
	char **keys; /* of the sweep */
	size_t key_count;
	bool ladder;
	bool marks; /* seconds are those between marks inside the process */
	const char *measured; /* "marks", "processes"; computed */
	int warmup;
	int iterations;
	double target_fps; /* NaN: none */
	struct sb_bench_row *rows;
	size_t row_count;
	bool interrupted;
};

int sb_bench_add(struct sb_bench_row *row, double seconds);

/* Statistics, rates, speed-ups, targets. */
int sb_bench_compute(struct sb_bench *bench);
void sb_bench_done(struct sb_bench *bench);

/* strobe bench --format json: every key. */
extern const struct sb_fields sb_bench_fields;

const char *sb_bench_state_name(enum sb_bench_state state);

#endif
