/* Memory: snapshots, peaks and where they belong, what a stage keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "report/memory_log.h"
#include "report/text.h"
#include "synthetic.h"

static const struct sb_memory_stage *stage_of(const struct sb_model *m, const char *name)
{
	for (size_t i = 0; i < m->memory.stage_count; i++) {
		if (strcmp(m->memory.stages[i].stage, name) == 0)
			return &m->memory.stages[i];
	}
	fail_msg("no stage '%s'", name);
	return NULL;
}

/* The numbers of the guide: sampling peaks at 14336.2 MB, decode gives it back. */
static void framepack(struct synthetic *s)
{
	sb_builder_snapshot(s->b, 1 * SECOND, "worker_start", 0, 1024 * MIB, 2048 * MIB, 1024 * MIB);
	synthetic_stage(s, 2 * SECOND, 4 * SECOND, "text_encoding", 0);
	sb_builder_snapshot(s->b, 5 * SECOND, "after_text_encoding", 0, 4096 * MIB, 6144 * MIB, 4100 * MIB);
	synthetic_begin(s, 6 * SECOND, "sampling", 0);
	sb_builder_snapshot(s->b, 8 * SECOND, "during_sampling", 0, 12288 * MIB, 16384 * MIB, 14336 * MIB);
	synthetic_end(s, 10 * SECOND);
	sb_builder_snapshot(s->b, 11 * SECOND, "after_sampling", 0, 4100 * MIB, 16384 * MIB, 14336 * MIB);
	synthetic_stage(s, 12 * SECOND, 14 * SECOND, "vae_decode", 0);
	sb_builder_snapshot(s->b, 15 * SECOND, "after_vae_decode", 0, 2048 * MIB, 4096 * MIB, 14336 * MIB);
}

static void peaks_belong_to_the_stage_that_made_them(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	framepack(&s);
	m = synthetic_model(&s, 16 * SECOND);
	assert_int_equal(m->memory.snapshot_count, 5);
	assert_string_equal(m->memory.snapshots[2].stage, "sampling");
	assert_null(m->memory.snapshots[0].stage);
	assert_near(m->memory.peak_bytes, 14336.0 * MIB, 0);
	assert_string_equal(m->memory.peak_stage, "sampling");
	assert_string_equal(m->memory.peak_source, "allocated");
	assert_near(m->memory.reserved_peak_bytes, 16384.0 * MIB, 0);
	assert_near(stage_of(m, "sampling")->peak_bytes, 14336.0 * MIB, 0);
	assert_near(stage_of(m, "text_encoding")->peak_bytes, 4100.0 * MIB, 0);
	/* the decode did not make the old maximum again */
	assert_near(stage_of(m, "vae_decode")->peak_bytes, 2048.0 * MIB, 0);
	assert_near(m->memory.fragmentation_bytes, (16384.0 - 4100) * MIB, 0);
	assert_string_equal(m->memory.fragmentation_label, "after_sampling");
	assert_near(m->memory.spike_bytes, (12288.0 - 4096) * MIB, 0);
	assert_string_equal(m->memory.spike_stage, "sampling");
	synthetic_done(&s);
}

/* Three videos: 2 GB are read, then a step and a decode; strobe reads the allocator where a stage ends, and another thread
 * reads it in the middle of the step. until: when the 2 GB are given back. */
enum until { STAGE_END, VIDEO_END, NEVER };

static struct sb_model *reads_shards(struct synthetic *s, enum until until)
{
	static const char own[] = "strobe.memory.device";

	synthetic_open(s);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t at = i * SECOND;
		int64_t base = 1000 + (until == NEVER ? (int64_t)i * 2000 : 0);
		int64_t read = base + (until == STAGE_END ? 0 : 2000), last = until == NEVER ? read : base;

		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		sb_builder_snapshot(s->b, at, own, 0, (base)*MIB, (base)*MIB, -1);
		synthetic_stage(s, at + MS, at + 100 * MS, "read_shards", 0);
		sb_builder_snapshot(s->b, at + 101 * MS, own, 0, (read)*MIB, (read)*MIB, -1);
		synthetic_step(s, at + 102 * MS, at + 500 * MS, 0, 0);
		sb_builder_snapshot(
			s->b, at + 300 * MS, own, 0, (read + 5000) * MIB, (read + 5000) * MIB, -1);
		sb_builder_snapshot(s->b, at + 501 * MS, own, 0, (read)*MIB, (read)*MIB, -1);
		synthetic_stage(s, at + 502 * MS, at + 800 * MS, "vae_decode", 0);
		sb_builder_snapshot(s->b, at + 801 * MS, own, 0, (read + 700) * MIB, (read + 700) * MIB, -1);
		synthetic_end(s, at + 900 * MS);
		sb_builder_snapshot(s->b, at + 901 * MS, own, 0, (last)*MIB, (last)*MIB, -1);
	}
	return synthetic_model(s, 3 * SECOND);
}

