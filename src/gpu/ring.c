/* Positions only grow; a slot's turn tells whether it is to be filled or emptied. */
#include "gpu/ring.h"

#include <stdlib.h>
#include <string.h>

/* A slot that fits a cache line lies in one. */
static size_t slot_bytes_for(size_t item_bytes)
{
	size_t bytes = 2 * sizeof(uint64_t);

	while (bytes < item_bytes + sizeof(uint64_t))
		bytes *= 2;
	return bytes;
}

static _Atomic uint64_t *slot(const struct sb_ring *ring, uint64_t position)
{
	return (_Atomic uint64_t *)(ring->slots + (position & ring->mask) * ring->slot_bytes);
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
		atomic_init(slot(ring, i), i);
	return true;
}

void sb_ring_done(struct sb_ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}

/* A slot at position p is free for the producer of turn p and holds that
 * producer's item at turn p + 1; taken, it is free for turn p + capacity.
 * Takes the slot at an end of the ring once its turn has come, `ahead` of its position; NULL: not yet. */
static _Atomic uint64_t *take_slot(
	struct sb_ring *ring, _Atomic uint64_t *end, uint64_t ahead, uint64_t *out_position)
{
	uint64_t at = atomic_load_explicit(end, memory_order_relaxed);

	for (;;) {
		_Atomic uint64_t *s = slot(ring, at);
		uint64_t turn = atomic_load_explicit(s, memory_order_acquire);

		if (turn == at + ahead) {
			if (atomic_compare_exchange_weak_explicit(
				    end, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
				*out_position = at;
				return s;
			}
		} else if ((int64_t)(turn - (at + ahead)) < 0) {
			return NULL;
		} else {
			at = atomic_load_explicit(end, memory_order_relaxed);
		}
	}
}

bool sb_ring_push(struct sb_ring *ring, const void *item)
{
	uint64_t at;
	_Atomic uint64_t *s = ring->slots ? take_slot(ring, &ring->tail, 0, &at) : NULL;

	if (!s)
		return false;
	memcpy(s + 1, item, ring->item_bytes);
	atomic_store_explicit(s, at + 1, memory_order_release);
	return true;
}

bool sb_ring_pop(struct sb_ring *ring, void *out_item)
{
	uint64_t at;
	_Atomic uint64_t *s = ring->slots ? take_slot(ring, &ring->head, 1, &at) : NULL;

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
