/* A finding on the hottest lines of one kind, weighed by what they cost the generations. */
#ifndef SB_ADVISE_BLAME_H
#define SB_ADVISE_BLAME_H

#include "advise/hot.h"

/* True if the line's time is the generations': it is on the main thread, on the one that makes them all, or inside
 * of one. */
bool sb_blame_counts(const struct sb_line *line);
/* A thread that waits for a core is sampled at one place, whatever it does there: where others want the cores, a line
 * needs as many more samples before it is blamed. */
bool sb_blame_is_seen_enough(const struct sb_model *model, const struct sb_hot *hot);
/* Parts of the same time: what was sampled in the warm generations beside what these took; what lies outside of them
 * by itself. */
const char *sb_blame_seen(struct sb_advisor *a, const struct sb_hot *hot);
/* The finding; NULL: too few samples, or below the rule's limit. */
struct sb_advice *sb_blame_find(struct sb_advisor *a, const struct sb_hot *hot, double gain_s,
	enum sb_confidence sure, const char *issue);

#endif
