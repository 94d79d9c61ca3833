/* A bounded queue for many producers and many consumers without locks: each slot has a
 * turn, which says who may use it next. A call on a full or empty queue returns at once. */
#ifndef SB_GPU_RING_H
#define SB_GPU_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sb_ring {
	char *slots; /* each its turn, then its item */
	uint32_t item_bytes;
	uint32_t slot_bytes;
	uint64_t mask;
	_Alignas(64) _Atomic uint64_t head; /* next to take */
	_Alignas(64) _Atomic uint64_t tail; /* next to fill */
};

static inline _Atomic uint64_t *sb_ring_slot(const struct sb_ring *ring, uint64_t position)
{
	return (_Atomic uint64_t *)(ring->slots + (position & ring->mask) * ring->slot_bytes);
}

/* A slot at position p is free for the producer of turn p and holds that
 * producer's item at turn p + 1; taken, it is free for turn p + capacity.
 * Takes the slot at an end of the ring once its turn has come, `ahead` of its position; NULL: not yet. */
static inline _Atomic uint64_t *sb_ring_take_slot(
	struct sb_ring *ring, _Atomic uint64_t *end, uint64_t ahead, uint64_t *out_position)
{
	uint64_t at = atomic_load_explicit(end, memory_order_relaxed);

	for (;;) {
		_Atomic uint64_t *s = sb_ring_slot(ring, at);
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

/* sb_ring_push() where the size of an item is known to the compiler. */
static inline bool sb_ring_push_sized(struct sb_ring *ring, const void *item, size_t item_bytes)
{
	uint64_t at;
	_Atomic uint64_t *s = ring->slots ? sb_ring_take_slot(ring, &ring->tail, 0, &at) : NULL;

	if (!s)
		return false;
	memcpy(s + 1, item, item_bytes);
	atomic_store_explicit(s, at + 1, memory_order_release);
	return true;
}

/* The next slot to fill is on its way into the cache before it is needed: the consumer had it last. */
static inline void sb_ring_prefetch(const struct sb_ring *ring)
{
	__builtin_prefetch(sb_ring_slot(ring, atomic_load_explicit(&ring->tail, memory_order_relaxed)), 1);
}

/* capacity: a power of two. false: no memory. */
bool sb_ring_init(struct sb_ring *ring, size_t capacity, size_t item_bytes);
void sb_ring_done(struct sb_ring *ring); /* takes a zeroed one */
bool sb_ring_push(struct sb_ring *ring, const void *item); /* false: full */
bool sb_ring_pop(struct sb_ring *ring, void *out_item); /* false: empty */
uint64_t sb_ring_count(struct sb_ring *ring); /* about how many items it has */

#endif
