/* Of the seventeen errors that earlier tools of this kind make, those about what was not measured, was lost or is
 * too much. known_errors_test.c has the others. */
#include "known_errors.h"

static char *json_of(const struct sb_model *m)
{
	struct sb_buf out = { 0 };

	assert_int_equal(sb_report_json(m, &out), 0);
	return out.data;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_in_the_recorder_synchronizes),
		cmocka_unit_test(samples_from_outside_do_not_leak),
		cmocka_unit_test(no_gpu_and_an_unused_gpu_get_no_advice),
		cmocka_unit_test(what_was_switched_off_is_absent),
		cmocka_unit_test(indexed_names_are_one_row_and_everything_is_bounded),
		cmocka_unit_test(a_killed_run_keeps_what_was_recorded),
		cmocka_unit_test(tags_cannot_break_out),
		cmocka_unit_test(nothing_recorded_is_said_loudly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
