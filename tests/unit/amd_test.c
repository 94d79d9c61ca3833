/* AMD GPUs through a folder that stands for sysfs, alone and beside NVIDIA's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "captured_samples.h"
#include "fake_nvml.h"
#include "monitor/gpus.h"
#include "monitor/procfile.h"

static char sys_root[64];

static void put_sys(const char *card, const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof path, "mkdir -p %s/class/drm/%s/device/hwmon/hwmon3", sys_root, card);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof path, "%s/class/drm/%s/device/%s", sys_root, card, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int begin_amd(void **state)
{
	begin(state);
	setenv("STROBE_NVML_PATH", "/nonexistent/libnvidia-ml.so", 1);
	snprintf(sys_root, sizeof sys_root, "/tmp/strobe-sys-%d", (int)getpid());
	put_sys("card1", "mem_info_vram_total", "68702699520\n"); /* 65520 MiB */
	put_sys("card1", "mem_info_vram_used", "1073741824\n");
	put_sys("card1", "gpu_busy_percent", "97\n");
	put_sys("card1", "mem_busy_percent", "31\n");
	put_sys("card1", "product_name", "Instinct MI210\n");
	put_sys("card1", "unique_id", "a1b2c3d4e5f60718\n");
	put_sys("card1", "hwmon/hwmon3/temp1_input", "61000\n");
	put_sys("card1", "hwmon/hwmon3/power1_average", "215000000\n");
	put_sys("card1", "hwmon/hwmon3/freq1_input", "1700000000\n");
	put_sys("card1", "hwmon/hwmon3/freq2_input", "1600000000\n");
	sb_procfile_set_roots(NULL, sys_root);
	return 0;
}

static int end_amd(void **state)
{
	char command[100];

	sb_procfile_set_roots(NULL, NULL);
	snprintf(command, sizeof command, "rm -r %s", sys_root);
	return end(state) | system(command);
}

static void an_amd_card_is_read_from_sysfs(void **state)
{
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "energy_j", 2)));
	sb_gpus_stop();
	assert_true(captured("gpu", 0, "memory_total_mb", 0) == 65520);
	assert_true(captured("gpu", 0, "memory_used_mb", 0) == 1024);
	assert_true(captured("gpu", 0, "utilization_percent", 0) == 97);
	assert_true(captured("gpu", 0, "memory_utilization_percent", 0) == 31);
	assert_true(captured("gpu", 0, "temperature_c", 0) == 61);
	assert_true(captured("gpu", 0, "power_w", 0) == 215);
	assert_true(captured("gpu", 0, "sm_clock_mhz", 0) == 1700);
	assert_true(captured("gpu", 0, "memory_clock_mhz", 0) == 1600);
	assert_false(captured_has_column("gpu", 0, "pcie_tx_gb_per_s"));
	assert_string_equal(
		captured_missing, "GPU 0: throttling, processes|this GPU or driver does not offer it|\n");
}

static void amd_cards_are_those_that_the_program_sees(void **state)
{
	put_sys("card2", "mem_info_vram_total", "1073741824\n");
	put_sys("card2", "mem_info_vram_used", "1048576\n");
	setenv("HIP_VISIBLE_DEVICES", "1", 1);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "memory_used_mb", 0)));
	sb_gpus_stop();
	assert_int_equal(captured_schema_count, 1);
	assert_true(captured("gpu", 0, "memory_total_mb", 0) == 1024);
	capture_begin();
	setenv("ROCR_VISIBLE_DEVICES", "GPU-A1B2C3D4E5F60718", 1);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "memory_used_mb", 0)));
	sb_gpus_stop();
	unsetenv("ROCR_VISIBLE_DEVICES");
	unsetenv("HIP_VISIBLE_DEVICES");
	assert_int_equal(captured_schema_count, 1);
	assert_true(captured("gpu", 0, "memory_total_mb", 0) == 65520);
}

