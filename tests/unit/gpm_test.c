/* GPM through the fake libnvidia-ml: means between two readings, and what becomes of readings that cannot be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "captured_samples.h"
#include "fake_nvml.h"
#include "monitor/gpus.h"
#include "monitor/gpus_watched.h"

#include <stdlib.h>

static void sample_counters(const char *script_text)
{
	say(script_text);
	settings.gpu_counters_interval_s = 0.01;
	sb_gpus_start(&settings);
}

static void counters_are_means_between_two_readings(void **state)
{
	sample_counters("gpm 40\nunsupported gpm12\n");
	WAIT_FOR(!isnan(captured("gpu_counters", 0, "sm_active_percent", 1)));
	sb_gpus_stop();
	assert_true(captured("gpu_counters", 0, "sm_active_percent", 0) == 40);
	assert_true(captured("gpu_counters", 0, "occupancy_percent", 0) == 41);
	assert_true(captured("gpu_counters", 0, "tensor_active_percent", 0) == 43);
	assert_true(captured("gpu_counters", 0, "dram_active_percent", 0) == 48);
	assert_true(captured("gpu_counters", 0, "fp64_active_percent", 0) == 49);
	assert_false(captured_has_column("gpu_counters", 0, "fp32_active_percent"));
	assert_false(captured_has_column("gpu_counters", 0, "tensor_float_percent"));
	assert_string_equal(captured_missing, "");
}

static void all_counters_are_read_where_asked_for(void **state)
{
	settings.gpu_counters_all = true;
	sample_counters("gpm 40\n");
	WAIT_FOR(!isnan(captured("gpu_counters", 0, "sm_active_percent", 1)));
	sb_gpus_stop();
	settings.gpu_counters_all = false;
	assert_true(captured("gpu_counters", 0, "tensor_float_percent", 0) == 45);
	assert_true(captured("gpu_counters", 0, "tensor_integer_percent", 0) == 47);
	assert_true(captured("gpu_counters", 0, "fp32_active_percent", 0) == 50);
	assert_true(captured("gpu_counters", 0, "fp64_active_percent", 0) == 49);
	assert_true(captured("gpu_counters", 0, "nvdec_active_percent", 0) == 75);
}

static uint64_t waits_ms(struct sb_gpus_watched *w, uint64_t took_ms, enum sb_gpus_counting counting)
{
	return sb_gpus_count_wait_ns(w, 1000000000, took_ms * 1000000, counting) / 1000000;
}

/* 60 ms for its beginning, or one call that waited for the driver: neither holds back the readings after it. */
static void counters_come_early_where_the_driver_begins_slowly(void **state)
{
	struct sb_gpus_watched w = { .counted = 1 };

	assert_int_equal(waits_ms(&w, 60, SB_GPUS_COUNT_LATER), 250);
	assert_int_equal(waits_ms(&w, 3, SB_GPUS_COUNTED), 1000);
	assert_int_equal(waits_ms(&w, 500, SB_GPUS_COUNTED), 1000);
	assert_int_equal(waits_ms(&w, 8, SB_GPUS_COUNTED), 1600); /* 0.5 % of a core */
	assert_int_equal(waits_ms(&w, 8, SB_GPUS_COUNTED), 1600);
}

static void counters_that_are_asked_for_rarely_take_a_thousandth(void **state)
{
	struct sb_gpus_watched w = { .counted = 1, .count_cost_ns = 8000000 };

	assert_int_equal(sb_gpus_count_wait_ns(&w, 5000000000, 8000000, SB_GPUS_COUNTED), 8000000000);
	assert_int_equal(sb_gpus_count_wait_ns(&w, 5000000000, 4000000, SB_GPUS_COUNTED), 5000000000);
}

/* A driver that refuses is not asked four times a second for ever. */
static void counters_that_never_come_are_asked_for_at_their_interval(void **state)
{
	struct sb_gpus_watched w = { .counted = 1 };

	for (int i = 0; i < 4; i++)
		assert_int_equal(waits_ms(&w, 1, SB_GPUS_COUNT_LATER), 250);
	assert_int_equal(waits_ms(&w, 1, SB_GPUS_COUNT_LATER), 1000);
}

static void a_machine_without_counters_says_so_once(void **state)
{
	sample_counters("gpus 3\n");
	WAIT_FOR(!isnan(captured("gpu", 2, "utilization_percent", 2)));
	sb_gpus_stop();
	assert_false(captured_has_column("gpu_counters", 0, "sm_active_percent"));
	assert_string_equal(captured_missing, "GPU 0: SM, tensor core and DRAM activity|this GPU or driver "
					      "does not count it (NVIDIA Hopper "
					      "and newer do)|--gpu-trace shows what kernels do\n");
}

