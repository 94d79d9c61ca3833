/* Spacing of expensive samples by what they cost. */
#include "monitor/source.h"

#include <time.h>

enum { COST_FACTOR = 2000 }; /* at most 0.05 % of a core each */

uint64_t sb_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool sb_pace_due(const struct sb_pace *pace, uint64_t mono_ns)
{
	return mono_ns >= pace->next_ns;
}

void sb_pace_done(struct sb_pace *pace, uint64_t mono_ns, uint64_t cost_ns, uint64_t at_least_ns)
{
	uint64_t wait_ns = cost_ns * COST_FACTOR;

	pace->cost_ns = cost_ns;
	pace->next_ns = mono_ns + (wait_ns > at_least_ns ? wait_ns : at_least_ns);
}
