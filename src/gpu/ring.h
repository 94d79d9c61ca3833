/* A bounded queue for many producers and many consumers without locks: each slot has a
 * turn, which says who may use it next. A call on a full or empty queue returns at once. */
#ifndef SB_GPU_RING_H
#define SB_GPU_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_ring {
	char *slots; /* each its turn, then its item */
	uint32_t item_bytes;
	uint32_t slot_bytes;
	uint64_t mask;
	_Alignas(64) _Atomic uint64_t head; /* next to take */
	_Alignas(64) _Atomic uint64_t tail; /* next to fill */
};

/* capacity: a power of two. false: no memory. */
bool sb_ring_init(struct sb_ring *ring, size_t capacity, size_t item_bytes);
void sb_ring_done(struct sb_ring *ring); /* takes a zeroed one */
bool sb_ring_push(struct sb_ring *ring, const void *item); /* false: full */
bool sb_ring_pop(struct sb_ring *ring, void *out_item); /* false: empty */
uint64_t sb_ring_count(struct sb_ring *ring); /* about how many items it has */

#endif
