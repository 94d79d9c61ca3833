/* Start-up: one group before the pipeline; bottleneck, parts and verdict are about what follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/summary.h"
#include "synthetic.h"

/* What a short script does: it imports for seconds, works for an instant, and takes its time to exit. */
static void short_script(struct synthetic *s)
{
	static const char *const cpu[] = { "process_percent" };
	static const char *const gpu[] = { "utilization_percent" };
	uint32_t cpu_schema, gpu_schema;

	synthetic_open(s);
	synthetic_stage(s, 100 * MS, 3800 * MS, "import torch", STROBE_ROLE_IMPORT);
	synthetic_begin(s, 4200 * MS, "request", 0);
	synthetic_end(s, 4330 * MS);
	cpu_schema = sb_builder_schema(s->b, "cpu", -1, cpu, 1);
	gpu_schema = sb_builder_schema(s->b, "gpu", 0, gpu, 1);
	for (uint64_t t = 0; t <= 5; t++) {
		sb_builder_sample(s->b, cpu_schema, t * SECOND, (double[]){ 120 }, 1);
		sb_builder_sample(s->b, gpu_schema, t * SECOND, (double[]){ t == 4 ? 3 : 0 }, 1);
	}
}

static void a_short_script_is_judged_by_its_work_not_by_its_imports(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	short_script(&s);
	m = synthetic_model(&s, 4900 * MS);
	assert_string_equal(m->stages.bottlenecks[0], "request");
	assert_false(sb_model_stage(m, "import torch")->bottleneck);
	assert_true(sb_model_stage(m, "import torch")->startup);
	assert_near(m->summary.startup_end_s, 4.2, 1e-9);
	assert_near(m->summary.judged_s, 0.13, 1e-9);
	assert_string_equal(m->summary.bound_by, "unknown");
	assert_non_null(strstr(m->summary.bound_reason, "130 ms"));
	assert_null(finding(m, "gpu_utilization"));
	assert_int_equal(m->stages.parts[0].kind, SB_TIME_STARTUP);
	assert_near(m->stages.parts[0].part_s, 4.2, 1e-9);
	synthetic_done(&s);
}

static void the_first_screen_has_the_start_up_as_one_row_that_closes_the_sum(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct sb_model *m;

	short_script(&s);
	m = synthetic_model(&s, 4900 * MS);
	assert_int_equal(sb_report_summary(m, NULL, &text), 0);
	assert_non_null(
		strstr(sb_buf_text(&text), "start-up (imports)                     4.200 s   85.7 %\n"));
	assert_non_null(strstr(sb_buf_text(&text), "0.130 s    2.7 %        n/a      1  <- BOTTLENECK"));
	assert_non_null(
		strstr(sb_buf_text(&text), "unattributed                           0.570 s   11.6 %"));
	assert_non_null(strstr(sb_buf_text(&text), "bound: not known (130 ms of work"));
	assert_null(strstr(sb_buf_text(&text), "import torch"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

static void a_longer_run_is_judged_by_samples_after_its_start_up(void **state)
{
	static const char *const cpu[] = { "process_percent" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 10 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 10 * SECOND, 15 * SECOND, "resize", 0);
	schema = sb_builder_schema(s.b, "cpu", -1, cpu, 1);
	for (uint64_t t = 0; t <= 15; t++) /* the import waits for the disk, the work computes */
		sb_builder_sample(s.b, schema, t * SECOND, (double[]){ t < 10 ? 5 : 99 }, 1);
	m = synthetic_model(&s, 15 * SECOND);
	assert_string_equal(m->summary.bound_by, "cpu");
	assert_near(m->summary.cpu_mean_percent, 99, 1e-6);
	synthetic_done(&s);
}

static void without_set_up_before_it_a_run_has_no_start_up(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, SECOND, 2 * SECOND, "resize", 0);
	synthetic_stage(&s, 2 * SECOND, 3 * SECOND, "load_model", 0);
	m = synthetic_model(&s, 4 * SECOND);
	assert_true(isnan(m->summary.startup_end_s));
	assert_false(sb_model_stage(m, "load_model")->startup);
	assert_near(m->summary.judged_s, 4, 1e-9);
	synthetic_done(&s);
}

static void expect_no_bottleneck(const char *name, uint32_t role)
{
	struct synthetic s;
	struct sb_model *m;

	short_script(&s);
	synthetic_begin(&s, 4400 * MS, name, role);
	synthetic_end(&s, 4850 * MS);
	m = synthetic_model(&s, 4900 * MS);
	assert_string_equal(m->stages.bottlenecks[0], "request");
	assert_false(sb_model_stage(m, name)->bottleneck);
	assert_near(m->summary.judged_s, 0.13, 1e-9);
	synthetic_done(&s);
}

static void what_strobe_takes_itself_is_no_bottleneck(void **state)
{
	expect_no_bottleneck("counting", STROBE_ROLE_PROFILER);
	expect_no_bottleneck("strobe: counting FLOPs", 0); /* from before there was the role */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_script_is_judged_by_its_work_not_by_its_imports),
		cmocka_unit_test(the_first_screen_has_the_start_up_as_one_row_that_closes_the_sum),
		cmocka_unit_test(a_longer_run_is_judged_by_samples_after_its_start_up),
		cmocka_unit_test(without_set_up_before_it_a_run_has_no_start_up),
		cmocka_unit_test(what_strobe_takes_itself_is_no_bottleneck),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
