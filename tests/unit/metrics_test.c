/* What a scrape says of a run, and that docs and dashboard speak of the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "serve/follow.h"
#include "serve/metrics.h"
#include "synthetic.h"

#include <ctype.h>

#define START_NS (1700000000 * SECOND)

static void scrape_as(
	bool open_metrics, const char *id, const char *path, size_t stages_max, struct sb_buf *out)
{
	struct sb_exposition e = { .open_metrics = open_metrics };
	struct sb_follow f;
	const struct sb_tally *tallies[] = { &f.tally };
	struct sb_metrics_run run = { .id = id,
		.job = "j7",
		.name = "n",
		.host = "h",
		.rank = 3,
		.world_size = 8,
		.start_real_ns = START_NS,
		.readable = true,
		.tallies = tallies,
		.tally_count = 1,
		.stages_max = stages_max };

	assert_int_equal(sb_follow_init(&f, path), 0);
	assert_int_equal(sb_follow_look(&f), 0);
	sb_metrics_add(&e, &run);
	sb_exposition_write(&e, out);
	sb_exposition_done(&e);
	sb_follow_done(&f);
}

static void scrape(const char *path, size_t stages_max, struct sb_buf *out)
{
	scrape_as(false, "r", path, stages_max, out);
}

static void has(const struct sb_buf *text, const char *line)
{
	if (!strstr(text->data, line))
		fail_msg("no line '%s' in:\n%s", line, text->data);
}

#define RANK "run=\"r\",job=\"j7\",rank=\"3\",world_size=\"8\""

static void memory_is_in_bytes_and_totals_are_counters(void **state)
{
	static const char *const disk[] = { "read_bytes" };
	static const char *const cores[] = { "core0_percent", "core1_percent" };
	static const char *const fresh[] = { "sm_active_percent" };
	struct synthetic s;
	struct sb_buf out = { 0 };
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 2);
	synthetic_gpu_sample(&s, schema, MS, 2000, 50, 300);
	synthetic_gpu_sample(&s, schema, 2 * MS, 1000, 50, 300);
	schema = sb_builder_schema(s.b, "disk", -1, disk, 1);
	sb_builder_sample(s.b, schema, MS, (double[]){ 4096 }, 1);
	schema = sb_builder_schema(s.b, "cpu_core", -1, cores, 2);
	sb_builder_sample(s.b, schema, MS, (double[]){ 25, 50 }, 2);
	schema = sb_builder_schema(s.b, "newest", -1, fresh, 1);
	sb_builder_sample(s.b, schema, MS, (double[]){ 10 }, 1);
	synthetic_model(&s, SECOND);
	scrape(s.path, 200, &out);
	has(&out, "\nstrobe_gpu_memory_used_bytes{" RANK ",device=\"2\"} 1048576000\n");
	has(&out, "\nstrobe_gpu_memory_peak_bytes{" RANK ",device=\"2\"} 2097152000\n");
	has(&out, "\nstrobe_gpu_utilization_ratio{" RANK ",device=\"2\"} 0.5\n");
	has(&out,
		"# TYPE strobe_disk_read_bytes_total counter\nstrobe_disk_read_bytes_total{" RANK "} 4096\n");
	has(&out, "\nstrobe_cpu_core_usage_ratio{" RANK ",core=\"1\"} 0.5\n");
	has(&out, "\nstrobe_newest_sm_active_ratio{" RANK "} 0.1\n");
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void all_counters_have_their_own_names_and_sampled_ones_are_left_out(void **state)
{
	static const char *const all[] = { "fp16_active_percent", "integer_active_percent" };
	static const char *const sampled[] = { "sm_active_percent", "dram_read_bytes_per_s" };
	struct synthetic s;
	struct sb_buf out = { 0 };
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu_counters", 1, all, 2);
	sb_builder_sample(s.b, schema, MS, (double[]){ 10, 20 }, 2);
	schema = sb_builder_schema(s.b, "gpu_pm", 1, sampled, 2);
	sb_builder_sample(s.b, schema, MS, (double[]){ 30, 1e9 }, 2);
	synthetic_model(&s, SECOND);
	scrape(s.path, 200, &out);
	has(&out, "\nstrobe_gpu_fp16_active_ratio{" RANK ",device=\"1\"} 0.1\n");
	has(&out, "\nstrobe_gpu_integer_active_ratio{" RANK ",device=\"1\"} 0.2\n");
	assert_null(strstr(out.data, "strobe_gpu_pm"));
	assert_null(strstr(out.data, "strobe_gpu_counters"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* Older recordings call it sm_occupancy_percent. */
