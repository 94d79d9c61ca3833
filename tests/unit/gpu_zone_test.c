/* GPU zones against a driver whose clock stands still until told otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fake/fake_cuda.h"
#include "fake/written.h"
#include "gpu/driver.h"
#include "gpu/pool.h"
#include "gpu/rate.h"
#include "gpu/resolve.h"
#include "gpu/zone.h"
#include "record/clock.h"
#include "strobe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKE STROBE_BINARY_DIR "/tests/fake/libfake_cuda.so"
#define MS 1000000ull
static const struct fake_cuda *gpu;
static char context_a, context_b, stream_1[16], stream_2[16];
static uint64_t clock_ticks;

/* The CPU's clock: putting an event takes 1 µs, launching something 3, and
 * everything else no time at all. */
static uint64_t clock_now(void)
{
	return clock_ticks;
}

static void pass_us(uint64_t us)
{
	clock_ticks += us * sb_clock_hz() / 1000000u;
}

static void put_takes_time(void)
{
	pass_us(1);
}

static void launch(void *stream, uint64_t ns)
{
	pass_us(3);
	gpu->work(stream, ns);
}

static struct sb_gpu_arrival from_c(void)
{
	return (struct sb_gpu_arrival){ sb_clock_ticks(), SB_GPU_PUTS_FROM_C };
}

static void begin(uint32_t name, void *stream)
{
	sb_gpu_zone_begin(name, stream, from_c());
}

static void end(uint32_t name, void *stream)
{
	sb_gpu_zone_end(name, stream, from_c());
}

static void zone(uint32_t name, void *stream, uint64_t ns)
{
	begin(name, stream);
	launch(stream, ns);
	end(name, stream);
}

/* Events put since it was asked last. */
static uint64_t put_count(void)
{
	static uint64_t before;
	uint64_t now = gpu->calls("cuEventRecord"), since = now - before;

	before = now;
	return since;
}