static void a_newer_amd_card_has_momentary_power_only(void **state)
{
	char path[200];

	snprintf(path, sizeof path, "%s/class/drm/card1/device/hwmon/hwmon3/power1_average", sys_root);
	assert_int_equal(unlink(path), 0);
	put_sys("card1", "hwmon/hwmon3/power1_input", "230000000\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "power_w", 0)));
	sb_gpus_stop();
	assert_true(captured("gpu", 0, "power_w", 0) == 230);
}

static void an_amd_card_that_goes_leaves_the_others(void **state)
{
	char command[200];
	uint32_t rows;

	put_sys("card2", "mem_info_vram_total", "1073741824\n");
	put_sys("card2", "mem_info_vram_used", "1048576\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 1, "memory_used_mb", 1)));
	snprintf(command, sizeof command, "rm -r %s/class/drm/card1", sys_root);
	assert_int_equal(system(command), 0);
	WAIT_FOR(captured_said("the GPU was lost while recording"));
	rows = captured_count();
	WAIT_FOR(captured_count() > rows + 3);
	sb_gpus_stop();
	assert_non_null(strstr(captured_missing, "GPU 0 after "));
	assert_null(strstr(captured_missing, "GPU 1 after "));
}

static void that_it_counts_no_activity_is_said_once(void **state)
{
	put_sys("card2", "mem_info_vram_total", "1073741824\n");
	put_sys("card2", "mem_info_vram_used", "1048576\n");
	settings.gpu_counters_interval_s = 0.01;
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 1, "memory_used_mb", 2)));
	sb_gpus_stop();
	assert_non_null(strstr(captured_missing,
		"GPU 0: SM, tensor core and DRAM activity|this GPU or driver does not count it"));
	assert_null(strstr(captured_missing, "GPU 1: SM"));
}

static void two_vendors_are_sampled_together(void **state)
{
	setenv("STROBE_NVML_PATH", STROBE_BINARY_DIR "/tests/fake/libnvidia-ml.so", 1);
	say("gpus 2\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 2, "energy_j", 2)));
	sb_gpus_stop();
	assert_int_equal(captured_schema_count, 3);
	assert_true(captured("gpu", 0, "memory_used_mb", 0) == 8420);
	assert_true(captured("gpu", 1, "memory_used_mb", 0) == 8421);
	assert_true(captured("gpu", 2, "memory_used_mb", 0) == 1024);
	assert_true(captured("gpu", 2, "power_w", 0) == 215);
	assert_string_equal(
		captured_missing, "GPU 2: throttling, processes|this GPU or driver does not offer it|\n");
}

/* The AMD card that drives the screen is no rank's. */
static void a_rank_beside_two_vendors_has_one_gpu(void **state)
{
	setenv("STROBE_NVML_PATH", STROBE_BINARY_DIR "/tests/fake/libnvidia-ml.so", 1);
	setenv("RANK", "1", 1);
	setenv("LOCAL_RANK", "1", 1);
	setenv("WORLD_SIZE", "2", 1);
	say("gpus 2\n");
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 1, "memory_used_mb", 1)));
	sb_gpus_stop();
	assert_int_equal(captured_schema_count, 1);
}

static void a_vendor_that_is_lost_leaves_the_other(void **state)
{
	uint32_t rows;

	setenv("STROBE_NVML_PATH", STROBE_BINARY_DIR "/tests/fake/libnvidia-ml.so", 1);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 1, "power_w", 1)));
	say("lost 0\n");
	WAIT_FOR(captured_said("the GPU was lost while recording"));
	rows = captured_count();
	WAIT_FOR(captured_count() > rows + 3);
	sb_gpus_stop();
	assert_non_null(strstr(captured_missing, "GPU 0 after "));
	assert_null(strstr(captured_missing, "GPU 1 after "));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_amd, end_amd)
	const struct CMUnitTest tests[] = {
		CASE(an_amd_card_is_read_from_sysfs),
		CASE(amd_cards_are_those_that_the_program_sees),
		CASE(a_newer_amd_card_has_momentary_power_only),
		CASE(an_amd_card_that_goes_leaves_the_others),
		CASE(that_it_counts_no_activity_is_said_once),
		CASE(two_vendors_are_sampled_together),
		CASE(a_rank_beside_two_vendors_has_one_gpu),
		CASE(a_vendor_that_is_lost_leaves_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
