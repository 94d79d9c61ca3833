/* Room for one more item in an array whose owner keeps count and capacity. */
#ifndef SB_BASE_ROOM_H
#define SB_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Returns the array with twice the capacity and sets *io_capacity. NULL: memory is out and the array is
 * unchanged. */
static inline void *sb_room_grown(void *array, size_t item_size, size_t *io_capacity)
{
	size_t capacity = *io_capacity ? *io_capacity * 2 : 8;
	void *grown = realloc(array, capacity * item_size);

	if (grown)
		*io_capacity = capacity;
	return grown;
}

/* True if there is room for one more; grows the array if needed, which may move it. Arguments are
 * evaluated more than once: pass variables or members. */
#define SB_MAKE_ROOM(array, count, capacity)                                                      \
	__extension__({                                                                           \
		size_t room_ = (capacity);                                                        \
		void *grown_ = (count) < room_ ? (void *)(array)                                  \
					       : sb_room_grown((array), sizeof *(array), &room_); \
		if (grown_) {                                                                     \
			(array) = grown_;                                                         \
			(capacity) = (__typeof__(capacity))room_;                                 \
		}                                                                                 \
		grown_ != NULL;                                                                   \
	})

#endif
