/* GPUs through the fake libnvidia-ml: right numbers, right silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "captured_samples.h"
#include "fake_nvml.h"
#include "monitor/display.h"
#include "monitor/gpus.h"
#include "monitor/gpus_watched.h"
#include "monitor/procfile.h"
#include "monitor/tree.h"
#include "monitor/visible.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static void every_column_has_the_drivers_number(void **state)
{
	char process[64];

	snprintf(process, sizeof process, "throttle 36\nprocess %d 4000\nprocess 1 100\n", (int)getpid());
	say(process);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "energy_j", 2)));
	sb_gpus_stop();
	assert_true(captured("gpu", 0, "memory_used_mb", 0) == 8420);
	assert_true(captured("gpu", 0, "memory_total_mb", 0) == 24564);
	assert_true(captured("gpu", 0, "utilization_percent", 0) == 85);
	assert_true(captured("gpu", 0, "memory_utilization_percent", 0) == 40);
	assert_true(captured("gpu", 0, "temperature_c", 0) == 72);
	assert_true(captured("gpu", 0, "power_w", 0) == 300);
	assert_true(captured("gpu", 0, "sm_clock_mhz", 0) == 1980);
	assert_true(captured("gpu", 0, "memory_clock_mhz", 0) == 2619);
	assert_true(captured("gpu", 0, "throttle_bits_count", 0) == 36);
	assert_true(captured("gpu", 0, "encoder_percent", 0) == 3);
	assert_true(captured("gpu", 0, "decoder_percent", 0) == 7);
	assert_true(captured("gpu", 0, "process_memory_mb", 0) == 4000);
	assert_true(captured("gpu", 0, "other_process_count", 0) == 1);
	assert_string_equal(captured_missing, "");
}

/* 300 W for the time between the samples, whatever that was: joules per second
 * must come out as watts. */
static void energy_is_power_over_real_time(void **state)
{
	double energy_j, first_j;
	uint64_t start_ns = sb_mono_ns(), end_ns;

	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "energy_j", 5)));
	sb_gpus_stop();
	end_ns = sb_mono_ns();
	first_j = captured("gpu", 0, "energy_j", 0);
	energy_j = captured("gpu", 0, "energy_j", -1);
	assert_true(first_j == 0);
	assert_true(energy_j > 0 && energy_j <= 300 * (double)(end_ns - start_ns) * 1e-9);
}

static void unsupported_sensors_are_said_once_and_left_out(void **state)
{
	say("unsupported power utilization processes\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "temperature_c", 3)));
	sb_gpus_stop();
	assert_false(captured_has_column("gpu", 0, "power_w"));
	assert_false(captured_has_column("gpu", 0, "energy_j"));
	assert_false(captured_has_column("gpu", 0, "utilization_percent"));
	assert_true(captured_has_column("gpu", 0, "memory_used_mb"));
	assert_string_equal(captured_missing,
		"GPU 0: utilisation, power, processes|this GPU or driver does not offer it|\n");
}

static void what_is_switched_off_is_not_asked_for(void **state)
{
	settings.monitor_gpu_temperature = settings.monitor_gpu_power = false;
	say("hang temperature power\n"); /* asking would never return */
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "utilization_percent", 1)));
	sb_gpus_stop();
	assert_false(captured_has_column("gpu", 0, "temperature_c"));
	assert_false(captured_has_column("gpu", 0, "power_w"));
	assert_string_equal(captured_missing, "");
}

static void a_lost_gpu_leaves_the_others(void **state)
{
	uint32_t rows;

	say("gpus 2\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 1, "power_w", 1)));
	say("gpus 2\nlost 1\n");
	WAIT_FOR(captured_said("the GPU was lost while recording"));
	rows = captured_count();
	WAIT_FOR(captured_count() > rows + 3);
	sb_gpus_stop();
	assert_non_null(strstr(captured_missing, "GPU 1 after "));
	assert_null(strstr(captured_missing, "GPU 0"));
	assert_true(captured("gpu", 0, "memory_used_mb", -1) == 8420);
}

static void eight_gpus_are_eight_series(void **state)
{
	say("gpus 8\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 7, "memory_used_mb", 0)));
	sb_gpus_stop();
	for (int i = 0; i < 8; i++)
		assert_true(captured("gpu", i, "memory_used_mb", 0) == 8420 + i);
}

static void visible_devices_are_numbered_as_the_program_sees_them(void **state)
{
	say("gpus 8\n");
	setenv("CUDA_VISIBLE_DEVICES", "5,GPU-0000abc2", 1);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 1, "memory_used_mb", 0)));
	sb_gpus_stop();
	unsetenv("CUDA_VISIBLE_DEVICES");
	assert_int_equal(captured_schema_count, 2);
	assert_true(captured("gpu", 0, "memory_used_mb", 0) == 8425);
	assert_true(captured("gpu", 1, "memory_used_mb", 0) == 8422);
}

static void a_rank_samples_its_own_gpu(void **state)
{
	say("gpus 8\n");
	setenv("RANK", "11", 1);
	setenv("LOCAL_RANK", "3", 1);
	setenv("WORLD_SIZE", "16", 1);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 3, "memory_used_mb", 0)));
	sb_gpus_stop();
	assert_int_equal(captured_schema_count, 1);
}

