/* A growing array of anything. */
#ifndef SB_BASE_VEC_H
#define SB_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct sb_vec {
	void *items;
	size_t count, capacity;
};

/* A new zeroed item at the end; NULL when memory is out. Moves the others. */
static inline void *sb_vec_push(struct sb_vec *v, size_t item_size)
{
	if (v->count == v->capacity) {
		size_t capacity = v->capacity ? v->capacity * 2 : 16;
		void *items = realloc(v->items, capacity * item_size);

		if (!items)
			return NULL;
		v->items = items;
		v->capacity = capacity;
	}
	return memset((char *)v->items + v->count++ * item_size, 0, item_size);
}

static inline void sb_vec_done(struct sb_vec *v) /* v may be zeroed */
{
	free(v->items);
	memset(v, 0, sizeof *v);
}

#endif
