/* A short list: it is searched from front to back. */
#include "gpu/kept_moments.h"

#include <string.h>

void sb_kept_moments_add(struct sb_kept_moments *moments, struct sb_kept_moment moment)
{
	if (moments->count == SB_KEPT_MOMENTS)
		memmove(moments->all, moments->all + 1, --moments->count * sizeof *moments->all);
	moments->all[moments->count++] = moment;
}

void sb_kept_moments_forget(struct sb_kept_moments *moments, uint64_t now_ticks)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < moments->count; i++)
		if (moments->all[i].until_ticks > now_ticks)
			moments->all[left++] = moments->all[i];
	moments->count = left;
}