static void counters_of_one_gpu_of_two_are_told(void **state)
{
	sample_counters("gpus 2\ngpm 40\ngpm_gpus 1\n");
	WAIT_FOR(!isnan(captured("gpu_counters", 1, "sm_active_percent", 1)));
	sb_gpus_stop();
	assert_false(captured_has_column("gpu_counters", 0, "sm_active_percent"));
	assert_true(captured("gpu_counters", 1, "sm_active_percent", 0) == 40);
	assert_non_null(
		strstr(captured_missing, "GPU 0: SM, tensor core and DRAM activity|this GPU or driver"));
	assert_null(strstr(captured_missing, "GPU 1"));
}

/* SM active, occupancy, any tensor core, DRAM, PCIe's two. */
static void values_that_are_no_percent_are_not_known(void **state)
{
	sample_counters("pcie_bytes 1000\ngpm 40\ngpm2 100.4\ngpm3 -3\ngpm5 nan\ngpm10 4294967295\ngpm20 "
			"-1\ngpm21 1e12\n");
	WAIT_FOR(!isnan(captured("gpu_counters", 0, "sm_active_percent", 2)));
	sb_gpus_stop();
	assert_true(captured("gpu_counters", 0, "sm_active_percent", 1) == 100);
	assert_true(captured_has_column("gpu_counters", 0, "dram_active_percent"));
	assert_true(isnan(captured("gpu_counters", 0, "occupancy_percent", 1)));
	assert_true(isnan(captured("gpu_counters", 0, "tensor_active_percent", 1)));
	assert_true(isnan(captured("gpu_counters", 0, "dram_active_percent", 1)));
	assert_true(isnan(captured("gpu", 0, "pcie_tx_gb_per_s", -1)));
	assert_true(isnan(captured("gpu", 0, "pcie_rx_gb_per_s", -1)));
}

static double captured_value(uint32_t row, const char *source, const char *column)
{
	const struct captured_schema *s = &captured_schemas[captured_rows[row].schema - 1];

	for (uint32_t i = 0; !strcmp(s->source, source) && i < s->count; i++)
		if (!strcmp(s->columns[i], column))
			return captured_rows[row].values[i];
	return NAN;
}

/* It was of the reading before: a second of uploads had the second before it, in which nothing was uploaded. */
static void the_sample_just_before_a_reading_has_its_pcie_rates(void **state)
{
	uint32_t row = 1;

	sample_counters("pcie_bytes 1000\ngpm 40\n");
	WAIT_FOR(!isnan(captured("gpu_counters", 0, "sm_active_percent", 0)));
	sb_gpus_stop();
	while (isnan(captured_value(row, "gpu_counters", "sm_active_percent")))
		row++;
	assert_false(isnan(captured_value(row - 1, "gpu", "pcie_tx_gb_per_s")));
}

/* The most samples that one reading was of. */
static double longest_reading(void)
{
	double most = 0;

	for (int i = 0; i < 4000; i++)
		most = fmax(most, captured("gpu_counters", 0, "sm_active_percent", i));
	return most;
}

/* Readings fail while the GPU's other values are read so often. */
static void fails_for(const char *failure, uint32_t rows)
{
	uint32_t before = captured_count();
	char text[64];

	snprintf(text, sizeof text, "gpm 40\ngpm_spans\n%s\n", failure);
	say(text);
	WAIT_FOR(captured_count() > before + rows);
	say("gpm 40\ngpm_spans\n");
	before = captured_count();
	WAIT_FOR(captured_count() > before + rows);
}

/* On a slow machine readings are rarer, and it takes longer until two have failed. */
static void a_reading_that_fails_is_made_up_by_the_next(void **state)
{
	static const char *const failures[] = { "gpm_get 999", "gpm_sample 999", "gpm_metric 999" };

	for (int i = 0; i < 3; i++) {
		captured_row_count = captured_schema_count = 0;
		sample_counters("gpm 40\ngpm_spans\n");
		WAIT_FOR(captured("gpu_counters", 0, "sm_active_percent", 1) == 1);
		fails_for(failures[i], 5);
		for (uint32_t rows = 10; !i && longest_reading() <= 2 && rows < 200; rows *= 2)
			fails_for(failures[i], rows);
		WAIT_FOR(captured("gpu_counters", 0, "sm_active_percent", -1) == 1);
		sb_gpus_stop();
		assert_true(i ||
			    longest_reading() > 2); /* the samples of those that failed lie in the next one */
		assert_string_equal(captured_missing, "");
	}
}