static void what_a_stage_keeps_is_known_from_readings_where_stages_end(void **state)
{
	static const double kept_mb[] = { 0, 2000, 2000 };
	struct synthetic s;

	for (int until = STAGE_END; until <= NEVER; until++) {
		struct sb_model *m = reads_shards(&s, (enum until)until);
		const struct sb_memory_stage *row = stage_of(m, "read_shards");

		assert_true(row->checked);
		assert_near(row->kept_bytes, kept_mb[until] * MIB, 0);
		assert_int_equal(row->freed, until == STAGE_END);
		assert_int_equal(row->let_go, until == VIDEO_END);
		assert_near(stage_of(m, "step")->kept_bytes, 0, 0);
		assert_int_equal(finding(m, "memory_kept") != NULL, until == NEVER);
		if (until == NEVER)
			assert_string_equal(finding(m, "memory_kept")->stage, "read_shards");
		synthetic_done(&s);
	}
}

static void what_a_stage_keeps_is_checked_on_both_sides(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	framepack(&s);
	m = synthetic_model(&s, 16 * SECOND);
	assert_true(stage_of(m, "text_encoding")->checked);
	assert_false(stage_of(m, "text_encoding")->freed);
	assert_near(stage_of(m, "text_encoding")->kept_bytes, 3072.0 * MIB, 0);
	assert_true(stage_of(m, "sampling")->freed); /* 4 MB of 14 GB */
	assert_true(stage_of(m, "vae_decode")->freed);
	assert_near(stage_of(m, "vae_decode")->kept_bytes, -2052.0 * MIB, 0);
	synthetic_done(&s);
}

/* A reading that lies behind the next stage says nothing about this one. */
static void a_neighbours_memory_is_not_put_down_to_a_stage(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_snapshot(s.b, SECOND, "before", 0, 100 * MIB, -1, -1);
	synthetic_stage(&s, 2 * SECOND, 3 * SECOND, "innocent", 0);
	synthetic_stage(&s, 4 * SECOND, 5 * SECOND, "hoarder", 0);
	sb_builder_snapshot(s.b, 6 * SECOND, "after", 0, 9000 * MIB, -1, -1);
	m = synthetic_model(&s, 7 * SECOND);
	for (size_t i = 0; i < m->memory.stage_count; i++)
		assert_false(m->memory.stages[i].checked);
	assert_null(finding(m, "memory_kept"));
	synthetic_done(&s);
}

static void a_peak_does_not_fall_when_the_program_resets_it(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_snapshot(s.b, 1 * SECOND, "sampling", 0, 9000 * MIB, 9000 * MIB, 14336 * MIB);
	sb_builder_snapshot(s.b, 2 * SECOND, "other GPU", 1, 100 * MIB, 100 * MIB, 120 * MIB);
	sb_builder_snapshot(s.b, 3 * SECOND, "after reset", 0, 2048 * MIB, 4096 * MIB, 2048 * MIB);
	m = synthetic_model(&s, 4 * SECOND);
	assert_near(m->memory.snapshots[1].peak_bytes, 120.0 * MIB, 0);
	assert_near(m->memory.snapshots[2].peak_bytes, 14336.0 * MIB, 0);
	assert_near(m->memory.peak_bytes, 14336.0 * MIB, 0);
	synthetic_done(&s);
}

