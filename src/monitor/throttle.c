/* NVML's clock event reasons in words. */
#include "monitor/gpus.h"

#include <stdio.h>
#include <string.h>

static const struct {
	uint64_t bit;
	const char *words;
} reasons[] = {
	{ 0x04, "software power cap" },
	{ 0x08, "hardware slowdown" },
	{ 0x10, "sync boost" },
	{ 0x20, "software thermal slowdown" },
	{ 0x40, "hardware thermal slowdown" },
	{ 0x80, "hardware power brake" },
};

uint64_t sb_gpus_throttle_mask(void)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		mask |= reasons[i].bit;
	return mask;
}

void sb_gpus_throttle_words(uint64_t bits, char *out, int size)
{
	int used = 0;

	out[0] = 0;
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (bits & reasons[i].bit && used < size)
			used += snprintf(out + used, (size_t)(size - used), "%s%s", used ? ", " : "",
				reasons[i].words);
}
