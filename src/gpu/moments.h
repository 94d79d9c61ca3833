/* The moments of which everything is kept, the last few of them: what belongs to one may arrive some time after it. */
#ifndef SB_GPU_MOMENTS_H
#define SB_GPU_MOMENTS_H

#include <stdint.h>

#define SB_MOMENTS 16u

struct sb_moment {
	uint64_t begin_ticks, end_ticks;
	uint64_t until_ticks; /* nothing of it is expected after this */
};

struct sb_moments {
	struct sb_moment all[SB_MOMENTS];
	uint32_t count;
};

/* Makes room by forgetting the oldest. */
void sb_moments_add(struct sb_moments *moments, struct sb_moment moment);
/* Forgets those for which nothing is expected any more. */
void sb_moments_forget(struct sb_moments *moments, uint64_t now_ticks);

#endif
