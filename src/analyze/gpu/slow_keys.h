/* What a recording says of slow moments that a watch caught: the keys of its META, read. */
#ifndef SB_ANALYZE_GPU_SLOW_KEYS_H
#define SB_ANALYZE_GPU_SLOW_KEYS_H

#include "base/vec.h"
#include "run/run.h"

#define SB_SLOW_WHAT 16
#define SB_SLOW_BY 8

struct sb_slow_said {
	uint32_t process;
	char what[SB_SLOW_WHAT], by[SB_SLOW_BY];
	const char *why; /* of what was asked for, else ""; the run's */
	uint64_t ticks; /* its begin, which names it */
	int64_t slow_ns[2]; /* begin and end of it, of a row of the slowest */
	int64_t normal_ns[2]; /* 0, 0: there is none */
	int64_t median_ns; /* of its peers; 0: not judged */
	struct {
		int64_t count; /* 0: nothing is said */
		int64_t ns[2];
		double slowest_ratio; /* NAN: not known */
	} row;
};

/* Adds each moment (struct sb_slow_said) that was kept to the end to out. */
int sb_slow_keys_read(const struct sb_run *run, struct sb_vec *out);

enum sb_slow_order { SB_SLOW_ORDER_UNKNOWN, SB_SLOW_WORST_KEPT, SB_SLOW_SLOWER_LOST };

struct sb_slow_left_out {
	int64_t displaced; /* gave way to slower ones, or to what was asked for */
	int64_t to_asked; /* of them */
	int64_t unkept; /* -1: no watch has said it */
	enum sb_slow_order order; /* of those that are kept and those that are not, in each process */
	int processes; /* that watched */
};

/* 0 or a negative error. */
int sb_slow_keys_left_out(const struct sb_run *run, struct sb_slow_left_out *out);

#endif
