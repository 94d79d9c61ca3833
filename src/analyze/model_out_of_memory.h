/* The report model, on memory that ran out: what was asked for, what held it, what would have helped. */
#ifndef SB_ANALYZE_MODEL_OUT_OF_MEMORY_H
#define SB_ANALYZE_MODEL_OUT_OF_MEMORY_H

#include "stats/fields.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_out_of_memory_panel {
	bool present;
	bool killed; /* by the kernel: host memory; else a device's allocator refused */
	int64_t count; /* how often */
	double t_s; /* of the last time */
	int64_t device; /* -1: the host */
	double requested_bytes, free_bytes, total_bytes, allocated_bytes;
	double slack_bytes; /* reserved by the allocator and in no use */
	double limit_bytes; /* that the program gave itself; NAN: none */
	/* what of the slack lies between blocks in use, so that it cannot be given back; NAN: not known */
	double fragmented_bytes, largest_piece_bytes;
	int64_t piece_count; /* -1: not known */
	const char *stage; /* NULL: in none */
	const char *file; /* NULL: not known */
	int64_t line;
	struct sb_resident {
		const char *component, *dtype; /* dtype NULL: none */
		double bytes;
	} * residents; /* largest first */
	size_t resident_count;
	struct sb_would_fit {
		const char *free; /* which component */
		double bytes; /* what that gives */
		bool fits; /* the request fits then */
	} * would_fit;
	size_t would_fit_count;
	struct sb_out_of_memory_time {
		double t_s, requested_bytes, free_bytes; /* NAN: not known */
		int64_t device; /* -1: the host */
		const char *stage, *file; /* NULL: not known */
		int64_t line;
	} * times; /* where there are several, each of them, as far as they are listed */
	size_t time_count;
	double stage_begin_s; /* when the stage was called that it ran out in, the last time; NAN: in none */
};

/* torch's allocator got no memory, gave its cache back, waited for the GPU and got it then. */
struct sb_alloc_retries_panel {
	bool present;
	int64_t count; /* how often */
	int64_t reading_count; /* readings of the memory that say so */
	double t_s; /* of the last of them, as all below */
	int64_t device;
	double allocated_bytes, slack_bytes; /* at the reading before it */
	double total_bytes, limit_bytes; /* limit NAN: none */
	double given_back_bytes; /* all times together */
	const char *stage; /* in which it happens; NULL: in none */
	struct sb_resident *residents; /* after it, largest first */
	size_t resident_count;
};

extern const struct sb_fields sb_out_of_memory_fields, sb_resident_fields, sb_alloc_retries_fields;

#endif