static void no_driver_is_said_once(void **state)
{
	setenv("STROBE_NVML_PATH", "/nonexistent/libnvidia-ml.so", 1);
	sb_procfile_set_roots(NULL, "/nonexistent");
	sb_gpus_start(&settings);
	WAIT_FOR(captured_said("|"));
	sb_gpus_stop();
	sb_procfile_set_roots(NULL, NULL);
	assert_string_equal(
		captured_missing, "GPU metrics|there is no NVIDIA driver here (libnvidia-ml.so.1)|\n");
	assert_int_equal(captured_row_count, 0);
}

static void hidden_gpus_are_said(void **state)
{
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	sb_gpus_start(&settings);
	WAIT_FOR(captured_said("|"));
	sb_gpus_stop();
	unsetenv("CUDA_VISIBLE_DEVICES");
	assert_non_null(strstr(captured_missing, "CUDA_VISIBLE_DEVICES leaves no GPU visible"));
}

static void display_has_the_two_lines(void **state)
{
	struct sb_buf text = { 0 };

	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "temperature_c", 0)));
	sb_display_format(&text, "session_abc123");
	sb_gpus_stop();
	assert_string_equal(sb_buf_text(&text),
		"=== Profiling Metrics (session_abc123) ===\n"
		"GPU: Memory 8420MB / 24564MB (34.3%), Util 85.0%, Temp 72.0\xc2\xb0"
		"C\nCPU: n/a\n");
	sb_buf_done(&text);
}

/* The first reading has no time before it: what it saw is a fact all the same. */
static void a_reason_seen_in_one_reading_is_told(void **state)
{
	struct sb_gpus_watched w = { .throttle_seen = 0x4 };
	char text[300];

	assert_true(sb_gpus_throttled_text(&w, text, sizeof text) > 0);
	assert_string_equal(text, "software power cap 0.0 s");
	w.throttle_seen = 0;
	assert_int_equal(sb_gpus_throttled_text(&w, text, sizeof text), 0);
}

static void throttle_reasons_are_words(void **state)
{
	char words[160];

	sb_gpus_throttle_words(0x24, words, sizeof words);
	assert_string_equal(words, "software power cap, software thermal slowdown");
	sb_gpus_throttle_words(0x3, words, sizeof words); /* idle, set clocks: no reason to worry */
	assert_string_equal(words, "");
}

static void visible_lists_are_read_as_cuda_does(void **state)
{
	struct sb_visible v;

	sb_visible_parse(NULL, &v);
	assert_false(v.restricted);
	sb_visible_parse("", &v);
	assert_true(v.restricted && v.count == 0);
	sb_visible_parse("-1", &v);
	assert_int_equal(v.count, 0);
	sb_visible_parse(" 2, 0 ,x,1", &v);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.entries[1].index, 0);
	sb_visible_parse("MIG-1234,GPU-77", &v);
	assert_string_equal(v.entries[0].uuid, "MIG-1234");
	assert_int_equal(v.entries[1].index, -1);
}

/* The list of processes is read rarely, but never older than the memory it explains. */
static void the_runs_memory_follows_the_devices(void **state)
{
	char text[96];
	int wrong = 0, right = 0;

	snprintf(text, sizeof text, "process %d 4000\n", (int)getpid());
	say(text);
	sb_gpus_start(&settings);
	WAIT_FOR(captured("gpu", 0, "process_memory_mb", -1) == 4000);
	snprintf(text, sizeof text, "process %d 5000\nmemory_used_mb 9420\n", (int)getpid());
	say(text);
	WAIT_FOR(captured("gpu", 0, "process_memory_mb", -1) == 5000);
	sb_gpus_stop();
	for (int i = 0; !isnan(captured("gpu", 0, "memory_used_mb", i)); i++)
		if (captured("gpu", 0, "memory_used_mb", i) == 9420) {
			right += captured("gpu", 0, "process_memory_mb", i) == 5000;
			wrong += captured("gpu", 0, "process_memory_mb", i) == 4000;
		}
	assert_int_equal(wrong, 0);
	assert_true(right > 0);
}

