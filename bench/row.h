/* One measured figure: printed for people, appended to $STROBE_BENCH_ROWS for
 * machines. A bar of 0 is "no bar". */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include <stdint.h>

void row_head(const char *title);
/* value must be <= bar. */
void row_most(const char *what, double value, const char *unit, double bar);
/* value must be >= bar. */
void row_least(const char *what, double value, const char *unit, double bar);

double wall_s(void);
double thread_cpu_s(void);

static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

#endif
