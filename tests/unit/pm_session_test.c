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
static size_t taken_count, unread_count;

static int setup(void **state)
{
	(void)state;
	setenv("STROBE_CUPTI_PATH", FAKE, 1);
	sb_clock_init();
	fake = ((fake_cupti_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_cupti"))();
	chip = ((fake_pm_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_pm"))();
	fake->reset();
	chip->reset();
	taken_count = unread_count = 0;
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
	unread_count += !s;
	assert_true(taken_count < 8192);
	if (s)
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
	samples(1000, 4000);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 4000);
	assert_int_equal(taken[3999].end, 1000 + 4000ull * 500000);
}

static void what_was_sampled_before_the_stop_is_drained_after_it(void **state)
{
	(void)state;
	start();
	samples(1000, 5);
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

/* CUPTI may say so beside samples and without an error, and that there is more: the device is another one by then. */
static void full_buffer_that_is_no_error_is_counted_too(void **state)
{
	(void)state;
	start();
	samples(1000, 200);
	chip->trouble(0, FAKE_PM_QUIET_OVERFLOW);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 128);
	assert_int_equal(session.overflow_count, 1);
	assert_int_equal(chip->started(0), 2);
	samples(900000000, 2);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 130);
}

/* Each time the program would wait for half a second. */
static void buffer_that_is_always_full_is_given_up(void **state)
{
	(void)state;
	start();
	chip->trouble(0, FAKE_PM_ALWAYS_FULL);
	for (int i = 0; i < 100 && !session.broken; i++)
		sb_pm_session_drain(&session, take, NULL);
	assert_true(session.broken && session.overflow_count == 4);
	assert_string_equal(sb_error_message(),
		"GPU 0: its buffer is full whenever it is read: CUPTI_ERROR_OUT_OF_MEMORY (8)");
}

static void decoder_that_always_fails_is_given_up(void **state)
{
	(void)state;
	start();
	fake->refuse("cuptiPmSamplingDecodeData", 999);
	for (int i = 0; i < 19; i++)
		sb_pm_session_drain(&session, take, NULL);
	assert_false(session.broken);
	fake->refuse(NULL, 0);
	samples(1000, 1);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 1);
	fake->refuse("cuptiPmSamplingDecodeData", 999);
	for (int i = 0; i < 100 && !session.broken; i++)
		sb_pm_session_drain(&session, take, NULL);
	fake->refuse(NULL, 0);
	assert_true(session.broken);
	assert_non_null(strstr(sb_error_message(), "CUPTI does not decode its samples"));
}

static void samples_without_a_time_or_values_are_told(void **state)
{
	(void)state;
	start();
	chip->sample(0, 0, 0, 90, 80, 30, 10);
	chip->sample(0, 0, 500000, 90, 80, 30, 10);
	chip->sample(0, 1000000, 600000, 90, 80, 30, 10);
	samples(1000000, 1);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 1);
	assert_int_equal(unread_count, 3);
	fake->refuse("cuptiProfilerHostEvaluateToGpuValues", 999);
	samples(2000000, 2);
	sb_pm_session_drain(&session, take, NULL);
	fake->refuse(NULL, 0);
	assert_int_equal(unread_count, 5);
}

static void values_that_cannot_be_are_not_known(void **state)
{
	double row[SB_PM_COLUMNS];

	(void)state;
	start();
	chip->sample(0, 1000, 501000, 100.7, -1, 30, NAN);
	chip->sample(0, 501000, 1001000, 4294967295.0, NAN, 1e300, -5);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 2);
	assert_true(taken[0].row[SB_PM_SM_ACTIVE] == 100);
	assert_true(isnan(taken[0].row[SB_PM_TENSOR_ACTIVE]) && isnan(taken[0].row[SB_PM_DRAM_WRITE_BYTES]));
	assert_true(isnan(taken[1].row[SB_PM_SM_ACTIVE]) && isnan(taken[1].row[SB_PM_TENSOR_ACTIVE]));
	memcpy(row, taken[1].row, sizeof row);
	sb_pm_metrics_rates(row, 0.0005, 4.8e12);
	assert_true(isnan(row[SB_PM_DRAM_READ_BYTES]) && isnan(row[SB_PM_DRAM_READ]));
	assert_true(isnan(row[SB_PM_DRAM_WRITE]) && isnan(row[SB_PM_DRAM_ACTIVE]));
}

static void counters_that_need_a_second_pass_are_left_out(void **state)
{
	(void)state;
	chip->pass_limit(3);
	start();
	assert_int_equal(session.metrics.count, 3);
	samples(1000, 1);
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
	samples(1000, 1);
	sb_pm_session_drain(&session, take, NULL);
	assert_true(taken[0].row[SB_PM_TENSOR_ACTIVE] == 80);
}

static void cycles_trigger_where_time_cannot(void **state)
{
	(void)state;
	chip->time_trigger(false);
	start();
	samples(1000, 1);
	sb_pm_session_drain(&session, take, NULL);
	assert_int_equal(taken_count, 1);
}

static void chip_that_samples_nothing_in_one_pass_is_refused(void **state)
{
	(void)state;
	chip->pass_limit(0);
	assert_int_equal(sb_pm_session_open(&session, cupti, pm, 0), STROBE_EIO);
	assert_string_equal(sb_error_message(),
		"GPU 0: CUPTI samples none of its counters: CUPTI_ERROR_NOT_SUPPORTED (27)");
	assert_int_equal(chip->held(), 0);
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
		TEST(full_buffer_that_is_no_error_is_counted_too),
		TEST(buffer_that_is_always_full_is_given_up),
		TEST(decoder_that_always_fails_is_given_up),
		TEST(samples_without_a_time_or_values_are_told),
		TEST(values_that_cannot_be_are_not_known),
		TEST(counters_that_need_a_second_pass_are_left_out),
		TEST(chip_that_samples_nothing_in_one_pass_is_refused),
		TEST(another_spelling_is_taken_where_the_chip_lacks_one),
		TEST(cycles_trigger_where_time_cannot),
		TEST(refusals_have_their_words_and_hold_nothing),
		TEST(two_devices_share_the_profiler_and_each_is_given_back),
		TEST(cupti_before_12_6_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
