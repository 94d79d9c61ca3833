/* Allocations by their address: open addressing, with removal. */
#include "exchange/snapshot.h"

#include <stdlib.h>

#define CAPACITY_FIRST 4096u
#define CAPACITY_MOST (1u << 20)

struct sb_snapshot_live {
	struct sb_snapshot_alloc *slots;
	uint32_t capacity, count; /* a power of two */
};

struct sb_snapshot_live *sb_snapshot_live_new(void)
{
	struct sb_snapshot_live *l = calloc(1, sizeof *l);

	if (l)
		l->slots = calloc(CAPACITY_FIRST, sizeof *l->slots);
	if (l && !l->slots) {
		free(l);
		return NULL;
	}
	if (l)
		l->capacity = CAPACITY_FIRST;
	return l;
}

void sb_snapshot_live_free(struct sb_snapshot_live *l)
{
	if (l)
		free(l->slots);
	free(l);
}

static uint32_t slot_of(const struct sb_snapshot_live *l, uint64_t address)
{
	uint32_t i = (uint32_t)sb_hash64(address) & (l->capacity - 1);

	while (l->slots[i].address && l->slots[i].address != address)
		i = (i + 1) & (l->capacity - 1);
	return i;
}

static bool grow(struct sb_snapshot_live *l)
{
	struct sb_snapshot_live larger = { .capacity = l->capacity * 2, .count = l->count };

	if (l->capacity == CAPACITY_MOST)
		return l->count < l->capacity / 8 * 7;
	larger.slots = calloc(larger.capacity, sizeof *larger.slots);
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; i < l->capacity; i++)
		if (l->slots[i].address)
			larger.slots[slot_of(&larger, l->slots[i].address)] = l->slots[i];
	free(l->slots);
	*l = larger;
	return true;
}

bool sb_snapshot_live_add(struct sb_snapshot_live *l, const struct sb_snapshot_alloc *a)
{
	uint32_t at;

	if (l->count >= l->capacity / 8 * 5 && !grow(l))
		return false;
	at = slot_of(l, a->address);
	l->count += !l->slots[at].address;
	l->slots[at] = *a;
	return true;
}

bool sb_snapshot_live_has(const struct sb_snapshot_live *l, uint64_t address)
{
	return l->slots[slot_of(l, address)].address;
}

/* Those behind it move up where their place allows. */
bool sb_snapshot_live_take(struct sb_snapshot_live *l, uint64_t address, struct sb_snapshot_alloc *out)
{
	uint32_t mask = l->capacity - 1, hole = slot_of(l, address);

	if (!l->slots[hole].address)
		return false;
	*out = l->slots[hole];
	for (uint32_t i = (hole + 1) & mask; l->slots[i].address; i = (i + 1) & mask) {
		uint32_t home = (uint32_t)sb_hash64(l->slots[i].address) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			l->slots[hole] = l->slots[i];
			hole = i;
		}
	}
	l->slots[hole].address = 0;
	l->count--;
	return true;
}

void sb_snapshot_live_clear(struct sb_snapshot_live *l)
{
	for (uint32_t i = 0; i < l->capacity; i++)
		l->slots[i].address = 0;
	l->count = 0;
}
