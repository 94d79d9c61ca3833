/* The events that a thread puts on streams: when one serves twice, and what happens
 * where none can be put. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake/gpu_program.h"
#include "strobe.h"

#include <pthread.h>

/* Events put since it was asked last. */
static uint64_t put_count(void)
{
	static uint64_t before;
	uint64_t now = gpu->calls("cuEventRecord"), since = now - before;

	before = now;
	return since;
}

static void nested_zones_with_nothing_between_share_events(void **state)
{
	(void)state;
	put_count();
	begin(70, stream_1);
	begin(71, stream_1);
	launch(stream_1, 10 * MS);
	end(71, stream_1);
	end(70, stream_1);
	assert_int_equal(put_count(), 2);
	gpu->advance(10 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(written_count, 2);
	assert_int_equal(ms_of(written[0].payload[1]), 10);
	assert_int_equal(ms_of(written[1].payload[1]), 10);
}

static void zones_back_to_back_need_one_event_more_than_there_are_zones(void **state)
{
	(void)state;
	put_count();
	for (uint32_t i = 0; i < 24; i++)
		zone(70, stream_1, (i + 1) * MS);
	assert_int_equal(put_count(), 25);
	gpu->advance(1000 * MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 24);
	for (uint32_t i = 0; i < 24; i++)
		assert_int_equal(ms_of(written[i].payload[1]), i + 1);
}

/* However soon the next zone begins: what was launched before it is not its own. */
static void kernel_between_two_zones_belongs_to_neither(void **state)
{
	(void)state;
	zone(70, stream_1, 10 * MS);
	pass_us(1); /* a quick launch: as quick as putting an event */
	gpu->work(stream_1, 500 * MS);
	zone(71, stream_1, 20 * MS);
	gpu->advance(1000 * MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 2);
	assert_int_equal(ms_of(written[0].payload[1]), 10);
	assert_int_equal(ms_of(written[1].payload[1]), 20);
}

/* From an interpreter a launch takes two puts at the least. */
static void interpreter_may_take_longer_but_not_as_long_as_a_launch(void **state)
{
	struct sb_gpu_arrival arrived;

	(void)state;
	for (uint32_t ns = 1500; ns <= 2000; ns += 500) {
		zone(70, stream_1, MS);
		put_count();
		clock_ticks += ns * sb_clock_hz() / 1000000000u + 1;
		arrived = from_c();
		arrived.launch_puts = SB_GPU_PUTS_FROM_INTERPRETER;
		sb_gpu_zone_begin(71, stream_1, arrived, sb_clock_ticks());
		assert_int_equal(put_count(), ns < 2000 ? 0 : 1);
		end(71, stream_1);
		pass_us(20);
	}
}

static void kernel_between_two_ends_belongs_to_the_outer(void **state)
{
	(void)state;
	begin(70, stream_1);
	zone(71, stream_1, 10 * MS);
	pass_us(1);
	gpu->work(stream_1, 500 * MS);
	end(70, stream_1);
	gpu->advance(1000 * MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 2);
	assert_int_equal(ms_of(written[0].payload[1]), 10);
	assert_int_equal(ms_of(written[1].payload[1]), 510);
}

static void time_spent_asking_for_the_stream_is_not_the_programs(void **state)
{
	struct sb_gpu_arrival arrived;

	(void)state;
	zone(70, stream_1, MS);
	pass_us(2); /* the end of the ordinary zone */
	sb_gpu_zone_leave(sb_clock_ticks());
	put_count();
	arrived = from_c();
	pass_us(3); /* torch looks its stream up */
	sb_gpu_zone_begin(71, stream_1, arrived, sb_clock_ticks());
	assert_int_equal(put_count(), 0);
	end(71, stream_1);
}

/* Other threads may have used the stream since. */
static void event_is_not_shared_for_long(void **state)
{
	(void)state;
	zone(70, stream_1, MS);
	put_count();
	for (uint32_t i = 0; i < 200; i++) {
		clock_ticks += sb_clock_hz() / 10000000u; /* 100 ns */
		begin(71, stream_1);
		end(71, stream_1);
	}
	assert_true(put_count() >= 2);
	assert_int_equal(sb_gpu_resolve_pass(), 200 + 1);
	gpu->advance(10 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(written_count, 201);
	for (uint32_t i = 1; i < 201; i++)
		assert_int_equal(written[i].payload[1], 0);
}

static void events_are_shared_on_one_stream_only(void **state)
{
	(void)state;
	put_count();
	begin(70, stream_1);
	begin(71, stream_2);
	end(71, stream_2); /* nothing since its begin */
	end(70, stream_1); /* on the other stream something was put since */
	assert_int_equal(put_count(), 3);
}

static void begin_long_after_the_last_event_has_its_own(void **state)
{
	(void)state;
	put_count();
	zone(70, stream_1, MS);
	pass_us(1);
	zone(71, stream_1, MS);
	assert_int_equal(put_count(), 4);
}

/* Calls of the driver since it was asked last: a benchmark's numbers are times, these are not. */
static double calls_of_a_zone(uint32_t zones)
{
	static const char *const calls[] = { "cuCtxGetCurrent", "cuCtxGetId", "cuStreamIsCapturing",
		"cuEventRecord", "cuStreamGetId", "cuEventQuery", "cuEventElapsedTime", "cuCtxPushCurrent_v2",
		"cuCtxPopCurrent_v2", "cuEventCreate", "cuThreadExchangeStreamCaptureMode" };
	static uint64_t before;
	uint64_t now = 0, since;

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		now += gpu->calls(calls[i]);
	since = now - before;
	before = now;
	return (double)since / zones;
}

/* A model of 24 blocks, 200 us each. */
static void launch_steps(uint32_t count)
{
	for (uint32_t step = 0; step < count; step++) {
		begin(70, NULL);
		launch(NULL, MS);
		for (uint32_t block = 0; block < 24; block++) {
			begin(71, NULL);
			launch(NULL, MS);
			pass_us(200);
			end(71, NULL);
		}
		launch(NULL, MS);
		end(70, NULL);
	}
	gpu->advance(count * 30 * MS);
}

/* An event for each border, and the question whether it may be put; the time between two. */
static void a_zone_takes_two_calls_of_the_driver_where_it_is_put_and_one_where_it_is_read(void **state)
{
	const uint32_t steps = 20, zones = steps * 25;

	(void)state;
	launch_steps(steps); /* the events are made */
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	calls_of_a_zone(1);
	launch_steps(steps);
	assert_true(calls_of_a_zone(zones) < 2.4);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(written_count, 2 * zones);
	assert_true(calls_of_a_zone(zones) < 1.2);
}

/* Taking the context for the one of a moment ago costs a thread that changes its device one zone, once. */
static void thread_that_changes_its_context_is_asked_for_it_from_then_on(void **state)
{
	static char context_b;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		gpu->make_current(i & 1 ? &context_b : &context_a, i & 1);
		zone(70 + i, NULL, MS); /* the default stream: of the one or of the other */
	}
	gpu->advance(100 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
	assert_int_equal(written_count, 19);
	for (uint32_t i = 0; i < 19; i++)
		assert_int_equal(written_device(&written[i]), (written_name(&written[i]) - 70) & 1);
}

/* No context is current any more, and the driver has not been asked since. */
static void context_that_is_put_away_is_no_context_that_is_lost(void **state)
{
	(void)state;
	zone(70, NULL, MS);
	gpu->make_current(NULL, 0);
	pass_us(3);
	zone(71, NULL, 0);
	gpu->make_current(&context_a, 0);
	pass_us(3);
	zone(72, NULL, MS);
	gpu->advance(10 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 0);
	assert_int_equal(written_count, 2);
	assert_int_equal(written_name(&written[1]), 72);
}

/* The resolving thread saw it first. */
static void context_that_another_thread_found_dead_is_not_taken_for_the_current_one(void **state)
{
	(void)state;
	zone(70, stream_1, MS);
	gpu->destroy(&context_a);
	gpu->make_current(&context_a, 0);
	sb_gpu_resolve_pass();
	pass_us(3);
	zone(71, stream_1, MS);
	gpu->advance(10 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(gpu->calls("event of a context that is gone"), 0);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
}

/* Before the resolving thread has looked: its events must not even be asked about. */
static void reset_device_is_noticed_before_its_events_are_used(void **state)
{
	(void)state;
	zone(70, stream_1, MS);
	gpu->advance(10 * MS);
	gpu->destroy(&context_a);
	gpu->make_current(&context_a, 0);
	pass_us(6000); /* no device is reset in less */
	zone(71, stream_1, MS);
	gpu->advance(10 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(gpu->calls("event of a context that is gone"), 0);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
}

static void zone_that_spans_a_reset_is_counted(void **state)
{
	(void)state;
	begin(70, stream_1);
	gpu->destroy(&context_a);
	gpu->make_current(&context_a, 0);
	pass_us(6000);
	end(70, stream_1);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(gpu->calls("event of a context that is gone"), 0);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
	assert_int_equal(written_count, 0);
}

static void contexts_past_the_last_slot_are_counted(void **state)
{
	static char many[SB_GPU_CONTEXTS_MAX + 2];

	(void)state;
	for (uint32_t i = 0; i < SB_GPU_CONTEXTS_MAX + 2; i++) {
		gpu->make_current(&many[i], 0);
		zone(70, &many[i], 0); /* a stream of its own */
	}
	assert_int_equal(lost[SB_LOST_GPU_POOL], 2);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, SB_GPU_CONTEXTS_MAX);
}

static void stream_that_was_destroyed_loses_its_zone_and_no_more(void **state)
{
	(void)state;
	begin(70, stream_1);
	pass_us(3);
	gpu->fail_capturing(400); /* invalid handle */
	end(70, STROBE_GPU_SAME_STREAM);
	gpu->fail_capturing(0);
	zone(71, stream_2, MS);
	gpu->advance(MS);
	sb_gpu_resolve_pass();
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
	assert_int_equal(lost[SB_LOST_GPU_CAPTURE], 0);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
}

/* CU_STREAM_PER_THREAD is one handle and as many streams as threads. */
static void *zone_per_thread(void *arg)
{
	(void)arg;
	gpu->make_current(&context_a, 0);
	put_count();
	zone(71, (void *)2, 0);
	assert_int_equal(put_count(), 2); /* not the other thread's event */
	return NULL;
}

static void per_thread_default_streams_share_no_events(void **state)
{
	pthread_t thread;

	(void)state;
	zone(70, (void *)2, 0);
	pthread_create(&thread, NULL, zone_per_thread, NULL);
	pthread_join(thread, NULL);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 2);
	assert_int_not_equal((uint32_t)written[0].payload[3], (uint32_t)written[1].payload[3]);
}

static void *begin_and_leave(void *arg)
{
	(void)arg;
	gpu->make_current(&context_a, 0);
	zone(70, stream_1, 0);
	launch(stream_1, 0);
	begin(71, stream_1);
	return NULL;
}

static void threads_that_end_give_their_events_back(void **state)
{
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 200; i++) {
		pthread_create(&thread, NULL, begin_and_leave, NULL);
		pthread_join(thread, NULL);
		sb_gpu_resolve_pass();
	}
	assert_int_equal(written_count, 200);
	assert_true(gpu->calls("cuEventCreate") < 200);
}

static void capture_is_skipped_and_counted(void **state)
{
	uint64_t records = gpu->calls("cuEventRecord");

	(void)state;
	gpu->capture(stream_1, 1);
	begin(70, stream_1);
	end(70, stream_1);
	gpu->capture(stream_2, -1); /* the default stream while others capture */
	begin(70, stream_2);
	end(70, stream_2);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 0);
	assert_int_equal(gpu->calls("cuEventRecord"), records);
	assert_int_equal(gpu->calls("capture broken"), 0);
	assert_int_equal(lost[SB_LOST_GPU_CAPTURE], 2);
}

