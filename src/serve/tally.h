/* The running totals of one recording, updated with each new record: what
 * /metrics needs, without reading the recording again. follow.h finds the new
 * records. */
#ifndef SB_SERVE_TALLY_H
#define SB_SERVE_TALLY_H

#include "base/map.h"
#include "base/strings.h"
#include "base/vec.h"
#include "format/cursor.h"
#include "format/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_TALLY_BOUNDS 17u
#define SB_TALLY_STAGES_MAX 2000u /* per recording; the rest is one stage "(other)" */
#define SB_TALLY_SIBLINGS_MAX 8u /* that differ in numbers alone; the rest is one stage "name *" */

extern const double sb_tally_bounds_s[SB_TALLY_BOUNDS];

/* One call of a stage. */
struct sb_tally_call {
	uint64_t end_ticks;
	int64_t ns; /* below 0: none yet */
};

/* Zones of one path that have ended. */
struct sb_tally_stage {
	uint32_t parent; /* index; 0: top level. [0] is the root */
	uint32_t name; /* in the file; 0: text says it */
	uint32_t text; /* of texts; for "name *" and "(other)" */
	uint32_t role; /* the first that was set */
	uint64_t calls; /* without those inside one of the same path */
	int64_t total_ns; /* of these calls */
	int64_t self_ns; /* of every zone, without its children */
	uint64_t buckets[SB_TALLY_BOUNDS + 1]; /* of the calls; the last: longer than every bound */
	struct sb_tally_call latest[SB_TALLY_BOUNDS + 1]; /* of each bucket */
};

struct sb_tally_series {
	uint32_t source; /* name in the file */
	int device; /* -1: none */
	uint32_t column_count;
	uint32_t *columns; /* names in the file */
	double *last, *max; /* NaN: none yet */
};

struct sb_tally_cache {
	uint32_t name;
	uint64_t hits, misses, evictions;
};

struct sb_tally_gpu {
	uint32_t name;
	uint64_t count;
	int64_t span_ns;
};

struct sb_tally {
	/* what was recorded so far */
	struct sb_vec stages; /* struct sb_tally_stage */
	struct sb_vec series; /* struct sb_tally_series */
	struct sb_vec caches, gpus;
	uint64_t zones, generations, iterations, steps, blocks;
	int64_t frames_counted, frames_generated, frames_in_blocks; /* three ways to know; -1: not given */
	int64_t frames_dropped, frames_streamed; /* -1: not given */
	int64_t attributed_ns; /* top level of the main thread */
	uint64_t lost[SB_LOST_REASONS];
	uint32_t job; /* of texts; 0: none */
	/* private */
	struct sb_file_header head;
	uint64_t scale; /* ns per tick, in 1/2^40 */
	struct sb_strings texts;
	uint32_t *names, *codes; /* by the file's name id: texts */
	uint32_t name_room;
	struct sb_map children; /* parent << 32 | name -> stage, with the recursive bit */
	struct sb_map patterns; /* parent << 32 | text of the pattern -> how many have it */
	struct sb_map schemas; /* id -> index of series */
	struct sb_map cache_of, gpu_of; /* name -> index */
	struct sb_map stack_of; /* tid or track << 32 -> index of stacks */
	struct sb_vec stacks;
	uint64_t search_left; /* open zones that may still be looked at, beyond the nearest */
	uint64_t looked_count; /* open zones looked at so far */
	bool no_memory;
};

/* A writer of HOT records: its thread and where it is. */
struct sb_tally_writer {
	uint32_t tid;
	uint32_t track;
	uint32_t stack; /* index + 1; 0: to be looked up */
	uint64_t now_ticks;
};

bool sb_tally_init(struct sb_tally *t, const struct sb_file_header *head); /* false: no memory */
void sb_tally_done(struct sb_tally *t); /* t may be zeroed */
/* Sets the clock's rate from a later reading of both clocks. Before the first word. */
void sb_tally_set_rate(struct sb_tally *t, uint64_t ticks, uint64_t mono_ns);

/* Renews the budget of searches among very many open zones: a damaged recording must not hold up
 * the others. Call it before each part of a file. */
void sb_tally_refresh(struct sb_tally *t);

/* Takes a record of the KEEP or DEVICE stream. */
void sb_tally_keep(struct sb_tally *t, const struct sb_record *r);
/* Takes a record of a writer's HOT stream. */
void sb_tally_hot(struct sb_tally *t, struct sb_tally_writer *w, const struct sb_record *r);
/* Takes all that are left in the cursor's chunk. */
void sb_tally_hot_chunk(struct sb_tally *t, struct sb_tally_writer *w, struct sb_cursor *c);
/* The writer's next records are of this thread and track. */
void sb_tally_switch(struct sb_tally *t, struct sb_tally_writer *w, uint32_t tid, uint32_t track);
/* Takes the totals of what a writer had folded before it was first read. */
void sb_tally_digest(struct sb_tally *t, struct sb_tally_writer *w, const struct sb_digest *d);

const char *sb_tally_name(const struct sb_tally *t, uint32_t name); /* "": not known */
const char *sb_tally_stage_name(
	const struct sb_tally *t, const struct sb_tally_stage *s); /* without the path */
const char *sb_tally_stage_code(const struct sb_tally *t, const struct sb_tally_stage *s); /* "" : none */
/* When it was, since 1970. */
uint64_t sb_tally_real_ns(const struct sb_tally *t, uint64_t ticks);
/* How many frames were made, from the best source there is; -1: not known. */
int64_t sb_tally_frames(const struct sb_tally *t);

#endif
