/* Interned strings: bytes in slabs that never move, numbers by hashing. */
#include "base/strings.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

struct sb_strings_slab {
	struct sb_strings_slab *next;
	size_t used, size;
	char bytes[];
};

void sb_strings_done(struct sb_strings *s)
{
	struct sb_strings_slab *next;

	for (struct sb_strings_slab *b = s->slabs; b; b = next) {
		next = b->next;
		free(b);
	}
	free(s->all);
	free(s->slots);
	memset(s, 0, sizeof *s);
}

/* The last bytes, fewer than eight; before: they follow at least as many others. */
static uint64_t tail_of(const char *text, size_t size, bool before)
{
	uint64_t x = 0;

	if (size && before)
		memcpy(&x, text + size - sizeof x, sizeof x);
	else
		for (size_t i = 0; i < size; i++)
			x = x << 8 | (unsigned char)text[i];
	return x;
}

static uint32_t hash_of(const char *text, size_t size)
{
	uint64_t h = size * 0x9e3779b97f4a7c15u, x;
	bool before = size >= sizeof x;

	for (; size >= sizeof x; text += sizeof x, size -= sizeof x) {
		memcpy(&x, text, sizeof x);
		h = sb_hash64(h ^ x);
	}
	h = sb_hash64(h ^ tail_of(text, size, before));
	return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds the string, or the empty one where it belongs. */
static uint32_t slot_of(const struct sb_strings *s, const char *text, size_t size, uint32_t hash)
{
	uint32_t i = hash & (s->slot_capacity - 1);

	while (s->slots[i]) {
		const struct sb_string *at = &s->all[s->slots[i]];

		if (at->hash == hash && at->size == size && !memcmp(at->text, text, size))
			break;
		i = (i + 1) & (s->slot_capacity - 1);
	}
	return i;
}

uint32_t sb_strings_find(const struct sb_strings *s, const char *text, size_t size)
{
	return s->slot_capacity ? s->slots[slot_of(s, text, size, hash_of(text, size))] : 0;
}

static int grow(struct sb_strings *s)
{
	uint32_t capacity = s->slot_capacity ? s->slot_capacity * 2 : 256;
	uint32_t *slots = calloc(capacity, sizeof *slots);
	struct sb_string *all = realloc(s->all, capacity * sizeof *all);

	if (all)
		s->all = all;
	if (!slots || !all) {
		free(slots);
		return -1;
	}
	free(s->slots);
	s->slots = slots;
	s->slot_capacity = capacity;
	if (!s->count)
		s->all[s->count++] = (struct sb_string){ "", 0, 0 };
	for (uint32_t n = 1; n < s->count; n++)
		slots[slot_of(s, s->all[n].text, s->all[n].size, s->all[n].hash)] = n;
	return 0;
}

static char *keep(struct sb_strings *s, const char *text, size_t size)
{
	struct sb_strings_slab *b = s->slabs;
	char *to;

	if (!b || b->size - b->used < size + 1) {
		size_t room = size + 1 > 32768 ? size + 1 : 32768;

		b = malloc(sizeof *b + room);
		if (!b)
			return NULL;
		b->next = s->slabs;
		b->used = 0;
		b->size = room;
		s->slabs = b;
	}
	to = b->bytes + b->used;
	memcpy(to, text, size);
	to[size] = 0;
	b->used += size + 1;
	return to;
}

uint32_t sb_strings_add(struct sb_strings *s, const char *text, size_t size)
{
	uint32_t hash = hash_of(text, size);
	uint32_t i;

	if (!size || size > UINT32_MAX / 2)
		return 0;
	if (s->count >= s->slot_capacity / 2 && grow(s))
		return 0;
	i = slot_of(s, text, size, hash);
	if (!s->slots[i]) {
		char *kept = keep(s, text, size);

		if (!kept)
			return 0;
		s->all[s->count] = (struct sb_string){ kept, (uint32_t)size, hash };
		s->slots[i] = s->count++;
	}
	return s->slots[i];
}

const char *sb_strings_text(const struct sb_strings *s, uint32_t number)
{
	return number < s->count ? s->all[number].text : "";
}
