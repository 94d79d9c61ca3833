/* What is in the order of time, as recordings are: sorting it, and finding a moment in it. */
#ifndef SB_BASE_INORDER_H
#define SB_BASE_INORDER_H

#include <stdint.h>
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

/* The index of the first item at or after t_ns; count if all are before. first_ns: the time of the first
 * item, size: of an item. */
static inline size_t sb_first_from(const int64_t *first_ns, size_t size, size_t count, int64_t t_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*(const int64_t *)((const char *)first_ns + middle * size) < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first item after t_ns. */
static inline size_t sb_first_after(const int64_t *first_ns, size_t size, size_t count, int64_t t_ns)
{
	return t_ns == INT64_MAX ? count : sb_first_from(first_ns, size, count, t_ns + 1);
}

#endif
