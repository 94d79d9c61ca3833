/* The seventeen errors that earlier tools of this kind make, each shown not to
 * happen, with the numbers they were found with. What the report model cannot
 * show is shown where it can be: the comment names the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/summary.h"
#include "base/error.h"
#include "report/json.h"
#include "report/summary.h"
#include "report/text.h"
#include "synthetic.h"
#include "report/build.h"

#include <dirent.h>
#include <sys/stat.h>

static char *text_of(const struct sb_model *m)
{
	struct sb_text_options options = { .columns = 80 };
	struct sb_buf out = { 0 };

	assert_int_equal(sb_report_text(m, &options, &out), 0);
	return out.data;
}

static char *json_of(const struct sb_model *m)
{
	struct sb_buf out = { 0 };

	assert_int_equal(sb_report_json(m, &out), 0);
	return out.data;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%.4000s", part, text);
}

/* 1. A kernel's time in whichever section synchronizes next. */
static void cpu_time_and_gpu_time_are_two_numbers(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *launch, *sync;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 2 * MS, "launch", 0); /* 2 ms on the CPU, 100 ms on the GPU */
	synthetic_stage(&s, 2 * MS, 103 * MS, "copy_back", 0);
	sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, "launch", NULL),
				    .kind = SB_GPU_ZONE,
				    .start_ns = MS,
				    .duration_ns = 100 * MS,
				    .launch_ns = 0,
				    .launch_tid = 1000 });
	m = synthetic_model(&s, 103 * MS);
	launch = sb_model_stage(m, "launch");
	sync = sb_model_stage(m, "copy_back");
	assert_near(launch->total_s, 0.002, 1e-9);
	assert_near(launch->gpu_span_s, 0.1, 1e-9);
	assert_near(sync->total_s, 0.101, 1e-9);
	assert_true(isnan(sync->gpu_span_s));
	assert_true(isnan(launch->gpu_busy_s)); /* a span is never shown as busy */
	synthetic_done(&s);
}

/* 2. Synchronizing to measure. The recorder's own tests run against a libcuda
 * that counts (unit/gpu_zone_test); here: the sources know no such call. */
static void nothing_in_the_recorder_synchronizes(void **state)
{
	static const char *const folders[] = { "gpu", "record", "monitor" };
	static const char *const calls[] = { "cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize",
		"cudaDeviceSynchronize", "cudaStreamSynchronize" };
	int files = 0;

	for (size_t f = 0; f < 3; f++) {
		char path[4096];
		struct dirent *entry;
		DIR *folder;

		snprintf(path, sizeof path, "%s/src/%s", STROBE_SOURCE_DIR, folders[f]);
		folder = opendir(path);
		assert_non_null(folder);
		while ((entry = readdir(folder))) {
			struct sb_buf text = { 0 };

			if (!strstr(entry->d_name, ".c"))
				continue;
			snprintf(path, sizeof path, "%s/src/%s/%.200s", STROBE_SOURCE_DIR, folders[f],
				entry->d_name);
			assert_int_equal(sb_buf_read_file(&text, path, 1 << 24), 0);
			for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
				char call[64];

				snprintf(call, sizeof call, "\"%s\"",
					calls[c]); /* found by name, at run time */
				assert_null(strstr(sb_buf_text(&text), call));
			}
			files++;
			sb_buf_done(&text);
		}
		closedir(folder);
	}
	assert_true(files > 10);
}

/* 3. Outer and inner both shown as 50 %, the total twice the wall time. */
static void nesting_never_counts_twice(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	double self_s = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "outer", 0);
	synthetic_stage(&s, 0, 10 * SECOND, "inner", 0);
	synthetic_end(&s, 10 * SECOND);
	m = synthetic_model(&s, 10 * SECOND);
	for (size_t i = 0; i < m->stages.stage_count; i++)
		self_s += m->stages.stages[i].self_s;
	assert_near(self_s + m->stages.unattributed_s, 10, 1e-9);
	assert_near(sb_model_stage(m, "outer")->self_s, 0, 1e-9);
	assert_near(
		sb_model_stage(m, "inner")->wall_ratio, 1, 1e-9); /* of the wall time, not of a sum of 20 s */
	synthetic_done(&s);
}

