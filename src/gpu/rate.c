#include "gpu/rate.h"

#include "format/wire.h"
#include "record/clock.h"
#include "record/lane.h"
#include "strobe.h"

#include <stdatomic.h>

enum { FORCED = 1 };

/* Untouched pages of this cost nothing. */
static struct {
	_Atomic uint64_t window_ticks; /* when the present second began */
	_Atomic uint32_t count;        /* entries in it */
	_Atomic uint16_t off_epoch;    /* the session in which it was too frequent */
	_Atomic uint8_t flags;
} names[SB_NAME_COUNT_MAX];

static _Atomic uint32_t limit = 1000;
static _Atomic uint16_t epoch = 1;
static _Atomic uint64_t second_ticks;

static bool too_frequent(uint32_t name)
{
	if (atomic_exchange(&names[name].off_epoch, epoch) == epoch)
		return false;
	sb_keep_missing("GPU time of frequent stages", "entered more than 1000 times a second",
		"strobe.section(..., gpu=True) or strobe_gpu_zone_force() times a stage at any rate");
	return false;
}

bool sb_gpu_rate_allows(uint32_t name, uint64_t now_ticks)
{
	uint32_t most = atomic_load_explicit(&limit, memory_order_relaxed);

	if (name >= SB_NAME_COUNT_MAX || !most || atomic_load_explicit(&names[name].flags, memory_order_relaxed) & FORCED)
		return true;
	if (atomic_load_explicit(&names[name].off_epoch, memory_order_relaxed) ==
		atomic_load_explicit(&epoch, memory_order_relaxed))
		return false;
	if (now_ticks - atomic_load_explicit(&names[name].window_ticks, memory_order_relaxed) >
		atomic_load_explicit(&second_ticks, memory_order_relaxed)) {
		atomic_store_explicit(&names[name].window_ticks, now_ticks, memory_order_relaxed);
		atomic_store_explicit(&names[name].count, 0, memory_order_relaxed);
	}
	if (atomic_fetch_add_explicit(&names[name].count, 1, memory_order_relaxed) < most)
		return true;
	return too_frequent(name);
}

void sb_gpu_rate_force(uint32_t name)
{
	if (name < SB_NAME_COUNT_MAX)
		atomic_fetch_or(&names[name].flags, FORCED);
}

void sb_gpu_rate_reset(uint32_t entries_per_second)
{
	atomic_store(&limit, entries_per_second);
	atomic_store(&second_ticks, sb_clock_hz());
	atomic_fetch_add(&epoch, 1);
}
