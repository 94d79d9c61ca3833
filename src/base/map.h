/* A hash map from 64-bit keys to 32-bit values. Key 0 is a key like any other. */
#ifndef SB_BASE_MAP_H
#define SB_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_map {
	struct sb_map_slot {
		uint64_t key;
		uint32_t value;
		uint32_t used;
	} * slots;
	uint32_t capacity; /* 0 or a power of two */
	uint32_t count;
};

void sb_map_done(struct sb_map *m); /* m may be zeroed */
bool sb_map_put(struct sb_map *m, uint64_t key, uint32_t value); /* false: no memory */
void sb_map_clear(struct sb_map *m);

static inline uint64_t sb_hash64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	return x;
}

static inline bool sb_map_get(const struct sb_map *m, uint64_t key, uint32_t *out_value)
{
	if (!m->capacity)
		return false;
	for (uint32_t i = (uint32_t)sb_hash64(key) & (m->capacity - 1);; i = (i + 1) & (m->capacity - 1)) {
		if (!m->slots[i].used)
			return false;
		if (m->slots[i].key == key) {
			*out_value = m->slots[i].value;
			return true;
		}
	}
}

#endif