static int setup(void **state)
{
	(void)state;
	setenv("STROBE_CUDA_PATH", FAKE, 1);
	sb_clock_init();
	sb_clock_kind = SB_CLOCK_MONOTONIC;
	sb_clock_source = clock_now;
	clock_ticks += 10 * sb_clock_hz();
	sb_gpu_zones_forget();
	sb_gpu_resolve_forget();
	sb_gpu_contexts_forget();
	sb_cuda_forget();
	sb_gpu_zones_threadless(true);
	gpu = ((fake_cuda_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_cuda"))();
	gpu->reset();
	gpu->on_record(put_takes_time);
	gpu->make_current(&context_a, 0);
	written_reset();
	return 0;
}

static uint64_t ms_of(uint64_t ticks)
{
	return (uint64_t)((double)ticks * 1e3 / (double)sb_clock_hz() + 0.5);
}

static void zone_lasts_as_long_as_its_work(void **state)
{
	const struct written *w = &written[0];
	uint64_t before = sb_clock_ticks();

	(void)state;
	begin(70, stream_1);
	launch(stream_1, 250 * MS);
	end(70, stream_1);
	assert_int_equal(sb_gpu_resolve_pass(), 1);
	assert_int_equal(written_count, 0);
	gpu->advance(250 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(written_count, 1);
	assert_int_equal(w->lane, SB_LANE_DEVICE);
	assert_int_equal(w->type, SB_GPU);
	assert_int_equal(w->words, 4);
	assert_int_equal(written_name(w), 70);
	assert_int_equal(written_kind(w), SB_GPU_ZONE);
	assert_int_equal(ms_of(w->payload[1]), 250);
	assert_true(w->payload[2] >= before && w->payload[2] <= sb_clock_ticks());
	assert_true(w->payload[0] >= w->payload[2]);
	assert_int_equal(written_stream(w), (uintptr_t)stream_1 & 0xffff);
	assert_int_equal((uint32_t)w->payload[3], syscall(SYS_gettid));
}

static void asynchronous_work_counts_where_it_was_launched(void **state)
{
	(void)state;
	begin(70, stream_1);
	launch(stream_1, 1000 * MS);
	end(70, stream_1);
	begin(71, stream_1);
	gpu->advance(1000 * MS); /* the program waits for the GPU here */
	end(71, stream_1);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 2);
	assert_int_equal(written_name(&written[0]), 70);
	assert_int_equal(ms_of(written[0].payload[1]), 1000);
	assert_int_equal(written_name(&written[1]), 71);
	assert_int_equal(ms_of(written[1].payload[1]), 0);
}

static void zones_keep_their_distance_on_the_clock(void **state)
{
	(void)state;
	zone(99, stream_2, 0);
	sb_gpu_resolve_pass(); /* ties the clocks together before the GPU runs ahead */
	written_reset();
	for (uint32_t i = 0; i < 3; i++) {
		launch(stream_1, 10 * MS);
		begin(70 + i, stream_1);
		launch(stream_1, 10 * MS);
		end(70 + i, stream_1);
		launch(stream_1, 20 * MS);
	}
	gpu->advance(200 * MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 3);
	assert_int_equal(ms_of(written[1].payload[0] - written[0].payload[0]), 40);
	assert_int_equal(ms_of(written[2].payload[0] - written[1].payload[0]), 40);
}

static void nested_zones_end_by_name_in_any_order(void **state)
{
	(void)state;
	begin(70, stream_1);
	begin(71, stream_1);
	launch(stream_1, 20 * MS);
	end(70, stream_1); /* as tasks do */
	launch(stream_1, 20 * MS);
	end(71, stream_1);
	gpu->advance(100 * MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 2);
	assert_int_equal(written_name(&written[0]), 70);
	assert_int_equal(ms_of(written[0].payload[1]), 20);
	assert_int_equal(written_name(&written[1]), 71);
	assert_int_equal(ms_of(written[1].payload[1]), 40);
}

static void end_without_a_name_takes_the_innermost(void **state)
{
	(void)state;
	begin(70, stream_1);
	begin(71, stream_1);
	end(0, stream_1);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
	end(0, stream_1);
	end(0, stream_1); /* one too many: nothing */
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 2);
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

static void streams_do_not_wait_for_each_other(void **state)
{
	(void)state;
	begin(70, stream_1);
	launch(stream_1, 500 * MS);
	end(70, stream_1);
	begin(71, stream_2);
	launch(stream_2, 5 * MS);
	end(71, stream_2);
	gpu->advance(10 * MS);
	assert_int_equal(sb_gpu_resolve_pass(), 1);
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
}

static void devices_are_told_apart(void **state)
{
	(void)state;
	begin(70, stream_1);
	end(70, stream_1);
	gpu->make_current(&context_b, 3);
	begin(71, stream_2);
	end(71, stream_2);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 2);
	assert_int_equal(written_device(&written[0]), 0);
	assert_int_equal(written_device(&written[1]), 3);
}

static void zone_that_ends_on_another_device_is_counted(void **state)
{
	(void)state;
	begin(70, stream_1);
	gpu->make_current(&context_b, 1);
	end(70, stream_2);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 0);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
}

