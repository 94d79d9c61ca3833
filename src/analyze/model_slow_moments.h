/* The report model, slow moments that were caught: each beside a normal one. */
#ifndef SB_ANALYZE_MODEL_SLOW_MOMENTS_H
#define SB_ANALYZE_MODEL_SLOW_MOMENTS_H

#include "stats/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_slow_moments_panel {
	struct sb_slow_moment {
		const char *what; /* "step", "generation", "out_of_memory", "asked" */
		const char *judged_by; /* "clock", "gpu", "pause"; NULL: not for being slow */
		const char *why; /* of one that was asked for; NULL: nothing was said */
		int64_t step; /* the pipeline's own number; -1: none */
		int64_t generation; /* that it lies in, from 1; -1: none, or several that ran at once */
		double t_s, duration_s;
		double normal_t_s, normal_s; /* the one it is held against; NAN: none was remembered */
		double peer_s; /* median of its peers, by the measure it was judged by; NAN: not judged */
		double work_s, normal_work_s; /* kernels and copies launched in it; NAN: not traced */
		double idle_s, normal_idle_s; /* of the GPU, between them */
		struct sb_slow_counter {
			const char *counter; /* as the columns of the samples are called */
			double percent, normal_percent; /* mean of the samples inside; NAN: none */
		} * counters; /* sampled by --gpu-counters */
		size_t counter_count;
		struct sb_slow_part {
			const char *kind; /* "kernel", "copy", "stage", "garbage", "function" */
			const char *name;
			const char *file; /* of a function of the thread that stepped; NULL: not known */
			uint32_t line; /* that most of it was in; 0: not known */
			const char *inside; /* the function of a library that it had called; NULL: none */
			const char *place; /* function, file and line in words; NULL: not a function */
			int64_t count, normal_count;
			double total_s, normal_s, more_s;
		} * parts; /* what took longer: of each kind in turn, largest first */
		size_t part_count;
		struct sb_slow_row { /* of the slow ones in a row; the slowest of them is what all else is about */
			int64_t count; /* less than 2: there is no row */
			int64_t first_step, last_step; /* the pipeline's own numbers; -1: none */
			double t_s, duration_s; /* from the begin of the first to the end of the last */
			double slowest_ratio; /* over its peers, by the measure it was judged by */
			const char *words; /* "steps 3-5 (3 in a row; slowest 2.1 x)" */
		} row;
		const char *words; /* where the time went, in a sentence */
	} * all;
	size_t count;
	struct sb_slow_watch { /* what was looked at for them; all processes */
		bool known; /* false: there was no watch */
		double ratio; /* over its peers: slow */
		int64_t steps, steps_judged; /* -1: the watch did not end, as in a program that was killed */
		int64_t generations, generations_judged;
		int64_t slow_count; /* caught for being slow, and kept */
		int64_t displaced; /* kept, and given up for slower ones, or for what was asked for */
		int64_t unkept; /* -1: not known */
		const char *words; /* in a sentence */
	} watch;
};

extern const struct sb_fields sb_slow_moment_fields, sb_slow_watch_fields;

#endif