static void counters_that_end_are_said_with_the_time(void **state)
{
	sample_counters("pcie_bytes 1000\ngpm 40\n");
	WAIT_FOR(captured("gpu", 0, "pcie_tx_gb_per_s", -1) > 0.05);
	say("pcie_bytes 1000\ngpm 40\ngpm_sample 4\n");
	WAIT_FOR(captured_said("no permission to read it"));
	WAIT_FOR(isnan(captured("gpu", 0, "pcie_tx_gb_per_s", -1))); /* not the last rate for ever */
	sb_gpus_stop();
	assert_non_null(strstr(captured_missing, "GPU 0 after "));
	assert_null(strstr(captured_missing, "does not count it"));
}

static void counters_that_could_never_be_read_are_said(void **state)
{
	static const struct {
		const char *script, *words;
	} cases[] = { { "gpm 40\ngpm_get 999\n", "NVML refuses to read it (error 999)" },
		{ "gpm 40\ngpm_metric 999\n", "the driver gave no reading of it" },
		{ "gpm 40\ngpm_alloc 1\n", "NVML has no memory for readings" } };

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		captured_missing[0] = 0;
		captured_row_count = captured_schema_count = 0;
		sample_counters(cases[i].script);
		WAIT_FOR(!isnan(captured("gpu", 0, "utilization_percent", 4)));
		sb_gpus_stop();
		if (!strstr(captured_missing, cases[i].words) || strstr(captured_missing, "does not count"))
			fail_msg("%s: %s", cases[i].script, captured_missing);
		assert_false(captured_has_column("gpu_counters", 0, "sm_active_percent"));
	}
}

static void counters_switched_off_are_not_read(void **state)
{
	say("hang gpm gpm_sample\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "utilization_percent", 2)));
	sb_gpus_stop();
	assert_string_equal(captured_missing, "");
}

/* Of an H100 in slices: NVML reads a slice as a part of its GPU. */
static void a_slice_is_counted_as_a_part_of_its_gpu(void **state)
{
	setenv("CUDA_VISIBLE_DEVICES", "MIG-00000001-0000-0000-0000-000000000000", 1);
	sample_counters("mig 2\ngpm 40\n");
	WAIT_FOR(!isnan(captured("gpu_counters", 0, "sm_active_percent", 1)));
	sb_gpus_stop();
	captured_missing[0] = 0;
	sample_counters("mig 2\n");
	WAIT_FOR(captured_said("does not count it"));
	sb_gpus_stop();
	unsetenv("CUDA_VISIBLE_DEVICES");
	assert_true(captured("gpu_counters", 0, "dram_active_percent", 0) == 48);
}

static void a_lost_gpu_is_counted_no_more(void **state)
{
	uint32_t rows;

	sample_counters("gpus 2\ngpm 40\n");
	WAIT_FOR(!isnan(captured("gpu_counters", 1, "sm_active_percent", 1)));
	say("gpus 2\ngpm 40\nlost 1\n");
	WAIT_FOR(captured_said("the GPU was lost while recording"));
	rows = captured_count();
	WAIT_FOR(captured_count() > rows + 3);
	sb_gpus_stop();
	assert_true(captured("gpu_counters", 0, "sm_active_percent", -1) == 40);
	assert_null(strstr(captured_missing, "SM, tensor core"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(counters_are_means_between_two_readings),
		CASE(all_counters_are_read_where_asked_for),
		CASE(counters_come_early_where_the_driver_begins_slowly),
		cmocka_unit_test(counters_that_are_asked_for_rarely_take_a_thousandth),
		CASE(counters_that_never_come_are_asked_for_at_their_interval),
		CASE(a_machine_without_counters_says_so_once),
		CASE(counters_of_one_gpu_of_two_are_told),
		CASE(values_that_are_no_percent_are_not_known),
		CASE(the_sample_just_before_a_reading_has_its_pcie_rates),
		CASE(a_reading_that_fails_is_made_up_by_the_next),
		CASE(counters_that_end_are_said_with_the_time),
		CASE(counters_that_could_never_be_read_are_said),
		CASE(counters_switched_off_are_not_read),
		CASE(a_slice_is_counted_as_a_part_of_its_gpu),
		CASE(a_lost_gpu_is_counted_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