static void context_that_goes_away_loses_its_zones_and_no_more(void **state)
{
	(void)state;
	begin(70, stream_1);
	launch(stream_1, 50 * MS);
	end(70, stream_1);
	gpu->destroy(&context_a);
	gpu->make_current(&context_b, 0);
	begin(71, stream_2);
	end(71, stream_2);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
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
		zone(70, stream_1, 0);
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

static void driver_without_what_is_needed_is_said_once(void **state)
{
	(void)state;
	setenv("STROBE_CUDA_PATH", STROBE_BINARY_DIR "/tests/fake/libfake_cuda_old.so", 1);
	for (int i = 0; i < 5; i++) {
		zone(70, stream_1, 0);
		pass_us(200000);
	}
	assert_string_equal(missing, "GPU time: this CUDA driver has no cuStreamIsCapturing; ");
	sb_cuda_look_again(); /* the next session */
	zone(70, stream_1, 0);
	assert_int_equal(
		strlen(missing), 2 * strlen("GPU time: this CUDA driver has no cuStreamIsCapturing; "));
	assert_int_equal(written_count, 0);
}

static void without_a_driver_zones_are_ordinary(void **state)
{
	(void)state;
	setenv("STROBE_CUDA_PATH", "/nonexistent/libcuda.so", 1);
	zone(70, stream_1, 0);
	assert_string_equal(missing, "");
	assert_int_equal(written_count, 0);
}

static void context_made_anew_at_the_same_address_gets_its_own_events(void **state)
{
	(void)state;
	begin(70, stream_1);
	end(70, stream_1);
	gpu->destroy(&context_a);
	gpu->make_current(&context_a, 0); /* cudaDeviceReset, then work again */
	sb_gpu_resolve_pass();
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
	begin(71, stream_1);
	end(71, stream_1);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
}

static void broken_context_ends_gpu_zones_quietly(void **state)
{
	(void)state;
	gpu->fail_record(700);
	for (int i = 0; i < 3; i++) {
		begin(70, stream_1);
		end(70, stream_1);
	}
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 0);
	assert_true(lost[SB_LOST_UNRESOLVED] >= 1);
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
		sb_gpu_zone_begin(71, stream_1, arrived);
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
	sb_gpu_zone_leave();
	put_count();
	arrived = from_c();
	pass_us(3); /* torch looks its stream up */
	sb_gpu_zone_begin(71, stream_1, arrived);
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

static void end_on_the_same_stream_needs_no_handle(void **state)
{
	(void)state;
	begin(70, stream_1);
	launch(stream_1, 30 * MS);
	end(70, STROBE_GPU_SAME_STREAM);
	gpu->advance(30 * MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
	assert_int_equal(ms_of(written[0].payload[1]), 30);
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

static void strobe_never_initialises_creates_or_synchronizes(void **state)
{
	static const char *const forbidden[] = { "cuInit", "cuCtxCreate_v2", "cuCtxCreate_v4",
		"cuDevicePrimaryCtxRetain", "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize",
		"cuCtxSetCurrent" };

	(void)state;
	for (int i = 0; i < 100; i++) {
		begin(70, stream_1);
		launch(stream_1, MS);
		end(70, stream_1);
		gpu->advance(MS / 2);
		sb_gpu_resolve_pass();
	}
	sb_gpu_resolve_stop();
	for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
		assert_int_equal(gpu->calls(forbidden[i]), 0);
	assert_true(gpu->calls("cuEventRecord") > 0);
	assert_int_equal(gpu->calls("cuCtxPushCurrent_v2"), gpu->calls("cuCtxPopCurrent_v2"));
}

static void without_a_current_context_nothing_is_asked_of_the_driver(void **state)
{
	(void)state;
	gpu->make_current(NULL, 0);
	begin(70, stream_1);
	end(70, stream_1);
	assert_int_equal(gpu->calls("cuEventCreate"), 0);
	assert_int_equal(gpu->calls("cuEventRecord"), 0);
	assert_int_equal(sb_gpu_resolve_pass(), 0);
}

static void zones_of_a_closed_session_are_not_written_into_the_next(void **state)
{
	(void)state;
	begin(70, stream_1);
	end(70, stream_1);
	generation++;
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 0);
}

static void zone_that_began_in_a_closed_session_is_not_written_into_the_next(void **state)
{
	(void)state;
	begin(70, stream_1);
	launch(stream_1, MS);
	generation++;
	end(70, stream_1);
	zone(71, stream_1, MS);
	gpu->advance(10 * MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
	assert_int_equal(written_name(&written[0]), 71);
}

static void work_still_running_at_the_stop_is_counted(void **state)
{
	(void)state;
	begin(70, stream_1);
	launch(stream_1, 3600000 * MS);
	end(70, stream_1);
	sb_gpu_resolve_stop();
	assert_int_equal(written_count, 0);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
}

static void deep_nesting_gives_up_the_oldest(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 70; i++)
		begin(100 + i, stream_1);
	for (uint32_t i = 70; i-- > 0;)
		end(100 + i, stream_1);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 64);
	assert_int_equal(lost[SB_LOST_DEPTH], 6);
}

static void frequent_stages_are_not_worth_events_for_the_session(void **state)
{
	uint64_t second, t = 1;
	int yes = 0;

	(void)state;
	sb_gpu_rate_reset(1000);
	second = sb_clock_hz();
	for (int i = 0; i < 5000; i++)
		yes += sb_gpu_rate_allows(70, t += second / 5000);
	assert_int_equal(yes, 1000);
	assert_false(sb_gpu_rate_allows(70, t += 10 * second));
	assert_true(sb_gpu_rate_allows(71, t));
	assert_non_null(strstr(missing, "frequent stages"));
	sb_gpu_rate_reset(1000);
	assert_true(sb_gpu_rate_allows(70, t));
}

static void rare_stages_are_always_worth_events(void **state)
{
	uint64_t t = 1;

	(void)state;
	sb_gpu_rate_reset(1000);
	for (int i = 0; i < 20000; i++)
		assert_true(sb_gpu_rate_allows(72, t += sb_clock_hz() / 900));
}

struct worker {
	void *stream;
	uint32_t name;
};

static void *record_many(void *arg)
{
	struct worker *w = arg;

	gpu->make_current(&context_a, 0);
	for (int i = 0; i < 2000; i++) {
		begin(w->name, w->stream);
		end(w->name, w->stream);
	}
	return NULL;
}

static void threads_record_while_another_resolves(void **state)
{
	struct worker a = { stream_1, 70 }, b = { stream_2, 71 };
	pthread_t ta, tb;
	uint32_t per_name[2] = { 0, 0 };

	(void)state;
	gpu->on_record(NULL);
	sb_clock_source = NULL; /* the machine's own */
	sb_gpu_resolve_start(false);
	pthread_create(&ta, NULL, record_many, &a);
	pthread_create(&tb, NULL, record_many, &b);
	while (written_count + __atomic_load_n(&lost[SB_LOST_GPU_POOL], __ATOMIC_RELAXED) < 4000)
		sb_gpu_resolve_pass();
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	/* A thread that the machine stops in the middle can leave the pool empty for
	 * a while: then zones are lost, and counted, but never twice or under another name. */
	for (uint32_t i = 0; i < written_count; i++)
		per_name[written_name(&written[i]) - 70]++;
	assert_true(per_name[0] <= 2000 && per_name[1] <= 2000);
	assert_int_equal(per_name[0] + per_name[1] + lost[SB_LOST_GPU_POOL], 4000);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zone_lasts_as_long_as_its_work),
		TEST(asynchronous_work_counts_where_it_was_launched),
		TEST(zones_keep_their_distance_on_the_clock),
		TEST(nested_zones_end_by_name_in_any_order),
		TEST(end_without_a_name_takes_the_innermost),
		TEST(capture_is_skipped_and_counted),
		TEST(capture_that_begins_inside_a_zone_loses_only_that_zone),
		TEST(streams_do_not_wait_for_each_other),
		TEST(devices_are_told_apart),
		TEST(zone_that_ends_on_another_device_is_counted),
		TEST(context_that_goes_away_loses_its_zones_and_no_more),
		TEST(context_made_anew_at_the_same_address_gets_its_own_events),
		TEST(reset_device_is_noticed_before_its_events_are_used),
		TEST(zone_that_spans_a_reset_is_counted),
		TEST(contexts_past_the_last_slot_are_counted),
		TEST(stream_that_was_destroyed_loses_its_zone_and_no_more),
		TEST(per_thread_default_streams_share_no_events),
		TEST(threads_that_end_give_their_events_back),
		TEST(driver_without_what_is_needed_is_said_once),
		TEST(without_a_driver_zones_are_ordinary),
		TEST(broken_context_ends_gpu_zones_quietly),
		TEST(exhausted_pool_is_counted_and_recovers),
		TEST(events_are_reused_not_made),
		TEST(nested_zones_with_nothing_between_share_events),
		TEST(zones_back_to_back_need_one_event_more_than_there_are_zones),
		TEST(kernel_between_two_zones_belongs_to_neither),
		TEST(interpreter_may_take_longer_but_not_as_long_as_a_launch),
		TEST(kernel_between_two_ends_belongs_to_the_outer),
		TEST(time_spent_asking_for_the_stream_is_not_the_programs),
		TEST(event_is_not_shared_for_long),
		TEST(events_are_shared_on_one_stream_only),
		TEST(end_on_the_same_stream_needs_no_handle),
		TEST(begin_long_after_the_last_event_has_its_own),
		TEST(strobe_never_initialises_creates_or_synchronizes),
		TEST(without_a_current_context_nothing_is_asked_of_the_driver),
		TEST(zones_of_a_closed_session_are_not_written_into_the_next),
		TEST(zone_that_began_in_a_closed_session_is_not_written_into_the_next),
		TEST(work_still_running_at_the_stop_is_counted),
		TEST(deep_nesting_gives_up_the_oldest),
		TEST(frequent_stages_are_not_worth_events_for_the_session),
		TEST(rare_stages_are_always_worth_events),
		TEST(threads_record_while_another_resolves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
