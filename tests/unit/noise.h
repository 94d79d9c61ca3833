/* Numbers by chance that are the same in every run: set `seed` first. */
#ifndef SB_TESTS_NOISE_H
#define SB_TESTS_NOISE_H

#include <math.h>
#include <stdint.h>

static uint64_t seed;

/* Between 0 and 1, never 0. */
static inline double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static inline double gaussian(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

#endif
