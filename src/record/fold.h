/* A writer's fold state, and the digest heap it writes into. */
#ifndef SB_RECORD_FOLD_H
#define SB_RECORD_FOLD_H

#include "format/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_writer;

enum { SB_FOLD_DEPTH = 320, SB_FOLD_NODES = 1024, SB_FOLD_INDEX = 8192, SB_FOLD_SKIPS = 16 };

struct sb_fold {
	struct sb_writer *writer;
	struct sb_digest_root *root;
	uint64_t *cur, *limit; /* the heap's free space */
	uint64_t digest_seq;
	uint64_t seq; /* of the chunk being folded */
	uint64_t last_ticks;
	uint32_t track;
	uint32_t depth;
	uint32_t skipping; /* open zones that were too deep, over all tracks */
	struct {
		uint32_t track, count;
	} skips[SB_FOLD_SKIPS]; /* the same by track */
	uint32_t node_count;
	uint32_t index_count;
	struct sb_digest_open *stack; /* the newest OPEN entry */
	struct sb_digest_open_zone open[SB_FOLD_DEPTH];
	struct sb_digest_node *nodes[SB_FOLD_NODES + 1];
	struct sb_fold_entry {
		uint64_t key; /* 0: empty */
		void *entry;
	} index[SB_FOLD_INDEX];
};

struct sb_fold *sb_fold_new(void); /* NULL: no memory */

/* ---- digest.c ---- */
bool sb_digest_open(struct sb_fold *f, struct sb_writer *w); /* false: no chunk */
/* Never NULL: "(other)" when the heap or the caps are full. */
struct sb_digest_node *sb_digest_node(struct sb_fold *f, uint32_t parent, uint32_t name, uint32_t flags);
void sb_digest_add(struct sb_fold *f, struct sb_digest_node *node, uint64_t begin_ticks, uint64_t duration,
	uint64_t self);
void sb_digest_sum(struct sb_fold *f, uint32_t node, uint32_t key, int64_t i, double d);
/* Writes the open zones, then makes everything stamped with f->seq the truth. */
void sb_digest_commit(struct sb_fold *f);

#endif
