/* A watch for slow moments on a clock that the test moves, with what it keeps. */
#ifndef SB_TESTS_SLOW_WATCH_H
#define SB_TESTS_SLOW_WATCH_H

#include "fake/written.h"
#include "format/run_keys.h"
#include "gpu/held.h"
#include "gpu/peers.h"
#include "gpu/setup.h"
#include "gpu/slow.h"
#include "gpu/slow_record.h"
#include "gpu/watch.h"
#include "record/clock.h"
#include "record/watcher.h"

#include <inttypes.h>

static uint64_t clock_ticks = 1000000;
static char moments[2048]; /* each and a ';' */
static char displaced[256]; /* the same */
static struct {
	char what[16], by[8];
	uint64_t moment, last_end, begin, end, median, over;
	unsigned count;
} row; /* the last one that was said */
static double watched; /* what it said of itself at its begin and its end */
static char judged[96];
static int moment_count, row_count, span_count, setup_count;
static int64_t span_begin, span_end; /* of the last one */
static int64_t unkept, slower_lost;

static uint64_t clock_now(void)
{
	return clock_ticks;
}

static uint64_t ms(uint64_t count)
{
	return count * sb_clock_hz() / 1000;
}

static void pass(uint64_t milliseconds)
{
	clock_ticks += ms(milliseconds);
}

void __wrap_sb_keep_meta_string(enum sb_meta_scope scope, const char *key, const char *value)
{
	size_t n = strlen(moments), m = strlen(displaced);

	assert_int_equal(scope, SB_META_RUN);
	setup_count += !strcmp(key, SB_RUN_GPU_SETUP);
	if (!strcmp(key, SB_RUN_SLOW_JUDGED))
		snprintf(judged, sizeof judged, "%s", value);
	if (!strcmp(key, SB_RUN_SLOW_DISPLACED))
		snprintf(displaced + m, sizeof displaced - m, "%s;", value);
	if (!strcmp(key, SB_RUN_SLOW_ROW)) {
		assert_int_equal(sscanf(value,
					 "%15s %" SCNu64 " %u %" SCNu64 " %7s %" SCNu64 " %" SCNu64
					 " %" SCNu64 " %" SCNu64,
					 row.what, &row.moment, &row.count, &row.last_end, row.by, &row.begin,
					 &row.end, &row.median, &row.over),
			9);
		row_count++;
	}
	if (strcmp(key, SB_RUN_SLOW_MOMENT))
		return;
	snprintf(moments + n, sizeof moments - n, "%s;", value);
	moment_count++;
}

void __wrap_sb_keep_meta_float(enum sb_meta_scope scope, const char *key, double value)
{
	assert_int_equal(scope, SB_META_RUN);
	if (!strcmp(key, SB_RUN_SLOW_WATCH))
		watched = value;
}

void __wrap_sb_keep_meta_int(enum sb_meta_scope scope, const char *key, int64_t value)
{
	(void)scope;
	span_count += !strcmp(key, SB_RUN_GPU_TRACE_KEPT);
	if (!strcmp(key, SB_RUN_SLOW_UNKEPT))
		unkept = value;
	if (!strcmp(key, SB_RUN_SLOW_LOST))
		slower_lost = value;
	if (!strcmp(key, SB_RUN_GPU_TRACE_BEGIN))
		span_begin = value;
	else if (!strcmp(key, SB_RUN_GPU_TRACE_END))
		span_end = value;
}

static void start(uint32_t most)
{
	struct sb_trace_spec spec = { .bound = SB_TRACE_SLOW, .slow_ratio = 1.5, .moments = most };

	assert_true(sb_slow_start(&spec));
}

static int setup(void **state)
{
	(void)state;
	sb_clock_init();
	sb_clock_kind = SB_CLOCK_MONOTONIC;
	sb_clock_source = clock_now;
	clock_ticks += 10 * sb_clock_hz();
	moments[0] = displaced[0] = 0;
	moment_count = row_count = span_count = setup_count = 0;
	unkept = slower_lost = -1;
	written_reset();
	start(3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sb_slow_stop(true);
	return 0;
}

static inline void kernel(uint32_t name, uint64_t milliseconds)
{
	struct sb_held r = { .when = clock_ticks,
		.aux = name | (uint64_t)SB_GPU_KERNEL << 20,
		.payload = { clock_ticks, ms(milliseconds) },
		.words = 4 };

	sb_held_put(&r);
}

static inline void step(uint64_t milliseconds, uint32_t name, uint64_t gpu_milliseconds)
{
	sb_watcher_fact(SB_NAME_ROLE, STROBE_ROLE_STEP);
	pass(1);
	if (gpu_milliseconds)
		kernel(name, gpu_milliseconds);
	pass(milliseconds - 1);
	sb_watcher_end(STROBE_ROLE_STEP);
	pass(1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
