/* A set of strings. Each has a number, from 1 on, and an address that never changes. */
#ifndef SB_BASE_STRINGS_H
#define SB_BASE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct sb_strings {
	struct sb_string {
		const char *text; /* NUL-terminated */
		uint32_t size;
		uint32_t hash;
	} * all; /* [0] is "" */
	uint32_t count; /* [0] included */
	uint32_t capacity;
	uint32_t *slots;
	uint32_t slot_capacity;
	struct sb_strings_slab *slabs;
};

void sb_strings_done(struct sb_strings *s); /* s may be zeroed */
/* The number of a string, added if new; 0 when memory is out or size is 0. */
uint32_t sb_strings_add(struct sb_strings *s, const char *text, size_t size);
uint32_t sb_strings_find(const struct sb_strings *s, const char *text, size_t size); /* 0: none */
const char *sb_strings_text(const struct sb_strings *s, uint32_t number); /* "" past the end */

#endif
