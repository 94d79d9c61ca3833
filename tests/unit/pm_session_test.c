/* Sampling of counters against a CUPTI that is strict about the order of calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "fake/fake_cupti.h"
#include "fake/fake_pm.h"
#include "gpu/pm_session.h"
#include "record/clock.h"
#include "strobe.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAKE STROBE_BINARY_DIR "/tests/fake/libfake_cupti.so"
#define TENSOR "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"
static const struct fake_cupti *fake;
static const struct fake_pm *chip;
static const struct sb_cupti *cupti;
static const struct sb_pm_cupti *pm;
static struct sb_pm_session session;
static struct sb_pm_sample taken[8192];
static size_t taken_count;

static int setup(void **state)
{
	(void)state;
	setenv("STROBE_CUPTI_PATH", FAKE, 1);
	sb_clock_init();
	fake = ((fake_cupti_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_cupti"))();
	chip = ((fake_pm_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_pm"))();
	fake->reset();
	chip->reset();
	taken_count = 0;
	assert_int_equal(sb_cupti_load(&cupti), 0);
	assert_int_equal(sb_pm_cupti_load(cupti, &pm), 0);
	return 0;
}

/* Nothing is held and every call came in its place. */
static int teardown(void **state)
{
	(void)state;
	sb_pm_session_close(&session);
	assert_int_equal(chip->held(), 0);
	assert_int_equal(chip->mistakes(), 0);
	return 0;
}

static void take(void *user, const struct sb_pm_sample *s)
{
	(void)user;
	assert_true(taken_count < 8192);
	taken[taken_count++] = *s;
}

static void start(void)
{
	assert_int_equal(sb_pm_session_open(&session, cupti, pm, 0), 0);
	assert_int_equal(sb_pm_session_start(&session), 0);
}

static void samples(uint64_t from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		chip->sample(0, from + i * 500000, from + (i + 1) * 500000, 90, 80, 30, 10);
}

static void samples_come_in_order_with_their_columns(void **state)
{
	(void)state;
	start();
	samples(1000, 3);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 3);
	assert_int_equal(taken[0].start, 1000);
	assert_int_equal(taken[2].end, 1000 + 3 * 500000);
	assert_true(taken[0].row[SB_PM_SM_ACTIVE] == 90);
	assert_true(taken[0].row[SB_PM_TENSOR_ACTIVE] == 80);
	assert_true(taken[0].row[SB_PM_DRAM_READ_BYTES] == 30);
	sb_pm_metrics_rates(taken[0].row, 0.5, 200);
	assert_true(taken[0].row[SB_PM_DRAM_READ_BYTES] == 60);
	assert_true(taken[0].row[SB_PM_DRAM_READ] == 30);
	assert_true(taken[0].row[SB_PM_DRAM_ACTIVE] == 40);
	assert_true(taken[0].row[SB_PM_PCIE_READ_BYTES] == 0);
}

static void more_samples_than_one_decode_holds_all_come(void **state)
{
	(void)state;
	start();
	samples(0, 4000);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 4000);
	assert_int_equal(taken[3999].end, 4000ull * 500000);
}

static void what_was_sampled_before_the_stop_is_drained_after_it(void **state)
{
	(void)state;
	start();
	samples(0, 5);
	sb_pm_session_stop(&session);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 5);
}

static void full_buffer_is_counted_and_sampling_begins_again(void **state)
{
	(void)state;
	start();
	samples(0, 2); /* lost, too: they were not read */
	chip->overflow(0);
	samples(1000000, 3);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(session.overflow_count, 1);
	samples(9000000, 2);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 2);
	assert_int_equal(taken[0].start, 9000000);
	assert_int_equal(chip->started(0), 2);
	assert_false(session.broken);
}

static void device_that_cannot_be_got_again_is_left_alone(void **state)
{
	(void)state;
	start();
	chip->overflow(0);
	fake->refuse("cuptiPmSamplingEnable", CUPTI_HARDWARE_BUSY);
	sb_pm_session_drain(&session, take, NULL);
	fake->refuse(NULL, 0);
	assert_true(session.broken);
	sb_pm_session_drain(&session, take, NULL);
	sb_pm_session_stop(&session);
}

