/* Tells the watch for slow moments which steps and generations begin and end on the program's threads. These
 * threads never wait: news that finds the queue full is left out. */
#ifndef SB_GPU_WATCH_H
#define SB_GPU_WATCH_H

#include "strobe.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_watch_kind { SB_WATCH_BEGUN, SB_WATCH_ENDED, SB_WATCH_PAUSED, SB_WATCH_ASKED };

struct sb_watch_news {
	enum sb_watch_kind kind;
	enum strobe_role role; /* a step or a generation */
	uint32_t tid;
	bool first; /* of its generation: a warm-up */
	uint32_t index; /* a step's in its generation, else on its thread; a generation's on its thread */
	uint64_t begin_ticks, end_ticks; /* of a pause: from the begin of the step before it */
	uint64_t pause_ticks; /* where a pause between two steps began */
	uint64_t generation_ticks; /* of a step: when its generation began; 0: it has none */
	uint64_t key; /* peers have the same: role, size, whether a cache served it */
	char why[48]; /* of what was asked for */
};

bool sb_watch_start(void); /* false: no memory */
void sb_watch_stop(void); /* no more news from now on */
bool sb_watch_hear(struct sb_watch_news *out_news); /* the next piece of news; false: nothing new */
void sb_watch_ask(const char *why); /* the program asks to keep this moment */

#endif
