/* What the kernel trace leaves out, and how it counts it: outside the trace, incomplete, without room. */
#include "gpu_trace.h"

static void begin_another_trace(void)
{
	sb_activity_stop(NULL);
	start();
}

/* It began in one trace and ended in the next: it is neither's, and the thread's next wait is recorded. */
static void a_wait_that_outlives_its_trace_is_left_out(void **state)
{
	(void)state;
	start();
	fake->synchronize(131, 126, NULL, begin_another_trace);
	assert_int_equal(written_count, 0);
	fake->synchronize(131, 126, NULL, NULL);
	sb_activity_cut();
	fake->synchronize(131, 126, NULL, NULL);
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 1);
}

static void waits_that_find_no_room_are_counted(void **state)
{
	(void)state;
	start();
	for (uint32_t i = 0; i < 16384 + 10; i++)
		fake->synchronize(131, 126, NULL, NULL);
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 16384);
	assert_int_equal(lost[SB_LOST_GPU_WAIT], 10);
	assert_int_equal(lost[SB_LOST_CUPTI], 0);
}

static void what_was_launched_after_the_cut_is_not_recorded(void **state)
{
	uint32_t early, late;
	uint64_t t;

	(void)state;
	start();
	early = fake->launch();
	sb_activity_cut();
	late = fake->launch();
	t = fake->now();
	fake->kernel(early, t, t + 5, "early");
	fake->kernel(late, t, t + 5, "late");
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), sb_name_intern("early", NULL));
}

static void leftovers_of_an_earlier_trace_are_not_recorded(void **state)
{
	uint64_t t = fake->now();

	(void)state;
	start();
	fake->kernel(4711, t - 1000000000, t - 999000000, "before");
	t = fake->now(); /* once: the order of a call's arguments is the compiler's */
	fake->kernel(fake->launch(), t, t + 5, "now");
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), sb_name_intern("now", NULL));
}

static void incomplete_records_are_counted_not_written(void **state)
{
	(void)state;
	start();
	fake->kernel(fake->launch(), 0, 0, "unfinished");
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 0);
	assert_int_equal(lost[SB_LOST_GPU_TIME], 1);
	assert_int_equal(lost[SB_LOST_CUPTI], 0);
}

/* The program goes on launching while the last records are collected. */
static void what_is_launched_after_the_cut_is_not_lost(void **state)
{
	uint32_t late;

	(void)state;
	start();
	sb_activity_cut();
	late = fake->launch();
	fake->kernel(late, 0, 0, "not begun");
	fake->kernel(late + 1, 0, 0, "launched when nothing listened");
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 0);
	assert_int_equal(lost[SB_LOST_GPU_TIME] + lost[SB_LOST_CUPTI], 0);
}

static void unknown_launches_are_recorded_without_one(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	fake->kernel(4711, t, t + 5, "k");
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 1);
	assert_int_equal(written[0].payload[2], 0);
	assert_int_equal(sb_activity_counts().unattributed, 1);
}

static void buffers_run_out_and_the_loss_is_counted(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	for (uint32_t i = 0; i < 320000; i++) /* nobody drains: 64 MiB hold 310 656 */
		fake->kernel(fake->launch(), t + i, t + i + 1, "k");
	assert_int_equal(fake->refused_records(), 320000 - 64 * ((1 << 20) / 216));
	sb_activity_stop(NULL);
	assert_int_equal(sb_activity_counts().kernels + lost[SB_LOST_GPU_BUFFER], 320000);
	assert_int_equal(lost[SB_LOST_CUPTI], 0);
	assert_int_equal(sb_activity_counts().buffers_most, 64);
}

static void what_cupti_drops_although_it_has_buffers_is_another_loss(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	fake->kernel(fake->launch(), t, t + 5, "k");
	fake->drop(7);
	sb_activity_stop(NULL);
	assert_int_equal(lost[SB_LOST_CUPTI], 7);
	assert_int_equal(lost[SB_LOST_GPU_BUFFER], 0);
	assert_int_equal(sb_activity_counts().buffers_most, 1);
}

