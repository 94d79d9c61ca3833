/* The latest moments of which everything is written: records of a moment may arrive some time after it. */
#ifndef SB_GPU_KEPT_MOMENTS_H
#define SB_GPU_KEPT_MOMENTS_H

#include <stdint.h>

#define SB_KEPT_MOMENTS 16u

struct sb_kept_moment {
	uint64_t begin_ticks, end_ticks;
	uint64_t until_ticks; /* nothing of it is expected after this */
};

struct sb_kept_moments {
	struct sb_kept_moment all[SB_KEPT_MOMENTS];
	uint32_t count;
};

/* Makes room by forgetting the oldest. */
void sb_kept_moments_add(struct sb_kept_moments *moments, struct sb_kept_moment moment);
/* Forgets those for which nothing is expected any more. */
void sb_kept_moments_forget(struct sb_kept_moments *moments, uint64_t now_ticks);

#endif
