/* CPU, memory, disk, pressure and the process tree, against made-up /proc and
 * /sys folders with known numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "captured_samples.h"
#include "monitor/cgroup.h"
#include "monitor/procfile.h"
#include "monitor/source.h"
#include "monitor/tree.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[128], proc[160], sys[160];
static struct sb_settings settings;

static void put(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0777);
		*p = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int begin(void **state)
{
	snprintf(root, sizeof root, "/tmp/strobe-sources-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(proc, sizeof proc, "%s/proc", root);
	snprintf(sys, sizeof sys, "%s/sys", root);
	sb_procfile_set_roots(proc, sys);
	sb_settings_default(&settings);
	capture_begin();
	return 0;
}

static int end(void **state)
{
	char command[200];

	sb_procfile_set_roots(NULL, NULL);
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	return system(command);
}

static void sample_at(const struct sb_source *source, uint64_t mono_ns)
{
	source->sample(&(struct sb_tick){ .ticks = mono_ns, .mono_ns = mono_ns });
}

static void cpu_percent_is_of_the_time_between_samples(void **state)
{
	put(proc, "stat",
		"cpu  1000 0 500 8000 100 0 0 0 50 0\ncpu0 600 0 300 4000 50 0 0 0 0 0\n"
		"cpu1 400 0 200 4000 50 0 0 0 0 0\nintr 1\n");
	put(proc, "loadavg", "0.50 0.40 0.30 1/100 999\n");
	put(sys, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
	put(sys, "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1600000\n");
	sb_source_cpu.open(&settings);
	/* 150 of 200 ticks busy: core 0 all of its 100, core 1 half */
	put(proc, "stat",
		"cpu  1100 0 550 8050 100 0 0 0 50 0\ncpu0 680 0 320 4000 50 0 0 0 0 0\n"
		"cpu1 420 0 230 4050 50 0 0 0 0 0\nintr 1\n");
	sample_at(&sb_source_cpu, 1000000000);
	assert_true(captured("cpu", -1, "usage_percent", 0) == 75);
	assert_true(captured("cpu_core", -1, "core0_percent", 0) == 100);
	assert_true(captured("cpu_core", -1, "core1_percent", 0) == 50);
	assert_true(captured("cpu", -1, "frequency_mhz", 0) == 2000);
	assert_true(captured("cpu", -1, "load5_count", 0) == 0.4);
	sb_source_cpu.close(&(struct sb_tick){ 2, 2 });
}

static void too_short_a_time_is_added_to_the_next(void **state)
{
	put(proc, "stat", "cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 100 0 0 100 0 0 0 0 0 0\n");
	sb_source_cpu.open(&settings);
	put(proc, "stat", "cpu  101 0 0 100 0 0 0 0 0 0\ncpu0 101 0 0 100 0 0 0 0 0 0\n");
	sample_at(&sb_source_cpu, 1000000000);
	assert_true(isnan(captured("cpu", -1, "usage_percent", 0)));
	put(proc, "stat", "cpu  102 0 0 106 0 0 0 0 0 0\ncpu0 102 0 0 106 0 0 0 0 0 0\n");
	sample_at(&sb_source_cpu, 2000000000);
	assert_true(captured("cpu", -1, "usage_percent", 1) == 25);
	sb_source_cpu.close(&(struct sb_tick){ 2, 2 });
}

static void memory_has_swap_cache_and_the_groups_limit(void **state)
{
	put(proc, "meminfo",
		"MemTotal:       33554432 kB\nMemFree: 1 kB\nMemAvailable:   20406272 kB\nBuffers: 1024 kB\n"
		"Cached: 2048000 kB\nSwapCached: 0 kB\nSwapTotal: 4096 kB\nSwapFree: 1024 kB\n");
	put(proc, "self/cgroup", "0::/job/step\n");
	put(sys, "fs/cgroup/job/memory.max", "17179869184\n");
	put(sys, "fs/cgroup/job/step/memory.max", "max\n");
	put(sys, "fs/cgroup/job/step/memory.events", "oom 1\noom_kill 2\n");
	put(sys, "fs/cgroup/job/step/memory.current", "1073741824\n");
	put(sys, "fs/cgroup/job/step/memory.stat", "anon 1\ninactive_file 536870912\n");
	sb_source_memory.open(&settings);
	sample_at(&sb_source_memory, 1);
	assert_true(captured("memory", -1, "total_mb", 0) == 32768);
	assert_true(captured("memory", -1, "used_mb", 0) == 12840);
	assert_true(captured("memory", -1, "swap_used_mb", 0) == 3);
	assert_true(captured("memory", -1, "page_cache_mb", 0) == 2001);
	assert_true(captured("memory", -1, "limit_mb", 0) == 16384);
	assert_true(captured("memory", -1, "group_used_mb", 0) == 512);
	sb_source_memory.close(&(struct sb_tick){ 2, 2 });
}

