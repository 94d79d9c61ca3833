/* Lists of what held memory: as the program's events name it, and as the report keeps it. */
#ifndef SB_ANALYZE_MEMORY_RESIDENTS_H
#define SB_ANALYZE_MEMORY_RESIDENTS_H

#include "analyze/analysis.h"

/* An attribute of an event that counts something; NAN: none, or it is negative. */
double sb_event_count(const struct sb_event *e, const char *key);
/* An attribute that is a text, in the model; NULL: none. */
const char *sb_event_text(struct sb_model *model, const struct sb_event *e, const char *key);

/* One row of a list that was made at an occasion ("out_of_memory"). False: the event is of another one, or names nothing. */
bool sb_resident_read(
	struct sb_model *model, const struct sb_event *e, const char *occasion, struct sb_resident *out);
int sb_resident_larger(const void *a, const void *b); /* for qsort: the largest first */
/* A copy in the model, the largest first. */
void sb_residents_keep(struct sb_model *model, const struct sb_resident *all, size_t count,
	struct sb_resident **out_all, size_t *out_count);

#endif
