/* Room for one more item in an array whose owner keeps count and capacity. */
#ifndef SB_BASE_ROOM_H
#define SB_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The array with room for twice as many, and that capacity; NULL: memory is out and the array stays as it was. */
static inline void *sb_room_grown(void *array, size_t item_size, size_t *io_capacity)
{
	size_t capacity = *io_capacity ? *io_capacity * 2 : 8;
	void *grown = realloc(array, capacity * item_size);

	if (grown)
		*io_capacity = capacity;
	return grown;
}

/* Whether there is room; moves the array where it must grow. The three are members or variables: they are
 * written, and evaluated more than once. */
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
