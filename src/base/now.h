/* Seconds of a clock that only goes forward, for deadlines and durations. The recorder has its own clock. */
#ifndef SB_BASE_NOW_H
#define SB_BASE_NOW_H

#include <time.h>

static inline double sb_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
