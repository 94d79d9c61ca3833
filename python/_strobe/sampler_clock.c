/* The time by which the sampler's parts measure; a test can set it. */
#include "sampler.h"

#include <time.h>

static HOT_DATA uint64_t set_ns; /* 0: the clock's */

void sampler_set_now(uint64_t now_ns)
{
	set_ns = now_ns;
}

HOT_CODE uint64_t sampler_now_ticks(void)
{
	return __builtin_expect(set_ns != 0, 0) ? set_ns : strobe_gpu_zone_arrive();
}

uint64_t sampler_now_ns(void)
{
	struct timespec now;

	if (set_ns)
		return set_ns;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
