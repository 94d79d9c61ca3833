/* Folding: how a writer turns its oldest chunk into totals (digest.c keeps them), to use the chunk again. */
#ifndef SB_RECORD_FOLD_H
#define SB_RECORD_FOLD_H

#include "format/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_writer;

enum {
	SB_FOLD_DEPTH = 320,
	SB_FOLD_NODES = 1024,
	SB_FOLD_INDEX = 8192,
	SB_FOLD_SKIPS = 16,
	SB_FOLD_CHILDREN = 256 /* a power of two */
};

/* What one chunk adds to a node; goes into the node's slot when the chunk is done. */
struct sb_fold_tally {
	uint64_t count;
	uint64_t total_ticks, self_ticks, min_ticks, max_ticks, first_ticks, last_ticks;
	struct sb_digest_hist *hist; /* the one used last; NULL: none */
};

struct sb_fold_child {
	uint32_t under; /* parent and flags: sb_fold_under() */
	uint32_t name;
	struct sb_digest_node *node; /* NULL: empty */
};

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
	struct sb_fold_tally tallies[SB_FOLD_NODES + 1]; /* by node */
	uint16_t touched[SB_FOLD_NODES + 1]; /* nodes whose tally is not zero */
	uint32_t touched_count;
	struct sb_fold_child children[SB_FOLD_CHILDREN]; /* found lately, before the index is asked */
	struct sb_fold_entry {
		uint64_t key; /* 0: empty */
		void *entry;
	} index[SB_FOLD_INDEX];
};

/* ---- digest.c ---- */
bool sb_digest_open(
	struct sb_fold *f, struct sb_writer *w); /* begins a writer's digest; false: no chunk for it */
/* The node of a name under a parent, made when first needed. Never NULL: "(other)" when there is no room. */
struct sb_digest_node *sb_digest_node(struct sb_fold *f, uint32_t parent, uint32_t name, uint32_t flags);
/* The entry of the node's histogram that holds a bucket; NULL: no room. */
struct sb_digest_hist *sb_digest_hist(struct sb_fold *f, uint32_t node, uint32_t bucket);
/* The key of a parent and flags in the table of children. */
static inline uint32_t sb_fold_under(uint32_t parent, uint32_t flags)
{
	return parent << 2 | (flags & 3);
}
/* The place in that table where such a child is, if it is there. */
static inline struct sb_fold_child *sb_fold_child_of(struct sb_fold *f, uint32_t under, uint32_t name)
{
	return &f->children[(under * 31 + name) & (SB_FOLD_CHILDREN - 1)];
}
/* Adds the value of an attribute to the node's sums. */
void sb_digest_sum(struct sb_fold *f, uint32_t node, uint32_t key, int64_t i, double d);
/* Writes the tallies and the open zones, then makes everything stamped with f->seq valid by one store. */
void sb_digest_commit(struct sb_fold *f);

#endif