static void counters_that_need_a_second_pass_are_left_out(void **state)
{
	(void)state;
	chip->pass_limit(3);
	start();
	assert_int_equal(session.metrics.count, 3);
	samples(0, 1);
	sb_pm_session_drain(&session, take, NULL);
	assert_true(taken[0].row[SB_PM_DRAM_READ_BYTES] == 30);
	assert_true(isnan(taken[0].row[SB_PM_DRAM_WRITE_BYTES]));
}

static void another_spelling_is_taken_where_the_chip_lacks_one(void **state)
{
	(void)state;
	chip->know(TENSOR, false);
	start();
	assert_string_equal(
		session.metrics.names[1], "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed");
	samples(0, 1);
	sb_pm_session_drain(&session, take, NULL);
	assert_true(taken[0].row[SB_PM_TENSOR_ACTIVE] == 80);
}

static void cycles_trigger_where_time_cannot(void **state)
{
	(void)state;
	chip->time_trigger(false);
	start();
	samples(0, 1);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 1);
}

static void refusals_have_their_words_and_hold_nothing(void **state)
{
	static const char *const calls[] = { "cuptiProfilerInitialize", "cuptiDeviceGetChipName",
		"cuptiPmSamplingGetCounterAvailability", "cuptiProfilerHostInitialize",
		"cuptiProfilerHostConfigAddMetrics", "cuptiProfilerHostGetConfigImage",
		"cuptiPmSamplingEnable", "cuptiPmSamplingSetConfig", "cuptiPmSamplingGetCounterDataSize",
		"cuptiPmSamplingCounterDataImageInitialize" };

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		fake->refuse(calls[i], CUPTI_NO_PRIVILEGES);
		assert_int_equal(sb_pm_session_open(&session, cupti, pm, 0), STROBE_EPERM);
		assert_string_equal(sb_error_message(), "GPU 0: no permission to sample its counters");
		assert_int_equal(chip->held(), 0);
		fake->refuse(calls[i], 999);
		assert_int_equal(sb_pm_session_open(&session, cupti, pm, 0), STROBE_EIO);
		assert_int_equal(chip->held(), 0);
	}
	fake->refuse(NULL, 0);
	chip->occupy(0, true);
	assert_int_equal(sb_pm_session_open(&session, cupti, pm, 0), STROBE_EBUSY);
	assert_string_equal(sb_error_message(), "GPU 0: another profiler has its counters");
	chip->occupy(0, false);
	start(); /* nothing of it lingers */
}

static void two_devices_share_the_profiler_and_each_is_given_back(void **state)
{
	struct sb_pm_session other;

	(void)state;
	start();
	assert_int_equal(sb_pm_session_open(&other, cupti, pm, 1), 0);
	assert_int_equal(sb_pm_session_start(&other), 0);
	assert_int_equal(fake->calls("cuptiProfilerInitialize"), 1);
	sb_pm_session_close(&other);
	sb_pm_session_close(&other);
	assert_true(chip->sampling(0));
	assert_int_equal(fake->calls("cuptiProfilerDeInitialize"), 0);
	sb_pm_session_close(&session);
	assert_int_equal(fake->calls("cuptiProfilerDeInitialize"), 1);
	start(); /* and again */
}

static void cupti_before_12_6_is_refused_in_words(void **state)
{
	struct sb_cupti old = *cupti;

	(void)state;
	old.version = 23;
	assert_int_equal(sb_pm_cupti_load(&old, &pm), STROBE_ENOTSUP);
	assert_non_null(strstr(sb_error_message(), "CUDA 12.6"));
	old.version = 24;
	assert_int_equal(sb_pm_cupti_load(&old, &pm), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(samples_come_in_order_with_their_columns),
		TEST(more_samples_than_one_decode_holds_all_come),
		TEST(what_was_sampled_before_the_stop_is_drained_after_it),
		TEST(full_buffer_is_counted_and_sampling_begins_again),
		TEST(device_that_cannot_be_got_again_is_left_alone),
		TEST(counters_that_need_a_second_pass_are_left_out),
		TEST(another_spelling_is_taken_where_the_chip_lacks_one),
		TEST(cycles_trigger_where_time_cannot),
		TEST(refusals_have_their_words_and_hold_nothing),
		TEST(two_devices_share_the_profiler_and_each_is_given_back),
		TEST(cupti_before_12_6_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
