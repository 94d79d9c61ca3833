/* The longest few of many, kept in a list as they come: the longest first, of equals the earlier first. */
#ifndef SB_STATS_LONGEST_H
#define SB_STATS_LONGEST_H

#include <stddef.h>

struct sb_longest {
	void *items;
	size_t item_size;
	size_t duration_at; /* offset of an item's duration, a double */
	size_t most; /* that the list has room for */
};

/* The place for an item of this duration, which the caller fills; what is shorter moved on, and the shortest of a full
 * list fell out. NULL: the list is full of longer ones. */
void *sb_longest_place(const struct sb_longest *list, size_t *count, double duration_s);

#endif