static int bell_count;

static void ring_bell(void)
{
	bell_count++;
}

/* Full buffers do not wait for the next look; those that a look asked for wake nobody. */
static void several_full_buffers_wake_their_reader(void **state)
{
	const char *unattributed;
	uint64_t t;

	(void)state;
	bell_count = 0;
	assert_int_equal(sb_activity_start(cupti, false, ring_bell, &unattributed), 0);
	t = fake->now();
	for (uint32_t i = 0; i < 3 * ((1 << 20) / 216) + 1; i++)
		fake->kernel(fake->launch(), t + i, t + i + 1, "k");
	assert_int_equal(bell_count, 0);
	for (uint32_t i = 0; i < (1 << 20) / 216; i++)
		fake->kernel(fake->launch(), t + i, t + i + 1, "k");
	assert_int_equal(bell_count, 1);
	sb_activity_stop(NULL);
	assert_int_equal(bell_count, 1);
}

/* ---- work that outlasts its trace ---- */

static uint64_t made_up_ticks;
static int flushes_left; /* until the GPU has done it */

static uint64_t made_up_clock(void)
{
	return made_up_ticks;
}

static void pass_time(void)
{
	made_up_ticks += sb_clock_ticks_of_ns(50000000);
	if (!--flushes_left)
		fake->finish();
}

static bool nobody_waits(void)
{
	return false;
}

static bool somebody_waits(void)
{
	return true;
}

/* A kernel that the GPU has not ended when the trace does: it takes three seconds more. */
static void stop_before_the_gpu(bool (*awaited)(void))
{
	enum sb_clock_kind kind = sb_clock_kind;

	made_up_ticks = sb_clock_ticks();
	sb_clock_source = made_up_clock;
	sb_clock_kind = SB_CLOCK_MONOTONIC;
	start();
	fake->begin(fake->launch(), "k");
	flushes_left = 60;
	fake->on("cuptiActivityFlushAll", pass_time);
	sb_activity_stop(awaited);
	fake->on(NULL, NULL);
	sb_clock_source = NULL;
	sb_clock_kind = kind;
}

static void what_the_gpu_has_not_done_yet_is_looked_for_while_nobody_waits(void **state)
{
	(void)state;
	stop_before_the_gpu(nobody_waits);
	assert_int_equal(sb_activity_counts().kernels, 1);
	assert_int_equal(lost[SB_LOST_GPU_TIME], 0);
}

static void who_waits_for_the_end_waits_a_second(void **state)
{
	(void)state;
	stop_before_the_gpu(somebody_waits);
	assert_int_equal(sb_activity_counts().kernels, 0);
	assert_int_equal(lost[SB_LOST_GPU_TIME], 1);
	assert_int_equal(sb_activity_counts().unfinished, 1);
	assert_true(flushes_left > 30);
}

static void a_full_stream_is_counted(void **state)
{
	uint64_t t;

	(void)state;
	start();
	stream_full = true;
	t = fake->now();
	for (int i = 0; i < 10; i++)
		fake->kernel(fake->launch(), t, t + 1, "k");
	assert_int_equal(sb_activity_drain(), 10);
	sb_activity_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_that_outlives_its_trace_is_left_out),
		TEST(waits_that_find_no_room_are_counted),
		TEST(what_was_launched_after_the_cut_is_not_recorded),
		TEST(leftovers_of_an_earlier_trace_are_not_recorded),
		TEST(incomplete_records_are_counted_not_written),
		TEST(what_is_launched_after_the_cut_is_not_lost),
		TEST(unknown_launches_are_recorded_without_one),
		TEST(buffers_run_out_and_the_loss_is_counted),
		TEST(what_cupti_drops_although_it_has_buffers_is_another_loss),
		TEST(several_full_buffers_wake_their_reader),
		TEST(what_the_gpu_has_not_done_yet_is_looked_for_while_nobody_waits),
		TEST(who_waits_for_the_end_waits_a_second),
		TEST(a_full_stream_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
