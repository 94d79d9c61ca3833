/* NVML's clock event reasons in words. */
#include "base/throttle.h"
#include "monitor/gpus.h"

#include <stdio.h>
#include <string.h>

uint64_t sb_gpus_throttle_mask(void)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < SB_THROTTLE_REASONS; i++)
		mask |= sb_throttle_reasons[i].bit;
	return mask;
}

void sb_gpus_throttle_words(uint64_t bits, char *out, int size)
{
	int used = 0;

	out[0] = 0;
	for (size_t i = 0; i < SB_THROTTLE_REASONS; i++)
		if (bits & sb_throttle_reasons[i].bit && used < size)
			used += snprintf(out + used, (size_t)(size - used), "%s%s", used ? ", " : "",
				sb_throttle_reasons[i].words);
}
