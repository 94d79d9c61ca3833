/* How long the same step of earlier generations took: what is slow there every time is no news. */
#ifndef SB_GPU_SAME_STEP_H
#define SB_GPU_SAME_STEP_H

#include <stdint.h>

#define SB_SAME_STEPS 1024u /* one that falls on another's entry replaces it */
#define SB_SAME_STEP_LAST 3u
#define SB_SAME_STEP_LEAST 2u /* fewer may be an accident */

struct sb_same_steps {
	struct sb_same_step {
		uint64_t key; /* of the kind and the index */
		uint32_t count;
		uint64_t ticks[SB_SAME_STEP_LAST]; /* the last ones, in order */
	} all[SB_SAME_STEPS];
};

/* Adds one; returns what the same step of most of the generations before it took at least, 0: they are too few. */
uint64_t sb_same_step_add(struct sb_same_steps *steps, uint64_t key, uint32_t index, uint64_t ticks);

#endif
