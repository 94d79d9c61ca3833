/* The latest moments whose records are all written, also those that arrive some time after the moment. */
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

/* Adds a moment; a full list forgets its oldest. */
void sb_kept_moments_add(struct sb_kept_moments *moments, struct sb_kept_moment moment);
/* Forgets moments for which no more records are expected. */
void sb_kept_moments_forget(struct sb_kept_moments *moments, uint64_t now_ticks);

#endif
