/* What ranks sent each other, by group and operation: bytes, waiting, transferring, and how fast. */
#ifndef SB_COMPARE_LINKS_H
#define SB_COMPARE_LINKS_H

#include "compare/aggregate.h"
#include "compare/meet.h"

struct sb_links;

struct sb_links *sb_links_new(size_t rank_count); /* NULL: no memory */
void sb_links_free(struct sb_links *l); /* takes NULL */

/* The row that an exchange of these parts belongs to; past so many all others share one. Counts it. group and name
 * outlive the rows. */
struct sb_communication *sb_links_row(
	struct sb_links *l, const struct sb_meet_part *p, size_t count, const char *group, const char *name);
/* Adds the time that an exchange took after the last rank had come. */
void sb_links_moved(struct sb_links *l, struct sb_communication *row, const struct sb_meet_part *p,
	size_t count, double exchange_s);
/* Notes that this rank certainly came last. */
void sb_links_last(struct sb_links *l, struct sb_communication *row, uint32_t rank);
/* Fills a->communication. */
int sb_links_finish(struct sb_links *l, struct sb_aggregate *a);

#endif
