/* GPU zones and the driver: looking for it, one that is missing, one that lacks what is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake/gpu_program.h"
#include "gpu/driver.h"
#include "strobe.h"

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
	unsetenv("STROBE_CUDA_PATH"); /* nobody has loaded one */
	zone(70, stream_1, 0);
	assert_string_equal(missing, "");
	assert_int_equal(written_count, 0);
}

static void driver_that_is_named_and_not_there_is_said_once(void **state)
{
	(void)state;
	setenv("STROBE_CUDA_PATH", "/nonexistent/libcuda.so", 1);
	for (int i = 0; i < 3; i++) {
		zone(70, stream_1, 0);
		pass_us(200000);
	}
	assert_string_equal(missing,
		"GPU time: STROBE_CUDA_PATH names '/nonexistent/libcuda.so', which cannot be loaded; ");
	assert_int_equal(written_count, 0);
}

/* Runs while the driver is looked for, as a zone of another thread would. */
static void (*meanwhile)(void);

void *__real_sb_dynlib_from_environment(const char *variable, bool *out_named);
void *__wrap_sb_dynlib_from_environment(const char *variable, bool *out_named)
{
	if (meanwhile)
		meanwhile();
	return __real_sb_dynlib_from_environment(variable, out_named);
}

static void begin_70(void)
{
	begin(70, stream_1);
}

static void zone_that_begins_while_another_thread_looks_is_counted(void **state)
{
	(void)state;
	meanwhile = begin_70;
	sb_cuda_get();
	meanwhile = NULL;
	zone(71, stream_1, MS);
	end(70, stream_1);
	gpu->advance(MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
}

static void whole_zone(void)
{
	begin(70, stream_1);
	end(70, stream_1);
}

static void zone_that_ends_while_another_thread_looks_is_counted(void **state)
{
	(void)state;
	meanwhile = whole_zone;
	sb_cuda_get();
	meanwhile = NULL;
	zone(71, stream_1, MS);
	gpu->advance(MS);
	sb_gpu_resolve_pass();
	assert_int_equal(written_count, 1);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 1);
}

static void zone_that_ends_in_a_look_that_finds_nothing_lost_nothing(void **state)
{
	(void)state;
	setenv("STROBE_CUDA_PATH", "/nowhere/libcuda.so.1", 1);
	meanwhile = whole_zone;
	sb_cuda_get();
	meanwhile = NULL;
	whole_zone();
	setenv("STROBE_CUDA_PATH", FAKE, 1);
	sb_cuda_look_now();
	whole_zone();
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 0);
}

static void zone_that_begins_in_a_look_that_finds_nothing_lost_nothing(void **state)
{
	(void)state;
	setenv("STROBE_CUDA_PATH", "/nowhere/libcuda.so.1", 1);
	meanwhile = begin_70;
	sb_cuda_get();
	meanwhile = NULL;
	end(70, stream_1);
	assert_int_equal(lost[SB_LOST_UNRESOLVED], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(driver_without_what_is_needed_is_said_once),
		TEST(without_a_driver_zones_are_ordinary),
		TEST(driver_that_is_named_and_not_there_is_said_once),
		TEST(zone_that_begins_while_another_thread_looks_is_counted),
		TEST(zone_that_begins_in_a_look_that_finds_nothing_lost_nothing),
		TEST(zone_that_ends_while_another_thread_looks_is_counted),
		TEST(zone_that_ends_in_a_look_that_finds_nothing_lost_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
