/* Puts CUPTI's timestamps on strobe's clock. Their unit may change: PyTorch's
 * profiler replaces CUPTI's clock with its own. */
#ifndef SB_GPU_STAMPS_H
#define SB_GPU_STAMPS_H

#include "gpu/cupti_library.h"

struct sb_stamp {
	uint64_t cupti;
	uint64_t ticks;
};

#define SB_STAMPS_MAX 256u

struct sb_stamps {
	struct sb_stamp pairs[SB_STAMPS_MAX]; /* oldest first */
	uint32_t count;
};

/* Reads both clocks and adds the pair. Call it before converting: times are interpolated between pairs. */
void sb_stamps_take(struct sb_stamps *s, const struct sb_cupti *cupti);
void sb_stamps_add(struct sb_stamps *s, uint64_t cupti, uint64_t ticks); /* a pair that was read elsewhere */
uint64_t sb_stamps_ticks(const struct sb_stamps *s, uint64_t cupti); /* a time of CUPTI's on strobe's clock */

#endif
