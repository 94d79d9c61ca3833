/* Sorting what is in order already, as a rule: recordings come in the order of time. */
#ifndef SB_BASE_INORDER_H
#define SB_BASE_INORDER_H

#include <stdlib.h>

/* As qsort(), but looks first: items in order cost one comparison each and stay as they are. */
static inline void sb_sort_unless_in_order(
	void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	const char *all = items;

	for (size_t i = 1; i < count; i++)
		if (compare(all + (i - 1) * size, all + i * size) > 0) {
			qsort(items, count, size, compare);
			return;
		}
}

#endif