/* The counters grow by the same amount at each reading. */
static void pcie_and_nvlink_counters_become_rates(void **state)
{
	double pcie, nvlink;
	int second = 1;

	say("pcie_bytes 1000000\npcie_wide\nnvlink_kib 1000\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "pcie_rx_gb_per_s", -1)));
	sb_gpus_stop();
	while (isnan(captured("gpu", 0, "pcie_rx_gb_per_s", second)))
		second++;
	pcie = captured("gpu", 0, "pcie_rx_gb_per_s", second);
	nvlink = captured("gpu", 0, "nvlink_tx_gb_per_s", second);
	assert_true(isnan(captured("gpu", 0, "pcie_rx_gb_per_s", 0))); /* one reading is no rate */
	assert_true(pcie > 0 && pcie <= 1e6 * 1e-9 / 0.2);
	assert_true(fabs(nvlink / pcie - 1.024) < 1e-9);
	/* The last sample is read once more: what came after the last reading counts too. */
	assert_true(captured("gpu", 0, "pcie_rx_gb_per_s", -1) != pcie);
}

/* Copies of 54 GB/s read as 2.8: nobody knows how often the counter went round. */
static void a_pcie_counter_of_32_bits_is_no_rate(void **state)
{
	say("pcie_bytes 1000000\nnvlink_kib 1000\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "nvlink_tx_gb_per_s", -1)));
	sb_gpus_stop();
	assert_true(isnan(captured("gpu", 0, "pcie_rx_gb_per_s", -1)));
}

static void pcie_rates_are_those_that_the_gpu_counts(void **state)
{
	say("gpm 40\npcie_bytes 1000000\n"); /* MiB/s: 40, and one more for each id after the SMs' */
	settings.gpu_counters_interval_s = 0.01;
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "pcie_rx_gb_per_s", -1)));
	sb_gpus_stop();
	assert_true(fabs(captured("gpu", 0, "pcie_tx_gb_per_s", -1) - 58 * 1.048576e-3) < 1e-9);
	assert_true(fabs(captured("gpu", 0, "pcie_rx_gb_per_s", -1) - 59 * 1.048576e-3) < 1e-9);
}

static void links_that_are_not_counted_have_no_column(void **state)
{
	say("pcie_bytes 1000\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "power_w", 3)));
	sb_gpus_stop();
	assert_true(captured_has_column("gpu", 0, "pcie_tx_gb_per_s"));
	assert_false(captured_has_column("gpu", 0, "nvlink_tx_gb_per_s"));
	assert_string_equal(captured_missing, "");
}

static void a_slice_has_its_own_memory_and_its_gpus_sensors(void **state)
{
	say("mig 2\n");
	setenv("CUDA_VISIBLE_DEVICES", "MIG-00000001-0000-0000-0000-000000000000", 1);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "power_w", 1)));
	sb_gpus_stop();
	unsetenv("CUDA_VISIBLE_DEVICES");
	assert_int_equal(captured_schema_count, 1);
	assert_true(captured("gpu", 0, "memory_used_mb", 0) == 1001);
	assert_true(captured("gpu", 0, "memory_total_mb", 0) == 9984);
	assert_true(captured("gpu", 0, "temperature_c", 0) == 72);
	assert_true(captured("gpu", 0, "power_w", 0) == 300);
	assert_false(captured_has_column("gpu", 0, "utilization_percent"));
	assert_string_equal(captured_missing, "GPU 0: utilisation|this GPU or driver does not offer it|\n");
}

static void a_driver_that_differs_from_its_library_is_said(void **state)
{
	say("mismatch\n");
	sb_procfile_set_roots(NULL, "/nonexistent");
	sb_gpus_start(&settings);
	WAIT_FOR(captured_said("|"));
	sb_gpus_stop();
	sb_procfile_set_roots(NULL, NULL);
	assert_string_equal(captured_missing, "GPU metrics|the NVIDIA driver and its library differ in "
					      "version|restart the machine, or reload the "
					      "driver: it was updated meanwhile\n");
}

/* Last: the thread that hangs stays behind for good. */
static void a_hanging_driver_holds_nobody_up(void **state)
{
	say("hang power\n");
	sb_gpus_start(&settings);
	sb_gpus_watch(sb_mono_ns() + 3600000000000ull);
	WAIT_FOR((sb_gpus_watch(sb_mono_ns() + 3600000000000ull), captured_said("has not answered since")));
	sb_gpus_stop();
	assert_int_equal(captured_row_count, 0);
	captured_missing[0] = 0;
	sb_gpus_start(&settings);
	assert_non_null(strstr(captured_missing, "still does not answer"));
	sb_gpus_stop();
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(every_column_has_the_drivers_number),
		CASE(energy_is_power_over_real_time),
		CASE(unsupported_sensors_are_said_once_and_left_out),
		CASE(what_is_switched_off_is_not_asked_for),
		CASE(a_lost_gpu_leaves_the_others),
		CASE(eight_gpus_are_eight_series),
		CASE(visible_devices_are_numbered_as_the_program_sees_them),
		CASE(a_rank_samples_its_own_gpu),
		CASE(no_driver_is_said_once),
		CASE(hidden_gpus_are_said),
		CASE(display_has_the_two_lines),
		CASE(a_reason_seen_in_one_reading_is_told),
		CASE(throttle_reasons_are_words),
		CASE(visible_lists_are_read_as_cuda_does),
		CASE(the_runs_memory_follows_the_devices),
		CASE(pcie_and_nvlink_counters_become_rates),
		CASE(a_pcie_counter_of_32_bits_is_no_rate),
		CASE(pcie_rates_are_those_that_the_gpu_counts),
		CASE(links_that_are_not_counted_have_no_column),
		CASE(a_slice_has_its_own_memory_and_its_gpus_sensors),
		CASE(a_driver_that_differs_from_its_library_is_said),
		CASE(a_hanging_driver_holds_nobody_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