static void old_control_groups_are_read_too(void **state)
{
	struct sb_cgroup group;
	uint64_t kills = 0;

	put(proc, "self/cgroup", "12:cpu,cpuacct:/x\n7:memory:/docker/abc\n0::/\n");
	put(sys, "fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
	put(sys, "fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	sb_cgroup_find(&group);
	assert_true(group.found && !group.v2);
	assert_int_equal(sb_cgroup_memory_limit(&group), 2147483648u);
	assert_true(sb_cgroup_oom_kills(&group, &kills));
	assert_int_equal(kills, 3);
	put(sys, "fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(sb_cgroup_memory_limit(&group), 0);
}

static void write_process(int pid, int ppid, const char *command, int utime, int rss_pages, int threads,
	long read, long written)
{
	char name[64], text[512];

	snprintf(name, sizeof name, "%d/stat", pid);
	snprintf(text, sizeof text,
		"%d (%s) S %d 1 1 0 -1 4194304 1 0 0 0 %d 0 0 0 20 0 %d 0 %d 1000 %d 18446744073709551615\n",
		pid, command, ppid, utime, threads, pid * 10, rss_pages);
	put(proc, name, text);
	snprintf(name, sizeof name, "%d/io", pid);
	snprintf(text, sizeof text,
		"rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: %ld\nwrite_bytes: %ld\n"
		"cancelled_write_bytes: 0\n",
		read, written);
	put(proc, name, text);
}

static void tree_holds_descendants_and_nobody_else(void **state)
{
	struct sb_tree_totals totals;
	double page_mb = (double)sysconf(_SC_PAGESIZE) / 1048576;

	write_process(100, 1, "strobe", 5, 1, 1, 7, 7);
	write_process(101, 100, "python3 (odd) name", 200, 1000, 12, 4096, 100);
	write_process(102, 101, "worker", 100, 500, 2, 4096, 0);
	write_process(200, 1, "somebody else", 999, 9999, 1, 1 << 20, 0);
	sb_tree_open(100, true);
	sb_tree_update(1, true);
	sb_tree_totals(&totals);
	assert_int_equal(totals.process_count, 2);
	assert_int_equal(totals.thread_count, 14);
	assert_int_equal(totals.read_bytes, 8192);
	assert_int_equal(totals.write_bytes, 100);
	assert_true(totals.cpu_s == 300.0 / (double)sysconf(_SC_CLK_TCK));
	assert_true(fabs((double)totals.rss_bytes / 1048576 - 1500 * page_mb) < 0.001);
	assert_true(sb_tree_contains(102) && !sb_tree_contains(200) && !sb_tree_contains(100));
	sb_tree_close();
}

/* The size at its very start is no program's size. */
static void the_proportional_size_is_asked_again_soon(void **state)
{
	const uint64_t second_ns = 1000000000;
	int seen[2] = { 0 };

	write_process(100, 1, "strobe", 5, 1, 1, 7, 7);
	write_process(101, 100, "python3", 200, 1000, 12, 4096, 100);
	put(proc, "101/smaps_rollup", "Rss: 100 kB\nPss: 2048 kB\n");
	sb_tree_open(100, true);
	sb_tree_update(1, true);
	sb_source_process.open(&settings);
	for (uint64_t s = 1; s <= 8; s++) {
		if (s == 2)
			put(proc, "101/smaps_rollup", "Rss: 100 kB\nPss: 1048576 kB\n");
		sample_at(&sb_source_process, s * second_ns);
		seen[0] += captured("process", -1, "pss_mb", -1) == 2;
		seen[1] += captured("process", -1, "pss_mb", -1) == 1024;
	}
	sb_source_process.close(&(struct sb_tick){ 9, 9 });
	sb_tree_close();
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 3); /* 1, 2 and 4 seconds after each other */
}

static void resident_memory_comes_in_its_parts(void **state)
{
	write_process(100, 1, "strobe", 5, 1, 1, 7, 7);
	write_process(101, 100, "python3", 200, 1000, 12, 4096, 100);
	put(proc, "101/status",
		"Name:\tpython3\nVmLck:\t    1024 kB\nVmPin:\t    2048 kB\nVmRSS:\t   40960 kB\n"
		"RssAnon:\t   30720 kB\nRssFile:\t    8192 kB\nRssShmem:\t    2048 kB\n");
	put(proc, "101/fd/0", "");
	put(proc, "101/fd/17", "");
	sb_tree_open(100, true);
	sb_tree_update(1, true);
	sb_source_process.open(&settings);
	sample_at(&sb_source_process, 1000000000);
	sb_source_process.close(&(struct sb_tick){ 9, 9 });
	sb_tree_close();
	assert_true(captured("process", -1, "anon_mb", -1) == 30);
	assert_true(captured("process", -1, "file_mb", -1) == 8);
	assert_true(captured("process", -1, "shared_mb", -1) == 2);
	assert_true(captured("process", -1, "pinned_mb", -1) == 3);
	assert_true(captured("process", -1, "open_file_count", -1) == 2);
}

static void what_a_reaped_child_used_is_kept(void **state)
{
	struct sb_tree_totals totals;
	char command[300];

	write_process(100, 1, "strobe", 0, 1, 1, 0, 0);
	write_process(101, 100, "dd", 100, 10, 1, 5000000, 0);
	sb_tree_open(100, true);
	sb_tree_update(1, true);
	write_process(101, 100, "dd", 150, 0, 1, 9000000, 0); /* it read more, then ended */
	sb_tree_reaping(101);
	snprintf(command, sizeof command, "rm -rf %s/101", proc);
	assert_int_equal(system(command), 0);
	sb_tree_update(2, true);
	sb_tree_totals(&totals);
	assert_int_equal(totals.process_count, 0);
	assert_int_equal(totals.read_bytes, 9000000);
	assert_true(totals.cpu_s == 150.0 / (double)sysconf(_SC_CLK_TCK));
	sb_tree_close();
}

static void disk_counts_each_byte_once(void **state)
{
	char path[300];

	put(proc, "diskstats",
		"8 0 sda 10 0 1000 5 10 0 2000 5 0 0 0\n8 1 sda1 10 0 1000 5 10 0 2000 5 0 0 0\n"
		"253 0 dm-0 10 0 1000 5 10 0 2000 5 0 0 0\n7 0 loop0 1 0 64 0 0 0 0 0 0 0 0\n");
	put(sys, "block/sda/size", "1\n");
	put(sys, "block/dm-0/slaves/sda", "1\n");
	put(sys, "block/loop0/size", "1\n");
	snprintf(path, sizeof path, "%s/block/sda/slaves", sys);
	mkdir(path, 0777);
	sb_tree_open(100, true);
	sb_source_disk.open(&settings);
	put(proc, "diskstats",
		"8 0 sda 10 0 3000 5 10 0 2100 5 0 0 0\n8 1 sda1 10 0 3000 5 10 0 2100 5 0 0 0\n"
		"253 0 dm-0 10 0 3000 5 10 0 2100 5 0 0 0\n7 0 loop0 1 0 6400 0 0 0 0 0 0 0 0\n");
	sample_at(&sb_source_disk, 1);
	assert_true(captured("disk", -1, "machine_read_bytes", 0) == 2000 * 512);
	assert_true(captured("disk", -1, "machine_write_bytes", 0) == 100 * 512);
	assert_true(isnan(captured("disk", -1, "read_bytes", 0)));
	sb_source_disk.close(&(struct sb_tick){ 2, 2 });
	assert_non_null(strstr(
		captured_missing, "disk traffic of the process|the program ended before it was read|"));
	sb_tree_close();
}

/* A process that ended keeps its io file from everyone but root: that is not another user's program. */
static void disk_bytes_kept_from_us_are_told_from_a_program_that_ended(void **state)
{
	char command[300];

	write_process(100, 1, "strobe", 0, 1, 1, 0, 0);
	write_process(101, 100, "dd", 100, 10, 1, 0, 0);
	snprintf(command, sizeof command, "rm -f %s/101/io", proc);
	assert_int_equal(system(command), 0);
	sb_tree_open(100, true);
	sb_source_disk.open(&settings);
	sb_tree_update(1, true);
	sample_at(&sb_source_disk, 1);
	sb_source_disk.close(&(struct sb_tick){ 2, 2 });
	assert_non_null(strstr(captured_missing, "disk traffic of the process|/proc/PID/io cannot be read|"));
	sb_tree_close();
}

static void pressure_is_a_share_of_the_interval(void **state)
{
	put(proc, "pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1000000\n");
	put(proc, "pressure/memory", "some avg10=0 avg60=0 avg300=0 total=0\n");
	put(proc, "pressure/io", "some avg10=0 avg60=0 avg300=0 total=0\n");
	sb_source_pressure.open(&settings);
	sample_at(&sb_source_pressure, 1000000000);
	put(proc, "pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1500000\n");
	sample_at(&sb_source_pressure, 3000000000);
	assert_true(fabs(captured("psi", -1, "cpu_percent", 0) - 25) < 1e-9);
	assert_true(captured("psi", -1, "memory_percent", 0) == 0);
	sb_source_pressure.close(&(struct sb_tick){ 2, 2 });
}

static void a_kernel_without_pressure_is_said_once(void **state)
{
	sb_source_pressure.open(&settings);
	sample_at(&sb_source_pressure, 1);
	sb_source_pressure.close(&(struct sb_tick){ 2, 2 });
	assert_int_equal(captured_row_count, 0);
	assert_non_null(strstr(captured_missing, "pressure (PSI)|the kernel does not offer /proc/pressure"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(cpu_percent_is_of_the_time_between_samples),
		CASE(too_short_a_time_is_added_to_the_next),
		CASE(memory_has_swap_cache_and_the_groups_limit),
		CASE(old_control_groups_are_read_too),
		CASE(tree_holds_descendants_and_nobody_else),
		CASE(the_proportional_size_is_asked_again_soon),
		CASE(resident_memory_comes_in_its_parts),
		CASE(what_a_reaped_child_used_is_kept),
		CASE(disk_counts_each_byte_once),
		CASE(disk_bytes_kept_from_us_are_told_from_a_program_that_ended),
		CASE(pressure_is_a_share_of_the_interval),
		CASE(a_kernel_without_pressure_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
