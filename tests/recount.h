/* Counts a recording's zones straight from its words and digests: a second
 * opinion that shares no code with the analysis. */
#ifndef TESTS_RECOUNT_H
#define TESTS_RECOUNT_H

#include "format/reader.h"

struct recount {
	uint64_t count, total_ticks, self_ticks, min_ticks, max_ticks;
	uint64_t open_count; /* zones without an end */
};

/* Adds up every zone called name in the file. */
void recount_file(const char *path, const char *name, struct recount *out);
/* The sum of a counter (strobe_counter_add, strobe_frames). */
int64_t recount_counter(const char *path, const char *name);
/* Everything the file says was lost. */
uint64_t recount_lost(const char *path);

#endif