static void capture_that_begins_inside_a_zone_loses_only_that_zone(void **state)
{
	(void)state;
	begin(70, stream_1);
	pass_us(3);
	gpu->capture(stream_1, 1);
	end(70, stream_1);
	gpu->capture(stream_1, 0);
	pass_us(3);
	begin(71, stream_1);
	end(71, stream_1);
	sb_gpu_resolve_pass();
	assert_int_equal(lost[SB_LOST_GPU_CAPTURE], 1);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
}

static void exhausted_pool_is_counted_and_recovers(void **state)
{
	(void)state;
	gpu->limit_events(6);
	for (int i = 0; i < 8; i++) {
		begin(70, i & 1 ? stream_1 : stream_2);
		launch(i & 1 ? stream_1 : stream_2, MS);
		end(70, i & 1 ? stream_1 : stream_2);
	}
	assert_true(lost[SB_LOST_GPU_POOL] > 0);
	gpu->limit_events(UINT32_MAX);
	gpu->advance(100 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	written_reset();
	begin(70, stream_1);
	end(70, stream_1);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
	assert_int_equal(lost[SB_LOST_GPU_POOL], 0);
}

/* Each zone of the shortage fails; none of them may use the pool up. */
static void pool_recovers_from_a_long_shortage(void **state)
{
	(void)state;
	gpu->limit_events(0);
	for (uint32_t i = 0; i < SB_GPU_EVENTS_MAX + 100; i++)
		zone(70, stream_1, 0);
	assert_int_equal(lost[SB_LOST_GPU_POOL], SB_GPU_EVENTS_MAX + 100);
	gpu->limit_events(UINT32_MAX);
	zone(71, stream_1, 0);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
}

static void events_are_reused_not_made(void **state)
{
	uint64_t made;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		begin(70, stream_1);
		launch(stream_1, 1000);
		end(70, stream_1);
		gpu->advance(1000);
		if (i % 10 == 9)
			sb_gpu_resolve_pass();
	}
	made = gpu->calls("cuEventCreate");
	assert_int_equal(written_count, 4000);
	assert_true(made < 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nested_zones_with_nothing_between_share_events),
		TEST(zones_back_to_back_need_one_event_more_than_there_are_zones),
		TEST(kernel_between_two_zones_belongs_to_neither),
		TEST(interpreter_may_take_longer_but_not_as_long_as_a_launch),
		TEST(kernel_between_two_ends_belongs_to_the_outer),
		TEST(time_spent_asking_for_the_stream_is_not_the_programs),
		TEST(event_is_not_shared_for_long),
		TEST(events_are_shared_on_one_stream_only),
		TEST(begin_long_after_the_last_event_has_its_own),
		TEST(a_zone_takes_two_calls_of_the_driver_where_it_is_put_and_one_where_it_is_read),
		TEST(thread_that_changes_its_context_is_asked_for_it_from_then_on),
		TEST(context_that_is_put_away_is_no_context_that_is_lost),
		TEST(context_that_another_thread_found_dead_is_not_taken_for_the_current_one),
		TEST(reset_device_is_noticed_before_its_events_are_used),
		TEST(zone_that_spans_a_reset_is_counted),
		TEST(contexts_past_the_last_slot_are_counted),
		TEST(stream_that_was_destroyed_loses_its_zone_and_no_more),
		TEST(per_thread_default_streams_share_no_events),
		TEST(threads_that_end_give_their_events_back),
		TEST(capture_is_skipped_and_counted),
		TEST(capture_that_begins_inside_a_zone_loses_only_that_zone),
		TEST(exhausted_pool_is_counted_and_recovers),
		TEST(pool_recovers_from_a_long_shortage),
		TEST(events_are_reused_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
