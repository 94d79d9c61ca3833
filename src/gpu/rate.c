/* Counts the entries of each stage by the second; one that was too frequent stays out
 * for the session. */
#include "gpu/rate.h"

#include "format/wire.h"
#include "record/clock.h"
#include "record/put.h"
#include "strobe.h"

#include <stdatomic.h>

/* Untouched pages of this cost nothing. */
static struct {
	_Atomic uint64_t window_ticks; /* when the present second began */
	_Atomic uint32_t count; /* entries in it */
	_Atomic uint32_t off_epoch; /* the session in which it was too frequent */
} names[SB_NAME_COUNT_MAX];

static _Atomic uint32_t limit = 1000;
static _Atomic uint32_t epoch = 1;
static _Atomic uint64_t second_ticks;
static _Atomic uint32_t said_epoch;

static void say(void)
{
	uint32_t now = atomic_load(&epoch);

	if (atomic_exchange(&said_epoch, now) != now)
		sb_keep_missing("GPU time of frequent stages", "entered more than 1000 times a second",
			"gpu=True takes it at any rate, for about 4 us per entry");
}

bool sb_gpu_rate_allows(uint32_t name, uint64_t now_ticks)
{
	uint32_t most = atomic_load_explicit(&limit, memory_order_relaxed);
	uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);

	if (name >= SB_NAME_COUNT_MAX || !most)
		return true;
	if (atomic_load_explicit(&names[name].off_epoch, memory_order_relaxed) == now)
		return false;
	if (now_ticks - atomic_load_explicit(&names[name].window_ticks, memory_order_relaxed) >
		atomic_load_explicit(&second_ticks, memory_order_relaxed)) {
		atomic_store_explicit(&names[name].window_ticks, now_ticks, memory_order_relaxed);
		atomic_store_explicit(&names[name].count, 0, memory_order_relaxed);
	}
	if (atomic_fetch_add_explicit(&names[name].count, 1, memory_order_relaxed) < most)
		return true;
	atomic_store(&names[name].off_epoch, now);
	say();
	return false;
}

void sb_gpu_rate_reset(uint32_t entries_per_second)
{
	atomic_store(&limit, entries_per_second);
	atomic_store(&second_ticks, sb_clock_hz());
	atomic_fetch_add(&epoch, 1);
}

int strobe_gpu_zone_worth(uint32_t name)
{
	return sb_gpu_rate_allows(name, sb_clock_ticks());
}
