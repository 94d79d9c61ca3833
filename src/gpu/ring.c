/* Positions only grow; a slot's turn tells whether it is to be filled or emptied. */
#include "gpu/ring.h"

#include <stdlib.h>
#include <string.h>

bool sb_ring_init(struct sb_ring *ring, size_t capacity, size_t item_bytes)
{
	memset(ring, 0, sizeof *ring);
	ring->turns = malloc(capacity * sizeof *ring->turns);
	ring->items = malloc(capacity * item_bytes);
	if (!ring->turns || !ring->items) {
		sb_ring_done(ring);
		return false;
	}
	ring->item_bytes = item_bytes;
	ring->mask = capacity - 1;
	for (size_t i = 0; i < capacity; i++)
		atomic_init(&ring->turns[i], i);
	return true;
}

void sb_ring_done(struct sb_ring *ring)
{
	free(ring->turns);
	free(ring->items);
	ring->turns = NULL;
	ring->items = NULL;
}

/* A slot at position p is free for the producer of turn p and holds that
 * producer's item at turn p + 1; taken, it is free for turn p + capacity. */
bool sb_ring_push(struct sb_ring *ring, const void *item)
{
	uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (!ring->turns)
		return false;
	for (;;) {
		uint64_t turn = atomic_load_explicit(&ring->turns[at & ring->mask], memory_order_acquire);

		if (turn == at) {
			if (atomic_compare_exchange_weak_explicit(
				    &ring->tail, &at, at + 1, memory_order_relaxed, memory_order_relaxed))
				break;
		} else if ((int64_t)(turn - at) < 0) {
			return false;
		} else {
			at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
		}
	}
	memcpy(ring->items + (at & ring->mask) * ring->item_bytes, item, ring->item_bytes);
	atomic_store_explicit(&ring->turns[at & ring->mask], at + 1, memory_order_release);
	return true;
}

bool sb_ring_pop(struct sb_ring *ring, void *out_item)
{
	uint64_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (!ring->turns)
		return false;
	for (;;) {
		uint64_t turn = atomic_load_explicit(&ring->turns[at & ring->mask], memory_order_acquire);

		if (turn == at + 1) {
			if (atomic_compare_exchange_weak_explicit(
				    &ring->head, &at, at + 1, memory_order_relaxed, memory_order_relaxed))
				break;
		} else if ((int64_t)(turn - (at + 1)) < 0) {
			return false;
		} else {
			at = atomic_load_explicit(&ring->head, memory_order_relaxed);
		}
	}
	memcpy(out_item, ring->items + (at & ring->mask) * ring->item_bytes, ring->item_bytes);
	atomic_store_explicit(&ring->turns[at & ring->mask], at + ring->mask + 1, memory_order_release);
	return true;
}

uint64_t sb_ring_count(struct sb_ring *ring)
{
	uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);

	return tail > head ? tail - head : 0;
}