/* 4. Labels that sum to 25.90 s of a stage that took 52.34 s. The log itself is
 * read in the tests of the import. */
static void what_labels_leave_out_is_unattributed(void **state)
{
	static const struct {
		const char *name, *code;
		uint64_t ms;
	} labels[] = { { "I/O", "3a", 7840 }, { "RAFT optical flow", "3b", 14020 },
		{ "Flow completion", "3c", 3600 }, { "Video write", "3d", 440 } };
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;
	char *text;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "ProPainter", 0);
	for (size_t i = 0; i < 4; i++) {
		sb_builder_begin(s.main, t, sb_builder_name(s.b, labels[i].name, labels[i].code));
		synthetic_end(&s, t += labels[i].ms * MS);
	}
	assert_int_equal(t, 25900 * MS);
	synthetic_end(&s, 52340 * MS);
	m = synthetic_model(&s, 52340 * MS);
	assert_near(sb_model_stage(m, "ProPainter")->total_s, 52.34, 1e-9);
	assert_near(sb_model_stage(m, "ProPainter")->unattributed_s, 26.44, 1e-9);
	text = text_of(m);
	assert_has(text, "26.44 s");
	free(text);
	synthetic_done(&s);
}

/* 5. 30 real frames in 10 blocks x 4 steps reported as 60 FPS where 12 is right;
 * "> 30 steps" fired for 10 blocks x 4 steps. */
static void frames_are_frames_and_steps_are_per_block(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 40; i++)
		synthetic_step(&s, (uint64_t)i * 62500000, (uint64_t)(i + 1) * 62500000, i % 4, 3);
	m = synthetic_model(&s, 2500 * MS);
	assert_near(m->diffusion.fps, 12, 1e-9);
	assert_int_equal(m->diffusion.frames, 30);
	assert_int_equal(m->diffusion.steps_per_chain, 4);
	assert_null(finding(m, "steps_many"));
	synthetic_done(&s);
}

/* 6. Sum of power x N x 0.5 s: 300 W for 1 h gave 2 160 000 Wh. */
static void an_hour_at_300_watts_is_300_watt_hours(void **state)
{
	static const char *const power[] = { "power_w" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, power, 1);
	for (uint64_t t = 0; t <= 3600 * SECOND; t += 500 * MS) {
		double watts = 300;

		if (t > 1000 * SECOND && t < 2000 * SECOND &&
			t / (500 * MS) % 7) /* the sampler stumbles: uneven intervals */
			continue;
		sb_builder_sample(s.b, schema, t, &watts, 1);
	}
	m = synthetic_model(&s, 3600 * SECOND);
	assert_near(m->devices.all[0].energy_wh, 300, 1e-6);
	assert_near(m->summary.run_energy_wh, 300, 1e-6);
	synthetic_done(&s);
}

/* 7. Samples of an earlier session leak into the next: what lies outside the
 * part that is asked for does not count. Stages before the session starts:
 * unit/recorder_test. */
static void samples_from_outside_do_not_leak(void **state)
{
	struct sb_cut cut = { .has_from = true, .from_ns = 50 * SECOND };
	struct synthetic s;
	struct sb_model *part;
	struct sb_run *run;
	uint32_t gpu;

	synthetic_open(&s);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 100 * SECOND; t += SECOND)
		synthetic_gpu_sample(&s, gpu, t, t < 50 * SECOND ? 20000 : 1000, 50, 100);
	assert_near(synthetic_model(&s, 100 * SECOND)->summary.gpu_peak_bytes, 20000.0 * MIB, 1);
	assert_int_equal(sb_run_open(s.path, &cut, &run), 0);
	assert_int_equal(sb_report_build(run, NULL, &part), 0);
	assert_near(part->summary.gpu_peak_bytes, 1000.0 * MIB, 1);
	assert_int_equal(sb_model_series(part, "gpu", 0)->recorded_count, 51);
	sb_model_free(part);
	sb_run_close(run);
	synthetic_done(&s);
}

