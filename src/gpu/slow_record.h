/* Records slow moments: says them, and has the GPU records of their time written. Which ones are slow is slow.c's business.
 * One thread makes all calls. */
#ifndef SB_GPU_SLOW_RECORD_H
#define SB_GPU_SLOW_RECORD_H

#include "gpu/caught.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_slow_beside { /* what a new moment is recorded with */
	uint64_t from_ticks; /* the begin of the step before it */
	uint64_t normal_begin_ticks, normal_end_ticks; /* of the last normal one; 0: there is none */
	const char *why; /* of what was asked for, else "" */
};

void sb_slow_record_start(uint32_t places);

/* Takes one that is slow. tracing: GPU records are being held. */
void sb_slow_record_take(const struct sb_slow_one *one, const struct sb_slow_beside *beside, bool tracing);
/* A step ends: what was asked for while it ran is the whole of it. */
void sb_slow_record_end(uint32_t tid, uint64_t begin_ticks, uint64_t end_ticks);
/* Something that is kept was asked for in the step that began then. */
bool sb_slow_record_asked(uint32_t tid, uint64_t begin_ticks);
/* Writes what came since. all: also of rows that may go on. */
void sb_slow_record_look(bool tracing, bool all);
void sb_slow_record_stop(bool tracing); /* writes what is left, says how many were not kept */

/* How much longer slow steps of this generation took, added up. */
uint64_t sb_slow_record_cost_ticks(uint32_t tid, uint64_t generation_ticks);

bool sb_slow_record_full(void); /* true: whatever comes, nothing more can be kept */
uint64_t sb_slow_record_kernels(void); /* kernels that were kept */
uint64_t sb_slow_record_unwritten(void); /* records that found no room */

#endif
