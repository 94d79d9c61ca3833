/* See longest.h. Lists are short: the place is looked for from the end. */
#include "stats/longest.h"

#include <string.h>

static double duration_of(const struct sb_longest *list, size_t i)
{
	double duration_s;

	memcpy(&duration_s, (const char *)list->items + i * list->item_size + list->duration_at,
		sizeof duration_s);
	return duration_s;
}

void *sb_longest_place(const struct sb_longest *list, size_t *count, double duration_s)
{
	size_t at = *count;
	char *place;

	while (at && duration_of(list, at - 1) < duration_s)
		at--;
	if (at == list->most)
		return NULL;
	if (*count < list->most)
		++*count;
	place = (char *)list->items + at * list->item_size;
	memmove(place + list->item_size, place, (*count - at - 1) * list->item_size);
	return place;
}