/* 8. 3 hits, 1 miss, 1 eviction is 75 %, not 60 %; frees summed as allocations. */
static void evictions_are_no_requests_and_frees_no_allocations(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	static const enum strobe_cache_kind kinds[] = { STROBE_CACHE_HIT, STROBE_CACHE_HIT, STROBE_CACHE_HIT,
		STROBE_CACHE_MISS, STROBE_CACHE_EVICT };

	synthetic_open(&s);
	for (size_t i = 0; i < 5; i++)
		sb_builder_cache(s.b, (i + 1) * MS,
			&(struct strobe_cache_event){ .cache = "kv",
				.kind = kinds[i],
				.size_bytes = -1,
				.score = NAN,
				.threshold = NAN,
				.frame = NAN,
				.chunk = -1 });
	sb_builder_alloc(s.b, MS, "cuda", 100 * MIB, "a");
	sb_builder_alloc(s.b, 2 * MS, "cuda", 50 * MIB, "b");
	sb_builder_alloc(s.b, 3 * MS, "cuda", -100 * MIB, "a");
	m = synthetic_model(&s, SECOND);
	assert_near(m->caches.caches[0].hit_ratio, 0.75, 1e-12);
	assert_int_equal(m->caches.caches[0].evictions, 1);
	assert_near(m->memory.allocators[0].allocated_bytes, 150.0 * MIB, 0);
	assert_near(m->memory.allocators[0].freed_bytes, 100.0 * MIB, 0);
	assert_near(m->memory.allocators[0].live_bytes, 50.0 * MIB, 0);
	assert_near(m->memory.allocators[0].peak_bytes, 150.0 * MIB, 0);
	synthetic_done(&s);
}

/* 9. No GPU still advised "utilisation is only 0.0 %"; an idle one scored. */
static void no_gpu_and_an_unused_gpu_get_no_advice(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t gpu;
	char *text;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "cpu_work", 0);
	m = synthetic_model(&s, SECOND);
	assert_null(finding(m, "gpu_utilization"));
	assert_null(finding(m, "gpu_memory"));
	assert_true(isnan(m->summary.gpu_utilization_mean_percent));
	text = text_of(m);
	assert_null(strstr(text, "utilisation"));
	free(text);
	synthetic_done(&s);

	synthetic_open(&s);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 10 * SECOND; t += SECOND) {
		double idle[9] = { 4, 24564, 0, 30, 20, 300, 0, 0, 0 };

		sb_builder_sample(s.b, gpu, t, idle, 9);
	}
	m = synthetic_model(&s, 10 * SECOND);
	assert_null(finding(m, "gpu_utilization"));
	assert_false(m->devices.all[0].used);
	synthetic_done(&s);
}

/* 10. Toggles that don't toggle: unit/sources_test and unit/gpus_test sample
 * with each one off. Here: what was not sampled is absent, not zero. */
static void what_was_switched_off_is_absent(void **state)
{
	static const char *const columns[] = { "memory_used_mb", "temperature_c" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;
	char *json;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, columns, 2);
	for (uint64_t t = 0; t < 5; t++)
		sb_builder_sample(s.b, schema, t * SECOND, (double[]){ 100, NAN }, 2);
	m = synthetic_model(&s, 5 * SECOND);
	json = json_of(m);
	assert_has(json, "memory_used_max_mb");
	assert_null(strstr(json, "temperature"));
	assert_null(strstr(json, "power"));
	assert_null(strstr(json, "energy"));
	free(json);
	synthetic_done(&s);
}

/* 11. Names with an index scatter one stage over a thousand rows; only monitors
 * are bounded. Memory and file of the recorder: unit/recorder_test, bench. */