static void the_former_name_of_occupancy_is_read(void **state)
{
	static const char *const former[] = { "sm_active_percent", "sm_occupancy_percent" };
	struct synthetic s;
	struct sb_buf out = { 0 };
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu_counters", 0, former, 2);
	for (uint64_t i = 1; i < 5; i++)
		sb_builder_sample(s.b, schema, i * MS, (double[]){ 80, 25 }, 2);
	synthetic_model(&s, SECOND);
	assert_true(fabs(s.model->gpu_counters.percent[SB_COUNTER_OCCUPANCY] - 25) < 1e-9);
	assert_non_null(
		sb_series_column_find(sb_model_series(s.model, "gpu_counters", 0), "occupancy_percent"));
	scrape(s.path, 200, &out);
	has(&out, "\nstrobe_gpu_occupancy_ratio{" RANK ",device=\"0\"} 0.25\n");
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void a_gpu_that_was_lost_has_no_present_values(void **state)
{
	static const char *const all[] = { "sm_active_percent" };
	struct synthetic s;
	struct sb_buf out = { 0 };
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu_counters", 1, all, 1);
	sb_builder_sample(s.b, schema, MS, (double[]){ 40 }, 1);
	sb_builder_sample(s.b, schema, 2 * MS, (double[]){ NAN }, 1); /* what the monitor writes then */
	schema = sb_builder_schema(s.b, "gpu_counters", 2, all, 1);
	sb_builder_sample(s.b, schema, MS, (double[]){ 40 }, 1);
	synthetic_model(&s, SECOND);
	scrape(s.path, 200, &out);
	has(&out, "\nstrobe_gpu_sm_active_ratio{" RANK ",device=\"2\"} 0.4\n");
	assert_null(strstr(out.data, "strobe_gpu_sm_active_ratio{" RANK ",device=\"1\"}"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void a_step_is_found_by_its_role(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };

	synthetic_open(&s);
	synthetic_begin(&s, 0, "denoise loop body", STROBE_ROLE_STEP);
	synthetic_end(&s, 30 * MS);
	synthetic_model(&s, SECOND);
	scrape(s.path, 200, &out);
	has(&out, "strobe_stage_duration_seconds_bucket{" RANK
		  ",stage=\"denoise loop body\",parent=\"\",role=\"step\",le=\"0.025\"} 0\n");
	has(&out, "strobe_stage_duration_seconds_bucket{" RANK
		  ",stage=\"denoise loop body\",parent=\"\",role=\"step\",le=\"0.05\"} 1\n");
	has(&out, "strobe_stage_duration_seconds_sum{" RANK
		  ",stage=\"denoise loop body\",parent=\"\",role=\"step\"} 0.03\n");
	has(&out, "\nstrobe_steps_total{" RANK "} 1\n");
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* Two calls in one bucket, one in another: each bucket has its latest call, where the page shows it. */
static void open_metrics_has_the_latest_call_of_each_bucket(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };

	synthetic_open_at(&s, START_NS);
	synthetic_stage(&s, 0, 30 * MS, "a", 0);
	synthetic_stage(&s, SECOND, SECOND + 40 * MS, "a", 0);
	synthetic_stage(&s, 2 * SECOND, 4 * SECOND, "a", 0);
	synthetic_model(&s, 5 * SECOND);
	scrape_as(true, "a run", s.path, 200, &out);
	has(&out, ",stage=\"a\",parent=\"\",role=\"stage\",le=\"0.025\"} 0\n");
	has(&out, "le=\"0.05\"} 2 # {page=\"a%20run#view=1000000000_1040000000\"} 0.04 1700000001.040\n");
	has(&out, "le=\"1.0\"} 2\n");
	has(&out, "le=\"2.5\"} 3 # {page=\"a%20run#view=2000000000_4000000000\"} 2 1700000004.000\n");
	sb_buf_done(&out);
	scrape(s.path, 200, &out);
	assert_null(strstr(out.data, " # {")); /* who did not ask for OpenMetrics cannot read them */
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* OpenMetrics allows 128 characters. */
static void an_address_that_is_too_long_is_left_out(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };
	char id[200];

	memset(id, 'i', sizeof id);
	id[sizeof id - 1] = '\0';
	synthetic_open_at(&s, START_NS);
	synthetic_stage(&s, 0, 30 * MS, "a", 0);
	synthetic_model(&s, SECOND);
	scrape_as(true, id, s.path, 200, &out);
	has(&out, "le=\"0.05\"} 1 # {} 0.03 1700000000.030\n");
	sb_buf_done(&out);
	synthetic_done(&s);
}

static size_t count_of(const struct sb_buf *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text->data; (at = strstr(at, part)); at++)
		count++;
	return count;
}

static void stages_past_the_limit_are_one(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };
	char name[8] = "a_";

	synthetic_open(&s);
	for (uint64_t i = 0; i < 20; i++) {
		name[1] = (char)('a' + i);
		synthetic_stage(&s, i * 100 * MS, i * 100 * MS + (i + 1) * MS, name, 0);
	}
	synthetic_model(&s, 3 * SECOND);
	scrape(s.path, 5, &out);
	assert_int_equal(count_of(&out, "strobe_stage_duration_seconds_count{"), 6);
	has(&out, "strobe_stage_duration_seconds_count{" RANK
		  ",stage=\"(other)\",parent=\"(other)\",role=\"stage\"} 15\n");
	has(&out, "strobe_stages_left_out{" RANK "} 15\n");
	has(&out, "stage=\"at\""); /* the longest */
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* c under b under a, and c under b under x: two stages, one set of labels. */
static void no_series_comes_twice(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };

	synthetic_open(&s);
	for (uint64_t i = 0; i < 2; i++) {
		synthetic_begin(&s, i * SECOND, i ? "a" : "x", 0);
		synthetic_begin(&s, i * SECOND, "b", 0);
		synthetic_stage(&s, i * SECOND, i * SECOND + MS, "c", 0);
		synthetic_end(&s, i * SECOND + 2 * MS);
		synthetic_end(&s, i * SECOND + 3 * MS);
	}
	synthetic_model(&s, 3 * SECOND);
	scrape(s.path, 200, &out);
	assert_int_equal(count_of(&out, "strobe_stage_duration_seconds_count{" RANK ",stage=\"c\""), 1);
	has(&out,
		"strobe_stage_duration_seconds_count{" RANK ",stage=\"c\",parent=\"b\",role=\"stage\"} 2\n");
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* ---- the table, the docs, the dashboard ---- */

static bool is_metric(const char *name, size_t size)
{
	static const char *const endings[] = { "", "_bucket", "_sum", "_count" };
	size_t count;
	const struct sb_exposed_metric *table = sb_metrics_table(&count);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < (strcmp(table[i].type, "histogram") ? 1 : 4); k++) {
			char whole[160];

			snprintf(whole, sizeof whole, "%s%s", table[i].name, endings[k]);
			if (strlen(whole) == size && !memcmp(whole, name, size))
				return true;
		}
	return false;
}

static void the_dashboard_draws_only_what_there_is(void **state)
{
	struct sb_buf text = { 0 };
	size_t found = 0;

	assert_int_equal(
		sb_buf_read_file(&text, STROBE_SOURCE_DIR "/docs/grafana-dashboard.json", 1u << 20), 0);
	for (const char *at = text.data; (at = strstr(at, "strobe_"));) {
		size_t size = 0;

		while (isalnum((unsigned char)at[size]) || at[size] == '_')
			size++;
		if (!is_metric(at, size))
			fail_msg("the dashboard asks for %.*s, which no table has", (int)size, at);
		found++;
		at += size;
	}
	assert_true(found > 15);
	sb_buf_done(&text);
}

static void the_dashboard_draws_every_metric(void **state)
{
	struct sb_buf text = { 0 };
	size_t count;
	const struct sb_exposed_metric *table = sb_metrics_table(&count);

	assert_int_equal(
		sb_buf_read_file(&text, STROBE_SOURCE_DIR "/docs/grafana-dashboard.json", 1u << 20), 0);
	for (size_t i = 0; i < count; i++)
		if (!strstr(text.data, table[i].name))
			fail_msg("the dashboard does not draw %s: make generate", table[i].name);
	sb_buf_done(&text);
}

static void the_docs_name_every_metric(void **state)
{
	struct sb_buf text = { 0 };
	size_t count;
	const struct sb_exposed_metric *table = sb_metrics_table(&count);

	assert_int_equal(sb_buf_read_file(&text, STROBE_SOURCE_DIR "/docs/serve.md", 1u << 20), 0);
	for (size_t i = 0; i < count; i++) {
		char row[200];

		snprintf(row, sizeof row, "| `%s` | %s |", table[i].name, table[i].type);
		has(&text, row);
	}
	sb_buf_done(&text);
}

static void counters_and_only_they_end_in_total(void **state)
{
	size_t count;
	const struct sb_exposed_metric *table = sb_metrics_table(&count);

	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(table[i].name);
		bool total = size > 6 && !strcmp(table[i].name + size - 6, "_total");

		assert_int_equal(total, !strcmp(table[i].type, "counter"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_in_bytes_and_totals_are_counters),
		cmocka_unit_test(the_former_name_of_occupancy_is_read),
		cmocka_unit_test(all_counters_have_their_own_names_and_sampled_ones_are_left_out),
		cmocka_unit_test(a_gpu_that_was_lost_has_no_present_values),
		cmocka_unit_test(a_step_is_found_by_its_role),
		cmocka_unit_test(open_metrics_has_the_latest_call_of_each_bucket),
		cmocka_unit_test(an_address_that_is_too_long_is_left_out),
		cmocka_unit_test(stages_past_the_limit_are_one),
		cmocka_unit_test(no_series_comes_twice),
		cmocka_unit_test(the_dashboard_draws_only_what_there_is),
		cmocka_unit_test(the_dashboard_draws_every_metric),
		cmocka_unit_test(the_docs_name_every_metric),
		cmocka_unit_test(counters_and_only_they_end_in_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
