/* Advice over what the monitors sampled: GPUs, memory, disks, and which of them bounds the run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/text.h"
#include "synthetic.h"

struct machine {
	double memory_mb, utilization, temperature, clock, throttle, others;
};

static void sample(struct synthetic *s, int device, struct machine a, struct machine b)
{
	uint32_t schema = synthetic_gpu(s, device);

	for (uint64_t t = 0; t <= 20; t++) {
		struct machine *now = t % 2 ? &b : &a;
		double values[9] = { now->memory_mb, 24000, now->utilization, now->temperature, 300,
			now->clock, now->throttle, now->memory_mb, now->others };

		sb_builder_sample(s->b, schema, t * SECOND, values, 9);
	}
}

static void a_hot_full_idle_throttled_shared_gpu_is_named(void **state)
{
	struct machine a = { 23000, 20, 91, 1000, 0x20, 1 }, b = { 10000, 30, 80, 2000, 0, 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sample(&s, 0, a, b);
	synthetic_begin(&s, 0, "import torch", STROBE_ROLE_IMPORT);
	synthetic_end(&s, 5 * SECOND);
	m = synthetic_model(&s, 20 * SECOND);
	assert_near(finding(m, "gpu_memory")->value, 23000.0 / 24000 * 100, 1e-6);
	assert_near(finding(m, "gpu_utilization")->value, 25, 1e-6);
	assert_near(finding(m, "gpu_utilization")->saves_s, 15 - 5, 1e-6); /* the import is no use of a GPU */
	assert_near(finding(m, "temperature")->value, 91, 0);
	assert_near(finding(m, "throttling")->value, 11.0 / 21 * 100, 1e-6);
	assert_non_null(strstr(finding(m, "throttling")->evidence, "software thermal slowdown"));
	assert_near(finding(m, "throttling")->saves_s, 20 * 0.25 * (1 - 31.0 / 42),
		1e-6); /* of the time it works */
	assert_null(finding(m, "gpus_idle"));
	synthetic_done(&s);
}

/* Someone forgot .to("cuda"). own_mb: what the program holds on the GPU. */
static const char *said_of_a_pipeline_beside_an_idle_gpu(double own_mb)
{
	struct synthetic s;
	const struct sb_advice *f;
	const char *issue;
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++) {
		double values[9] = { 500, 24000, 0, 40, 80, 345, 0, own_mb, 0 };

		sb_builder_sample(s.b, schema, t * SECOND, values, 9);
	}
	for (uint64_t i = 0; i < 3; i++)
		synthetic_stage(&s, i * 5 * SECOND, (i * 5 + 4) * SECOND, "video", STROBE_ROLE_GENERATION);
	f = finding(synthetic_model(&s, 20 * SECOND), "gpu_unused");
	issue = f ? f->priority : "used";
	assert_true(!f == !!finding(s.model, "gpu_utilization"));
	synthetic_done(&s);
	return issue;
}

/* Reading takes most of the time: no reason why the GPU was not used at all. */
static void what_the_cpu_waits_for_does_not_explain_a_gpu_that_was_not_used(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++) {
		double values[9] = { 500, 24000, 0, 40, 80, 345, 0, 0, 0 };

		sb_builder_sample(s.b, schema, t * SECOND, values, 9);
	}
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_begin(&s, i * 5 * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, i * 5 * SECOND, (i * 5 + 3) * SECOND, "read_input", STROBE_ROLE_DATA);
		synthetic_end(&s, (i * 5 + 4) * SECOND);
	}
	m = synthetic_model(&s, 20 * SECOND);
	f = finding(m, "gpu_unused");
	assert_non_null(f);
	assert_string_equal(f->priority, "low");
	for (const struct sb_advice *other = m->advice.all; other < f; other++)
		assert_string_not_equal(other->priority, "low"); /* it is the first of those */
	assert_string_equal(f->cause, "the models run on the CPU");
	f = finding(m, "data_loading");
	assert_non_null(f);
	assert_null(strstr(f->evidence, "GPU was not used"));
	synthetic_done(&s);
}

static void a_pipeline_that_was_left_on_the_cpu_is_told_so(void **state)
{
	assert_string_equal(said_of_a_pipeline_beside_an_idle_gpu(0), "low");
	assert_string_equal(said_of_a_pipeline_beside_an_idle_gpu(400), "used");
}