static void indexed_names_are_one_row_and_everything_is_bounded(void **state)
{
	struct sb_model_options options = { .max_data_points = 100 };
	struct synthetic s;
	struct sb_model *bounded;
	const struct sb_stage *row;
	uint32_t gpu;
	char name[40];

	synthetic_open(&s);
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "sampling_chunk_%u", (unsigned)i);
		synthetic_begin(&s, i * 10 * MS, name, 0);
		synthetic_step(&s, i * 10 * MS, i * 10 * MS + (i == 500 ? 9 : 5) * MS, (int64_t)i, 0);
		synthetic_end(&s, (i + 1) * 10 * MS);
		sb_builder_event(s.b, i * 10 * MS, "tick", 0, NULL, 0);
		sb_builder_cache(s.b, i * 10 * MS,
			&(struct strobe_cache_event){ .cache = "kv",
				.kind = STROBE_CACHE_HIT,
				.size_bytes = -1,
				.score = NAN,
				.threshold = NAN,
				.frame = NAN,
				.chunk = -1 });
	}
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t i = 0; i < 5000; i++)
		synthetic_gpu_sample(&s, gpu, i * 2 * MS, i == 1234 ? 9999 : 1000, 50, 100);
	row = sb_model_stage(synthetic_model(&s, 10 * SECOND), "sampling_chunk_*");
	assert_non_null(row);
	assert_int_equal(row->count, 1000);
	assert_int_equal(row->member_total, 1000);
	assert_near(row->total_s, 10, 1e-9);
	assert_int_equal(sb_report_build(s.run, &options, &bounded), 0);
	assert_true(sb_model_series(bounded, "gpu", 0)->count <= 100);
	assert_int_equal(sb_model_series(bounded, "gpu", 0)->recorded_count, 5000);
	assert_true(bounded->diffusion.series.count <= 100);
	assert_true(bounded->events.count <= 100);
	assert_true(bounded->caches.caches[0].event_count <= 100);
	/* and the one peak among 5000 samples is still there */
	assert_near(sb_series_column_find(sb_model_series(bounded, "gpu", 0), "memory_used_mb")->stats.max,
		9999, 0);
	{
		const struct sb_series *series = sb_model_series(bounded, "gpu", 0);
		const struct sb_series_column *c = sb_series_column_find(series, "memory_used_mb");
		int peaks = 0;

		for (size_t i = 0; i < series->count; i++)
			peaks += c->values[i] == 9999;
		assert_int_equal(peaks, 1);
	}
	sb_model_free(bounded);
	synthetic_done(&s);
}

/* 12. Everything lost on a kill; the report not written atomically. */
static void a_killed_run_keeps_what_was_recorded(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct stat st;
	char path[96];

	synthetic_open(&s);
	synthetic_stage(&s, 0, 5 * SECOND, "load", STROBE_ROLE_LOAD);
	synthetic_begin(&s, 5 * SECOND, "denoise", 0);
	synthetic_step(&s, 5 * SECOND, 7 * SECOND, 0, 0);
	assert_int_equal(sb_builder_abandon(s.b), 0);
	assert_int_equal(sb_run_open(s.path, NULL, &s.run), 0);
	assert_int_equal(sb_report_build(s.run, NULL, &s.model), 0);
	assert_near(sb_model_stage(s.model, "load")->total_s, 5, 1e-9);
	assert_int_equal(sb_model_stage(s.model, "denoise")->state, SB_STAGE_OPEN);
	assert_int_equal(s.model->diffusion.steps, 1);
	assert_false(s.model->recording.complete);
	/* a file appears whole under its name, and no temporary one stays */
	snprintf(path, sizeof path, "%s.json", s.path);
	assert_int_equal(sb_report_json(s.model, &text), 0);
	assert_int_equal(sb_buf_write_file(&text, path, 0600), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, text.size);
	assert_int_equal(unlink(path), 0);
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* 13. Unescaped tags in HTML (the page: unit/page_test), session ids used as
 * file names and two reports in one second (run folders: unit/recorder_test). */
static void tags_cannot_break_out(void **state)
{
	struct synthetic s;
	char *json, *text;

	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_TAG, "prompt", "\"><script>alert(1)</script>\n\x1b[31m");
	synthetic_stage(&s, 0, SECOND, "</script><b>\x1b[2J", 0);
	synthetic_model(&s, SECOND);
	json = json_of(s.model);
	assert_has(json, "\\\"><script>alert(1)</script>\\n\\u001b[31m");
	text = text_of(s.model);
	assert_null(strchr(text, '\x1b'));
	free(json);
	free(text);
	synthetic_done(&s);
}

