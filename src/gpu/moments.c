/* A short list: it is searched from front to back. */
#include "gpu/moments.h"

#include <string.h>

void sb_moments_add(struct sb_moments *moments, struct sb_moment moment)
{
	if (moments->count == SB_MOMENTS)
		memmove(moments->all, moments->all + 1, --moments->count * sizeof *moments->all);
	moments->all[moments->count++] = moment;
}

void sb_moments_forget(struct sb_moments *moments, uint64_t now_ticks)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < moments->count; i++)
		if (moments->all[i].until_ticks > now_ticks)
			moments->all[left++] = moments->all[i];
	moments->count = left;
}
