/* Processes that left a note in the run's folder that they have no recording. `strobe run` turns the notes into what the
 * recording says of itself; where it did not, they are still there. */
#ifndef SB_RUN_UNRECORDED_H
#define SB_RUN_UNRECORDED_H

#include <stdbool.h>

struct sb_unrecorded {
	unsigned run_full, disk_full; /* processes that found the run, or the disk, full */
	unsigned
		budget_full; /* short-lived ones that no longer fitted where they are gathered; leave no notes */
};

/* remove: the notes are taken away. */
struct sb_unrecorded sb_unrecorded_count(int folder, bool remove);
/* Says it under "Not recorded": what, why, how. */
void sb_unrecorded_say(const struct sb_unrecorded *u,
	void (*say)(void *self, const char *what, const char *why, const char *how), void *self);

#endif