/* 14. Empty input without a word. Aggregators and diffs: compare/. */
static void nothing_recorded_is_said_loudly(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	synthetic_model(&s, SECOND);
	assert_int_equal(sb_report_summary(s.model, NULL, &out), 0);
	assert_has(sb_buf_text(&out), "No stage was recorded");
	text = text_of(s.model);
	assert_true(strstr(text, "no zone") || strstr(text, "No zone") || strstr(text, "nothing") ||
		    strstr(text, "Nothing"));
	free(text);
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* 15. Totals that add the average and the deviation; population or sample
 * deviation unnamed; a median that is not one for even counts. FPS that is
 * really clips/s: the benchmark names both (unit/statistics_test, cli bench). */
static void statistics_are_what_they_are_called(void **state)
{
	static const uint64_t took[] = { 4, 1, 3, 2 };
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;
	char *text;

	synthetic_open(&s);
	for (size_t i = 0; i < 4; i++) {
		synthetic_begin(&s, t, "iteration", STROBE_ROLE_ITERATION);
		synthetic_end(&s, t += took[i] * SECOND);
	}
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->iterations.count, 1);
	assert_near(m->iterations.all[0].all.total, 10, 1e-9);
	assert_near(m->iterations.all[0].all.median, 2.5, 1e-9);
	assert_near(m->iterations.all[0].all.std, 1.2909944487, 1e-9); /* n - 1 */
	text = text_of(m);
	assert_has(text, "of a sample, n - 1");
	free(text);
	synthetic_done(&s);
}

/* 16. A grep filter that misses [4f.2], the largest bottleneck. */
static void stage_codes_of_every_depth_can_be_found(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	char *text;

	synthetic_open(&s);
	sb_builder_begin(s.main, 0, sb_builder_name(s.b, "Main inference", "4f"));
	sb_builder_begin(s.main, 0, sb_builder_name(s.b, "Add noise", "4f.1"));
	synthetic_end(&s, 10 * MS);
	sb_builder_begin(s.main, 10 * MS, sb_builder_name(s.b, "UNet+BrushNet+VAE pipeline", "4f.2"));
	synthetic_attr(&s, "steps", 2);
	synthetic_attr(&s, "frames", 1339);
	synthetic_end(&s, 116340 * MS);
	synthetic_end(&s, 116340 * MS);
	m = synthetic_model(&s, 116340 * MS);
	assert_string_equal(m->stages.bottlenecks[0], "UNet+BrushNet+VAE pipeline");
	assert_true(sb_model_stage(m, "UNet+BrushNet+VAE pipeline")->bottleneck);
	text = text_of(m);
	assert_has(text, "[4f.2] UNet+BrushNet+VAE pipeline (");
	assert_has(text, "116.33s");
	assert_has(text, "BOTTLENECK");
	free(text);
	synthetic_done(&s);
}

/* 17. "Optimised" runs that are slower: RAFT 14.02 -> 10.05 s, the whole 281.96
 * -> 299.88 s. Leading with the second fact is the diff's business
 * (unit/compare_test, cli/diff); the model gives it the whole, not the sum. */
static void the_whole_is_the_wall_time_not_the_sum_of_labels(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_begin(s.main, 0, sb_builder_name(s.b, "RAFT optical flow", "3b"));
	synthetic_end(&s, 10050 * MS);
	m = synthetic_model(&s, 299880 * MS);
	assert_near(m->stages.wall_s, 299.88, 1e-9);
	assert_near(m->stages.unattributed_s, 299.88 - 10.05, 1e-9);
	assert_non_null(finding(m, "unattributed"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_and_gpu_time_are_two_numbers),
		cmocka_unit_test(nothing_in_the_recorder_synchronizes),
		cmocka_unit_test(nesting_never_counts_twice),
		cmocka_unit_test(what_labels_leave_out_is_unattributed),
		cmocka_unit_test(frames_are_frames_and_steps_are_per_block),
		cmocka_unit_test(an_hour_at_300_watts_is_300_watt_hours),
		cmocka_unit_test(samples_from_outside_do_not_leak),
		cmocka_unit_test(evictions_are_no_requests_and_frees_no_allocations),
		cmocka_unit_test(no_gpu_and_an_unused_gpu_get_no_advice),
		cmocka_unit_test(what_was_switched_off_is_absent),
		cmocka_unit_test(indexed_names_are_one_row_and_everything_is_bounded),
		cmocka_unit_test(a_killed_run_keeps_what_was_recorded),
		cmocka_unit_test(tags_cannot_break_out),
		cmocka_unit_test(nothing_recorded_is_said_loudly),
		cmocka_unit_test(statistics_are_what_they_are_called),
		cmocka_unit_test(stage_codes_of_every_depth_can_be_found),
		cmocka_unit_test(the_whole_is_the_wall_time_not_the_sum_of_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