static void a_healthy_gpu_is_not(void **state)
{
	struct machine a = { 12000, 95, 70, 1980, 0x1, 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sample(&s, 0, a, a);
	m = synthetic_model(&s, 20 * SECOND);
	assert_int_equal(m->advice.count, 0);
	assert_string_equal(m->summary.bound, "GPU");
	synthetic_done(&s);
}

static void one_of_two_gpus_that_idles_is_named(void **state)
{
	struct machine busy = { 12000, 90, 70, 1980, 0, 0 }, idle = { 500, 1, 30, 1980, 0, 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sample(&s, 0, busy, busy);
	sample(&s, 1, idle, idle);
	m = synthetic_model(&s, 20 * SECOND);
	assert_non_null(finding(m, "gpus_idle"));
	assert_null(finding(m, "gpu_utilization")); /* the busiest one counts */
	synthetic_done(&s);
}

static void a_gpu_of_another_kind_is_no_idle_capacity(void **state)
{
	struct machine busy = { 12000, 90, 70, 1980, 0, 0 }, idle = { 500, 1, 30, 1980, 0, 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sample(&s, 0, busy, busy);
	sample(&s, 1, idle, idle);
	sb_builder_meta_string(s.b, SB_META_SYSTEM, "gpu0.name", "NVIDIA GeForce RTX 4090");
	sb_builder_meta_string(s.b, SB_META_SYSTEM, "gpu1.name", "AMD GPU");
	m = synthetic_model(&s, 20 * SECOND);
	assert_null(finding(m, "gpus_idle"));
	synthetic_done(&s);
}

static void thresholds_of_the_configuration_are_in_force(void **state)
{
	struct machine a = { 12000, 60, 70, 1980, 0, 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_meta_string(
		s.b, SB_META_SETTING, "thresholds", "temperature_c=65;gpu_utilization_percent=70");
	sample(&s, 0, a, a);
	m = synthetic_model(&s, 20 * SECOND);
	assert_near(finding(m, "temperature")->threshold, 65, 0);
	assert_string_equal(finding(m, "temperature")->threshold_key, "temperature_c");
	assert_non_null(finding(m, "gpu_utilization"));
	synthetic_done(&s);
}

static void swap_ram_and_collapsing_reads_are_named(void **state)
{
	static const char *const memory[] = { "total_mb", "used_mb", "swap_used_mb", "limit_mb",
		"group_used_mb" };
	static const char *const disk[] = { "read_bytes" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t ram, reads;
	double bytes = 0;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 60 * SECOND, "video", STROBE_ROLE_GENERATION);
	ram = sb_builder_schema(s.b, "memory", -1, memory, 5);
	reads = sb_builder_schema(s.b, "disk", -1, disk, 1);
	for (uint64_t t = 0; t <= 60; t++) {
		double now[] = { 64000, 30000, t < 30 ? 100 : 2100, 16000, t < 30 ? 8000 : 15500 };

		sb_builder_sample(s.b, ram, t * SECOND, now, 5);
		sb_builder_sample(s.b, reads, t * SECOND, &bytes, 1);
		bytes += t < 20 ? 2.1e9 : 0.03e9; /* 2.1 -> 0.03 GB/s */
	}
	m = synthetic_model(&s, 60 * SECOND);
	assert_near(finding(m, "swap")->value, 2000, 1e-6);
	assert_near(finding(m, "ram_limit")->value, 15500.0 / 16000 * 100,
		1e-6); /* the container's own limit and use */
	assert_non_null(finding(m, "disk_collapse"));
	assert_string_equal(finding(m, "disk_collapse")->issue, "disk reads fell from 2.10 to 0.03 GB/s");
	assert_true(finding(m, "disk_collapse")->saves_s > 35);
	synthetic_done(&s);
}

/* A minute in which the machine waits for its disk; out_bound is the verdict on a program that read so much of
 * the 6 GB. */
static void bound_on_a_busy_disk(double own_bytes, char *out_bound, size_t size)
{
	static const char *const disk[] = { "read_bytes", "machine_read_bytes" }, *const psi[] = {
		"io_percent"
	};
	const double waiting = 40;
	struct synthetic s;
	uint32_t reads, pressure;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 60 * SECOND, "video", STROBE_ROLE_GENERATION);
	reads = sb_builder_schema(s.b, "disk", -1, disk, 2);
	pressure = sb_builder_schema(s.b, "psi", -1, psi, 1);
	for (uint64_t t = 0; t <= 60; t++) {
		double now[] = { own_bytes / 60 * (double)t, 0.1e9 * (double)t };

		sb_builder_sample(s.b, reads, t * SECOND, now, 2);
		sb_builder_sample(s.b, pressure, t * SECOND, &waiting, 1);
	}
	snprintf(out_bound, size, "%s", synthetic_model(&s, 60 * SECOND)->summary.bound_reason);
	synthetic_done(&s);
}

static void a_disk_that_others_keep_busy_is_not_what_bounds_the_program(void **state)
{
	char reason[128];

	bound_on_a_busy_disk(5e9, reason, sizeof reason);
	assert_string_equal(reason, "40 % of the time something waits for the disk");
	bound_on_a_busy_disk(20e3, reason, sizeof reason);
	assert_null(strstr(reason, "disk"));
}

/* The same reads while the program starts up: the page cache fills, nothing has collapsed. */
static void reads_while_starting_up_are_no_collapse(void **state)
{
	static const char *const disk[] = { "read_bytes" };
	struct synthetic s;
	uint32_t reads;
	double bytes = 0;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 55 * SECOND, "imports", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 55 * SECOND, 60 * SECOND, "video", STROBE_ROLE_GENERATION);
	reads = sb_builder_schema(s.b, "disk", -1, disk, 1);
	for (uint64_t t = 0; t <= 60; t++) {
		sb_builder_sample(s.b, reads, t * SECOND, &bytes, 1);
		bytes += t < 20 ? 2.1e9 : 0.03e9;
	}
	assert_null(finding(synthetic_model(&s, 60 * SECOND), "disk_collapse"));
	synthetic_done(&s);
}

/* Full clocks at the power limit while it works, low ones while it idles. */
static void a_healthy_gpu_at_its_power_limit_is_not_throttled(void **state)
{
	struct synthetic s;
	struct sb_buf text = { 0 };
	struct sb_model *m;
	uint32_t gpu;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 20 * SECOND, "video", STROBE_ROLE_GENERATION);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++) {
		bool works = t >= 10;
		double values[9] = { 14000, 24564, works ? 99 : 0, 60, works ? 450 : 60, works ? 1900 : 300,
			works ? 4 : 0x28, 14000, 0 };

		sb_builder_sample(s.b, gpu, t * SECOND, values, 9);
	}
	m = synthetic_model(&s, 20 * SECOND);
	assert_null(finding(m, "throttling"));
	assert_near(m->devices.all[0].capped_ratio, 1, 1e-9);
	assert_near(m->devices.all[0].throttled_ratio, 0, 1e-9);
	assert_near(m->devices.all[0].busy_clock_mean_mhz, 1900, 1e-9);
	assert_near(m->devices.all[0].busy_power_mean_w, 450, 1e-9);
	assert_int_equal(sb_report_text(m, NULL, &text), 0);
	assert_non_null(strstr(
		sb_buf_text(&text), "      while it worked                        450.0             W\n"));
	assert_non_null(strstr(
		sb_buf_text(&text), "      while it worked                         1900             MHz\n"));
	sb_buf_done(&text);
	assert_null(
		strstr(finding(m, "gpu_utilization") ? finding(m, "gpu_utilization")->issue : "", "busy"));
	synthetic_done(&s);
}