static void samples_find_the_peak_without_snapshots(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t gpu;

	synthetic_open(&s);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++)
		synthetic_gpu_sample(&s, gpu, t * SECOND, t == 12 ? 20000 : t > 10 ? 12000 : 3000, 90, 300);
	synthetic_stage(&s, 0, 10 * SECOND, "denoise", 0);
	synthetic_begin(&s, 10 * SECOND, "decode", 0);
	synthetic_stage(&s, 11500 * MS, 12500 * MS, "tile", 0);
	synthetic_end(&s, 20 * SECOND);
	m = synthetic_model(&s, 20 * SECOND);
	assert_near(m->memory.peak_bytes, 20000.0 * MIB, 1);
	assert_string_equal(m->memory.peak_stage, "tile"); /* the innermost */
	assert_string_equal(m->memory.peak_source, "process");
	assert_near(m->memory.device_total_bytes, 24564.0 * MIB, 1);
	assert_near(stage_of(m, "decode")->peak_bytes, 20000.0 * MIB, 1);
	assert_near(stage_of(m, "denoise")->peak_bytes, 3000.0 * MIB, 1);
	assert_near(m->memory.spike_bytes, 9000.0 * MIB, 1);
	assert_false(stage_of(m, "denoise")->checked); /* a device's use says nothing about freeing */
	synthetic_done(&s);
}

