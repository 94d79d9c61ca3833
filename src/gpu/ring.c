/* Positions only grow; a slot's turn tells whether it is to be filled or emptied. */
#include "gpu/ring.h"

#include <stdlib.h>

/* A slot that fits a cache line lies in one. */
static size_t slot_bytes_for(size_t item_bytes)
{
	size_t bytes = 2 * sizeof(uint64_t);

	while (bytes < item_bytes + sizeof(uint64_t))
		bytes *= 2;
	return bytes;
}

bool sb_ring_init(struct sb_ring *ring, size_t capacity, size_t item_bytes)
{
	memset(ring, 0, sizeof *ring);
	ring->slot_bytes = (uint32_t)slot_bytes_for(item_bytes);
	ring->item_bytes = (uint32_t)item_bytes;
	ring->mask = capacity - 1;
	ring->slots = aligned_alloc(64, capacity * ring->slot_bytes);
	if (!ring->slots)
		return false;
	for (size_t i = 0; i < capacity; i++)
		atomic_init(sb_ring_slot(ring, i), i);
	return true;
}

void sb_ring_done(struct sb_ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}

bool sb_ring_push(struct sb_ring *ring, const void *item)
{
	return sb_ring_push_sized(ring, item, ring->item_bytes);
}

bool sb_ring_pop(struct sb_ring *ring, void *out_item)
{
	uint64_t at;
	_Atomic uint64_t *s = ring->slots ? sb_ring_take_slot(ring, &ring->head, 1, &at) : NULL;

	if (!s)
		return false;
	memcpy(out_item, s + 1, ring->item_bytes);
	atomic_store_explicit(s, at + ring->mask + 1, memory_order_release);
	return true;
}

uint64_t sb_ring_count(struct sb_ring *ring)
{
	uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);

	return tail > head ? tail - head : 0;
}
