/* The recorder's clock: the CPU's own counter, read without a system call. */
#ifndef SB_RECORD_CLOCK_H
#define SB_RECORD_CLOCK_H

#include "format/wire.h"

#include <stdint.h>

/* Set once by sb_clock_init(): SB_CLOCK_MONOTONIC where the counter cannot be
 * trusted (no invariant TSC). */
extern enum sb_clock_kind sb_clock_kind;

uint64_t sb_clock_slow_ticks(void); /* CLOCK_MONOTONIC in ns */

/* For tests: with kind SB_CLOCK_MONOTONIC, time is what this says. */
extern uint64_t (*sb_clock_source)(void);

static inline uint64_t sb_clock_counter(void)
{
#if defined(__x86_64__)
	uint64_t low, high; /* the instruction clears their upper halves */

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return sb_clock_slow_ticks();
#endif
}

static inline uint64_t sb_clock_ticks(void)
{
	if (__builtin_expect(sb_clock_kind == SB_CLOCK_MONOTONIC, 0))
		return sb_clock_slow_ticks();
	return sb_clock_counter();
}

/* One moment on all clocks. */
struct sb_anchor {
	uint64_t ticks;
	uint64_t mono_ns;
	uint64_t real_ns;
	uint64_t width_ns; /* how far off ticks and mono_ns can be from each other */
};

void sb_clock_init(void); /* cheap to repeat */
uint64_t sb_clock_hz(void); /* ticks per second */
void sb_clock_anchor(struct sb_anchor *out_anchor); /* reads all clocks; the best of a few tries */
uint64_t sb_clock_ticks_of_ns(uint64_t duration_ns); /* how many ticks a duration takes */
/* What a timed word costs at the least: one reading of the counter and one store,
 * in 1e-12 s. Takes a few microseconds; 0 with an injected clock. */
uint32_t sb_clock_record_ps(void);

#endif
