/* Which counter this machine has, how fast it runs, and how it relates to the
 * system's clocks. Reading it is inline in the header. */
#include "record/clock.h"

#include "base/hot.h"

#include <pthread.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

SB_HOT_DATA _Alignas(64) enum sb_clock_kind sb_clock_kind = SB_CLOCK_MONOTONIC;
static uint64_t clock_hz = 1000000000u;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t (*sb_clock_source)(void);

uint64_t sb_clock_slow_ticks(void)
{
	return sb_clock_source ? sb_clock_source() : read_ns(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)
static int counter_is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

/* One millisecond against the system clock: good to about 1e-4, and anchors
 * give the reader a better rate over the length of the recording. */
static uint64_t measure_hz(void)
{
	struct sb_anchor from, to;

	sb_clock_anchor(&from);
	do
		sb_clock_anchor(&to);
	while (to.mono_ns - from.mono_ns < 1000000u);
	return (uint64_t)((double)(to.ticks - from.ticks) * 1e9 / (double)(to.mono_ns - from.mono_ns));
}
#endif

static void init(void)
{
#if defined(__x86_64__)
	if (!counter_is_invariant())
		return;
	sb_clock_kind = SB_CLOCK_TSC;
	clock_hz = measure_hz();
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(clock_hz));
	sb_clock_kind = SB_CLOCK_CNTVCT;
#endif
}

void sb_clock_init(void)
{
	pthread_once(&once, init);
}

uint64_t sb_clock_hz(void)
{
	return clock_hz;
}

void sb_clock_anchor(struct sb_anchor *out_anchor)
{
	struct sb_anchor best = { .width_ns = UINT64_MAX };

	for (int i = 0; i < 5; i++) {
		uint64_t before = read_ns(CLOCK_MONOTONIC);
		uint64_t ticks = sb_clock_ticks();
		uint64_t after = read_ns(CLOCK_MONOTONIC);

		if (after - before >= best.width_ns)
			continue;
		best.ticks = ticks;
		best.mono_ns = before + (after - before) / 2;
		best.width_ns = after - before;
		best.real_ns = read_ns(CLOCK_REALTIME);
	}
	*out_anchor = best;
}

uint64_t sb_clock_ticks_of_ns(uint64_t duration_ns)
{
	return (uint64_t)((unsigned __int128)duration_ns * clock_hz / 1000000000u);
}

uint32_t sb_clock_record_ps(void)
{
	enum { ROUNDS = 3, WORDS = 256 };
	uint64_t words[WORDS], best = UINT64_MAX;

	if (sb_clock_source)
		return 0;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t from = sb_clock_ticks(), spent;

		for (int i = 0; i < WORDS; i++)
			__atomic_store_n(&words[i], sb_clock_ticks() << SB_VALUE_SHIFT, __ATOMIC_RELEASE);
		spent = sb_clock_ticks() - from;
		best = spent < best ? spent : best;
	}
	return (uint32_t)((double)best * 1e12 / (double)clock_hz / WORDS);
}
