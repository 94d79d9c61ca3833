/* When strobe sets up a trace or the sampling of counters. The driver keeps the program waiting meanwhile: a step that is slow
 * then is slow by strobe. From any thread. */
#ifndef SB_GPU_SETUP_H
#define SB_GPU_SETUP_H

#include <stdbool.h>
#include <stdint.h>

struct sb_setup {
	uint32_t which, stage;
};

/* stage: the name of a zone on the calling thread where that is the program's, which waits for it. */
struct sb_setup sb_setup_begin(const char *stage);
/* Writes its time into the recording, unless it was refused. */
void sb_setup_end(struct sb_setup setup, bool refused);

/* True if one of the last few ran in this time, or still runs. */
bool sb_setup_meets(uint64_t begin_ticks, uint64_t end_ticks);

void sb_setup_forget(void); /* in a forked child: what runs is the parent's */

#endif