/* A program that keeps a core busy and no GPU is bound by that. */
static void a_busy_core_and_no_gpu_is_bound_by_the_cpu(void **state)
{
	static const char *const cpu[] = { "usage_percent", "process_percent" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 9 * SECOND, "encode", 0);
	schema = sb_builder_schema(s.b, "cpu", -1, cpu, 2);
	for (uint64_t t = 0; t <= 10; t++)
		sb_builder_sample(s.b, schema, t * SECOND, (double[]){ 100, 100 }, 2);
	m = synthetic_model(&s, 10 * SECOND);
	assert_string_equal(m->summary.bound_by, "cpu");
	synthetic_done(&s);
}

/* Two large stages: only one is where to start. */
static void only_the_largest_stage_is_where_to_start(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	int starts = 0;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 4 * SECOND, "encode", 0);
	synthetic_stage(&s, 4 * SECOND, 10 * SECOND, "denoise", 0);
	m = synthetic_model(&s, 10 * SECOND);
	for (size_t i = 0; i < m->advice.count; i++)
		if (!strcmp(m->advice.all[i].id, "stage_dominates")) {
			bool start = strstr(m->advice.all[i].suggestion, "Start here") != NULL;

			starts += start;
			assert_int_equal(start, !strcmp(m->advice.all[i].stage, "denoise"));
		}
	assert_int_equal(starts, 1);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hot_full_idle_throttled_shared_gpu_is_named),
		cmocka_unit_test(a_pipeline_that_was_left_on_the_cpu_is_told_so),
		cmocka_unit_test(what_the_cpu_waits_for_does_not_explain_a_gpu_that_was_not_used),
		cmocka_unit_test(a_healthy_gpu_is_not),
		cmocka_unit_test(one_of_two_gpus_that_idles_is_named),
		cmocka_unit_test(a_gpu_of_another_kind_is_no_idle_capacity),
		cmocka_unit_test(thresholds_of_the_configuration_are_in_force),
		cmocka_unit_test(swap_ram_and_collapsing_reads_are_named),
		cmocka_unit_test(a_disk_that_others_keep_busy_is_not_what_bounds_the_program),
		cmocka_unit_test(reads_while_starting_up_are_no_collapse),
		cmocka_unit_test(a_healthy_gpu_at_its_power_limit_is_not_throttled),
		cmocka_unit_test(a_busy_core_and_no_gpu_is_bound_by_the_cpu),
		cmocka_unit_test(only_the_largest_stage_is_where_to_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
