/* Decides what a slow one becomes: the next of a row of slow ones, a moment of its own, one instead of a moment that cost less,
 * or none. It keeps the books and writes nothing. */
#ifndef SB_GPU_CAUGHT_H
#define SB_GPU_CAUGHT_H

#include "record/trace_spec.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_CAUGHT_UNKEPT 4u /* the latest that were not kept: each may become a row that is worth it */
#define SB_CAUGHT_MOST (SB_TRACE_MOMENTS_MAX + SB_CAUGHT_UNKEPT)
#define SB_CAUGHT_FREE_SWAPS 10u /* of each place: so often it goes to any that cost more */
#define SB_CAUGHT_MORE_DIVISOR 4u /* from then on to one that cost more by a quarter of the other */

struct sb_slow_one { /* a step, with the pause after it or without; a generation; what was asked for */
	const char *what, *by; /* as SB_RUN_SLOW_MOMENT has them */
	bool asked; /* not judged: in no row, and it never gives way */
	uint32_t tid, index; /* of a step in its generation, of a generation on its thread */
	uint64_t generation_ticks; /* when its generation began; 0: none */
	uint64_t begin_ticks, end_ticks;
	uint64_t median_ticks, over_ticks; /* of its peers; how much longer it took */
};

struct sb_caught {
	struct sb_slow_one first, slowest; /* of those in a row */
	uint32_t count; /* in a row; 0: a free entry */
	uint32_t last_index;
	uint64_t last_end_ticks;
	uint64_t last_over_ticks, cost_ticks; /* how much longer the last one, and all of them, took */
	uint64_t before_ticks; /* and those of the row whose moment gave way */
	uint64_t order;
	bool kept;
	bool gone; /* it gave way: it grows no more */
	uint64_t grown_ticks; /* the caller's: when it grew by what is not recorded; 0: all of it is */
	uint64_t written_end_ticks; /* the caller's: where the slowest one that was written ended */
};

struct sb_caught_list {
	struct sb_caught all[SB_CAUGHT_MOST];
	uint32_t places, kept_count;
	uint64_t taken, unkept_count; /* moments so far; those that had no place */
	uint64_t displaced_count; /* those that gave way */
	uint64_t lost_ticks; /* the most that one cost that is remembered no more */
};

enum sb_caught_as {
	SB_CAUGHT_NOT, /* no place is left, and none costs less */
	SB_CAUGHT_LONGER, /* the moment that it belongs to has grown */
	SB_CAUGHT_NEW, /* a moment that is to be kept from now on */
	SB_CAUGHT_INSTEAD /* the same, and *out_displaced gave way */
};

void sb_caught_init(struct sb_caught_list *list, uint32_t places);

/* Takes one that was slow; *out_moment: what it became or belongs to. A pause after a step has the step's index and begin:
 * both are one. */
enum sb_caught_as sb_caught_take(struct sb_caught_list *list, const struct sb_slow_one *one,
	struct sb_caught **out_moment, struct sb_slow_one *out_displaced);

/* How much longer the slow steps of this generation took. */
uint64_t sb_caught_cost_ticks(const struct sb_caught_list *list, uint32_t tid, uint64_t generation_ticks);

/* One that is not kept, or gave way, cost more than the least of those that are. */
bool sb_caught_lost_slower(const struct sb_caught_list *list);

bool sb_caught_full(const struct sb_caught_list *list); /* nothing that comes can be kept */

#endif