/* Nothing says what the run's processes hold. The sample after the rise lies in the next stage, and what was taken is kept. */
static void a_peak_is_of_the_stage_in_which_the_device_filled(void **state)
{
	static const char *const used[] = { "memory_used_mb" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t gpu;

	synthetic_open(&s);
	gpu = sb_builder_schema(s.b, "gpu", 0, used, 1);
	for (uint64_t at = 0; at <= 20; at += 10) {
		synthetic_begin(&s, at * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, at * SECOND, (at + 4) * SECOND, "denoise", 0);
		synthetic_stage(&s, (at + 4) * SECOND, (at * 10 + 69) * 100 * MS, "vae_decode", 0);
		synthetic_stage(&s, (at * 10 + 69) * 100 * MS, (at + 8) * SECOND, "postprocess", 0);
		synthetic_end(&s, (at + 8) * SECOND);
	}
	for (uint64_t t = 1; t <= 29; t += 2)
		sb_builder_sample(s.b, gpu, t * SECOND, (double[]){ t < 6 ? 3000 : 9000 }, 1);
	m = synthetic_model(&s, 30 * SECOND);
	assert_string_equal(m->memory.peak_source, "device");
	assert_string_equal(m->memory.peak_stage, "vae_decode");
	assert_near(stage_of(m, "denoise")->peak_bytes, 3000.0 * MIB, 1);
	synthetic_done(&s);
}

/* What strobe does itself inside the program is no place of the program's memory. */
static void strobes_own_work_is_never_where_the_peak_was(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_snapshot(s.b, 1 * SECOND, "start", 0, 100 * MIB, 200 * MIB, 100 * MIB);
	synthetic_stage(&s, 2 * SECOND, 3 * SECOND, "vae_decode", 0);
	synthetic_stage(&s, 4 * SECOND, 8 * SECOND, "strobe: counting FLOPs", STROBE_ROLE_PROFILER);
	sb_builder_snapshot(s.b, 8 * SECOND, "end", 0, 100 * MIB, 9000 * MIB, 8000 * MIB);
	m = synthetic_model(&s, 9 * SECOND);
	assert_near(m->memory.peak_bytes, 8000.0 * MIB, 1);
	assert_string_equal(m->memory.peak_stage, "vae_decode");
	synthetic_done(&s);
}

static void vram_ram_swap_and_page_cache_stand_side_by_side(void **state)
{
	static const char *const memory[] = { "total_mb", "used_mb", "swap_used_mb", "page_cache_mb" };
	static const char *const process[] = { "rss_mb" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t gpu, ram, rss;

	synthetic_open(&s);
	gpu = synthetic_gpu(&s, 0);
	ram = sb_builder_schema(s.b, "memory", -1, memory, 4);
	rss = sb_builder_schema(s.b, "process", -1, process, 1);
	for (uint64_t t = 0; t <= 10; t++) {
		synthetic_gpu_sample(&s, gpu, t * SECOND, 1000 + 100.0 * (double)t, 90, 300);
		sb_builder_sample(s.b, ram, t * SECOND, (double[]){ 64000, 8000, 10, 500 }, 4);
		sb_builder_sample(s.b, rss, t * SECOND, (double[]){ 3000 }, 1);
	}
	sb_builder_snapshot(s.b, 4500 * MS, "mid", 0, 700 * MIB, 900 * MIB, 700 * MIB);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->memory.timeline.count, 11);
	assert_int_equal(m->memory.timeline.column_count, 7);
	assert_near(sb_series_column_find(&m->memory.timeline, "vram_used_mb")->values[5], 1500, 1e-6);
	assert_true(isnan(sb_series_column_find(&m->memory.timeline, "vram_allocated_mb")->values[4]));
	assert_near(sb_series_column_find(&m->memory.timeline, "vram_allocated_mb")->values[5], 700, 1e-6);
	assert_near(sb_series_column_find(&m->memory.timeline, "page_cache_mb")->values[0], 500, 0);
	assert_near(m->memory.rss_peak_bytes, 3000.0 * MIB, 1);
	synthetic_done(&s);
}

/* A process that was large between two samples: what the system tells at its end is the highest in every face. */
static void a_peak_between_two_samples_is_the_highest_in_the_text_too(void **state)
{
	static const char *const process[] = { "rss_mb" };
	struct strobe_attr highest = { SB_RUN_PEAK_RSS_BYTES, STROBE_TYPE_INT, { .i = 312 * MIB } };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;
	uint32_t rss;

	synthetic_open(&s);
	rss = sb_builder_schema(s.b, "process", -1, process, 1);
	for (uint64_t t = 0; t <= 1; t++)
		sb_builder_sample(s.b, rss, t * SECOND, (double[]){ 6.5 }, 1);
	sb_builder_meta(s.b, SB_META_RUN, &highest);
	m = synthetic_model(&s, SECOND);
	assert_near(m->memory.rss_peak_bytes, 312.0 * MIB, 1);
	assert_int_equal(sb_report_text(m, NULL, &out), 0);
	assert_non_null(
		strstr(sb_buf_text(&out), "RAM of this run (RSS)           6.5        6.5      312.0  MB"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* strobe counts FLOPs when the program is over: 110 MB of sympy are not the program's peak. */
static void what_strobe_took_at_the_end_is_no_peak_of_the_programs(void **state)
{
	static const char *const process[] = { "rss_mb" };
	struct strobe_attr highest = { SB_RUN_PEAK_RSS_BYTES, STROBE_TYPE_INT, { .i = 660 * MIB } };
	struct strobe_attr own[] = { { "before_bytes", STROBE_TYPE_INT, { .i = 552 * MIB } },
		{ "after_bytes", STROBE_TYPE_INT, { .i = 660 * MIB } },
		{ "duration_s", STROBE_TYPE_FLOAT, { .f = 2.5 } } };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;
	uint32_t rss;

	synthetic_open(&s);
	rss = sb_builder_schema(s.b, "process", -1, process, 1);
	for (uint64_t t = 0; t <= 10; t++) /* with a second process of 28 MB beside it */
		sb_builder_sample(s.b, rss, t * SECOND, (double[]){ t < 8 ? 580 : 688 }, 1);
	sb_builder_event(s.b, 10 * SECOND, SB_EVENT_OWN_MEMORY, 0, own, 3);
	sb_builder_meta(s.b, SB_META_RUN, &highest);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(m->memory.rss_peak_bytes, 580.0 * MIB, 1);
	assert_near(m->session.peak_rss_bytes, 580.0 * MIB, 1);
	assert_int_equal(m->events.count, 0); /* it is no event of the program's */
	assert_int_equal(sb_report_text(m, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "580.0  MB"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* One that is larger than the process that counted keeps its peak. */
static void the_peak_of_another_process_stays(void **state)
{
	struct strobe_attr highest = { SB_RUN_PEAK_RSS_BYTES, STROBE_TYPE_INT, { .i = 2000 * MIB } };
	struct strobe_attr own[] = { { "before_bytes", STROBE_TYPE_INT, { .i = 552 * MIB } },
		{ "after_bytes", STROBE_TYPE_INT, { .i = 660 * MIB } },
		{ "duration_s", STROBE_TYPE_FLOAT, { .f = 2.5 } } };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_event(s.b, 10 * SECOND, SB_EVENT_OWN_MEMORY, 0, own, 3);
	sb_builder_meta(s.b, SB_META_RUN, &highest);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(m->session.peak_rss_bytes, 2000.0 * MIB, 1);
	synthetic_done(&s);
}

/* It ran on after the one that counted was over, and needed more than both had before. */
static void the_peak_of_a_process_that_runs_on_stays(void **state)
{
	static const char *const process[] = { "rss_mb" };
	struct strobe_attr own[] = { { "before_bytes", STROBE_TYPE_INT, { .i = 552 * MIB } },
		{ "after_bytes", STROBE_TYPE_INT, { .i = 660 * MIB } },
		{ "duration_s", STROBE_TYPE_FLOAT, { .f = 0.5 } } };
	struct synthetic s;
	struct sb_model *m;
	uint32_t rss;

	synthetic_open(&s);
	rss = sb_builder_schema(s.b, "process", -1, process, 1);
	for (uint64_t t = 0; t <= 10; t++)
		sb_builder_sample(s.b, rss, t * SECOND, (double[]){ t < 6 ? 580 : 3000 }, 1);
	sb_builder_event(s.b, 3 * SECOND, SB_EVENT_OWN_MEMORY, 0, own, 3);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(m->memory.rss_peak_bytes, (3000.0 - 108.0) * MIB, 1);
	synthetic_done(&s);
}

static void the_memory_log_is_json_with_one_decimal(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;

	synthetic_open(&s);
	sb_builder_snapshot(s.b, SECOND, "after \"load\"", 0, 1074266112, -1, 1074266112);
	sb_builder_snapshot(s.b, 2 * SECOND, "host", -1, 10 * MIB, -1, -1);
	assert_int_equal(sb_report_memory_log(synthetic_model(&s, 3 * SECOND), &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "\"label\":\"after \\\"load\\\"\""));
	assert_non_null(strstr(sb_buf_text(&out), "\"allocated_mb\":1024.5,\"max_allocated_mb\":1024.5"));
	assert_non_null(strstr(sb_buf_text(&out), "\"device\":\"host\",\"allocated_mb\":10}"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* Both stages were over when it was seen, and neither took most of the time before. */
static void a_rise_is_not_blamed_on_a_stage_that_was_over(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_snapshot(s.b, 0, "start", 0, 10 * MIB, -1, -1);
	synthetic_stage(&s, SECOND, 4 * SECOND, "text_encode", 0);
	synthetic_stage(&s, 4 * SECOND, 6 * SECOND, "sampling", 0);
	sb_builder_snapshot(s.b, 9 * SECOND, "after_load", 0, 310 * MIB, -1, -1);
	m = synthetic_model(&s, 10 * SECOND);
	assert_near(m->memory.spike_bytes, 300.0 * MIB, 0);
	assert_null(m->memory.spike_stage);
	synthetic_done(&s);
}

/* A snapshot's history begins with what is cached and nothing in use. */
static void what_is_cached_alone_is_not_fragmented(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_snapshot(s.b, SECOND, "the history begins", 0, 0, 240 * MIB, 0);
	sb_builder_snapshot(s.b, 2 * SECOND, "the snapshot", 0, 120 * MIB, 240 * MIB, 120 * MIB);
	m = synthetic_model(&s, 3 * SECOND);
	assert_string_equal(m->memory.fragmentation_label, "the snapshot");
	assert_near(m->memory.fragmentation_ratio, 0.5, 0.001);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_cached_alone_is_not_fragmented),
		cmocka_unit_test(a_rise_is_not_blamed_on_a_stage_that_was_over),
		cmocka_unit_test(peaks_belong_to_the_stage_that_made_them),
		cmocka_unit_test(what_a_stage_keeps_is_known_from_readings_where_stages_end),
		cmocka_unit_test(what_a_stage_keeps_is_checked_on_both_sides),
		cmocka_unit_test(a_neighbours_memory_is_not_put_down_to_a_stage),
		cmocka_unit_test(a_peak_does_not_fall_when_the_program_resets_it),
		cmocka_unit_test(samples_find_the_peak_without_snapshots),
		cmocka_unit_test(a_peak_is_of_the_stage_in_which_the_device_filled),
		cmocka_unit_test(strobes_own_work_is_never_where_the_peak_was),
		cmocka_unit_test(vram_ram_swap_and_page_cache_stand_side_by_side),
		cmocka_unit_test(a_peak_between_two_samples_is_the_highest_in_the_text_too),
		cmocka_unit_test(what_strobe_took_at_the_end_is_no_peak_of_the_programs),
		cmocka_unit_test(the_peak_of_another_process_stays),
		cmocka_unit_test(the_peak_of_a_process_that_runs_on_stays),
		cmocka_unit_test(the_memory_log_is_json_with_one_decimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
