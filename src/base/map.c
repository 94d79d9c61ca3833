/* Open addressing, at most half full. Single entries are never removed. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

void sb_map_done(struct sb_map *m)
{
	free(m->slots);
	memset(m, 0, sizeof *m);
}

void sb_map_clear(struct sb_map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->capacity * sizeof *m->slots);
	m->count = 0;
}

static void place(struct sb_map_slot *slots, uint32_t capacity, uint64_t key, uint32_t value)
{
	uint32_t i = (uint32_t)sb_hash64(key) & (capacity - 1);

	while (slots[i].used)
		i = (i + 1) & (capacity - 1);
	slots[i] = (struct sb_map_slot){ key, value, 1 };
}

static bool grow(struct sb_map *m)
{
	uint32_t capacity = m->capacity ? m->capacity * 2 : 64;
	struct sb_map_slot *slots = capacity > m->capacity ? calloc(capacity, sizeof *slots) : NULL;

	if (!slots)
		return false;
	for (uint32_t i = 0; i < m->capacity; i++)
		if (m->slots[i].used)
			place(slots, capacity, m->slots[i].key, m->slots[i].value);
	free(m->slots);
	m->slots = slots;
	m->capacity = capacity;
	return true;
}

bool sb_map_put(struct sb_map *m, uint64_t key, uint32_t value)
{
	for (uint32_t i = (uint32_t)sb_hash64(key); m->capacity; i++) {
		struct sb_map_slot *s = &m->slots[i & (m->capacity - 1)];

		if (!s->used)
			break;
		if (s->key == key) {
			s->value = value;
			return true;
		}
	}
	if (m->count >= m->capacity / 2 && !grow(m))
		return false;
	place(m->slots, m->capacity, key, value);
	m->count++;
	return true;
}
