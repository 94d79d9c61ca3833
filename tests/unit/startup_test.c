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
	assert_non_null(strstr(sb_buf_text(&text), "0.130 s    2.7 %        n/a      1  <- LARGEST STAGE"));
	assert_non_null(
		strstr(sb_buf_text(&text), "unattributed                           0.570 s   11.6 %"));
	assert_non_null(strstr(sb_buf_text(&text), "bound: not known (130 ms of work"));
	assert_null(strstr(sb_buf_text(&text), "import torch"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* torch loads parts of itself when they are asked for: the optimizer's first step, torch.compile. */
static void an_import_that_goes_on_later_is_start_up_until_the_work_begins(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 1 * SECOND, 9 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 10 * SECOND, 12 * SECOND, "Net", 0);
	synthetic_stage(&s, 14 * SECOND, 15 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 15 * SECOND, 16 * SECOND, "Net", 0);
	m = synthetic_model(&s, 20 * SECOND);
	assert_near(m->summary.startup_end_s, 10, 1e-9);
	assert_near(m->stages.startup_unattributed_s, 2, 1e-3);
	assert_int_equal(m->stages.parts[0].kind, SB_TIME_STARTUP);
	assert_near(m->stages.parts[0].part_s, 10, 1e-3);
	assert_int_equal(sb_report_summary(m, NULL, &text), 0);
	assert_non_null(
		strstr(sb_buf_text(&text), "start-up (imports)                     10.00 s   50.0 %\n"));
	assert_non_null(
		strstr(sb_buf_text(&text), "import torch                            1.00 s    5.0 %"));
	assert_non_null(
		strstr(sb_buf_text(&text), "unattributed                            6.00 s   30.0 %"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

/* accelerate launch, python -m wrappers: the main thread imports and waits, a child of it imports and works. */
static void the_imports_of_a_launcher_and_of_its_child_are_start_up(void **state)
{
	struct sb_stream_writer *child;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 4 * SECOND, "import accelerate", STROBE_ROLE_IMPORT);
	child = sb_builder_thread(s.b, 77, "child");
	sb_builder_begin(child, 5 * SECOND, sb_builder_name(s.b, "import torch", NULL));
	sb_builder_role(child, STROBE_ROLE_IMPORT);
	sb_builder_end(child, 10 * SECOND, 0);
	sb_builder_begin(child, 11 * SECOND, sb_builder_name(s.b, "Net", NULL));
	sb_builder_end(child, 12 * SECOND, 0);
	sb_builder_thread_done(child);
	m = synthetic_model(&s, 13 * SECOND);
	assert_near(m->summary.startup_end_s, 11, 1e-9);
	assert_true(sb_model_stage(m, "import accelerate")->startup &&
		    sb_model_stage(m, "import torch")->startup);
	assert_false(sb_model_stage(m, "import torch")->bottleneck);
	assert_false(sb_model_stage(m, "Net")->other_thread);
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

/* A minute of loading, then a video of a second in which two stages share the time; writing it takes longer. */
static void loads_then_makes_a_video(struct synthetic *s)
{
	synthetic_open(s);
	synthetic_stage(s, 0, 60 * SECOND, "load weights", STROBE_ROLE_LOAD);
	synthetic_begin(s, 60 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(s, 60 * SECOND, 60600 * MS, "denoise", 0);
	synthetic_stage(s, 60600 * MS, 60950 * MS, "vae_decode", 0);
	synthetic_end(s, 61 * SECOND);
	synthetic_stage(s, 61 * SECOND, 63 * SECOND, "write mp4", 0);
}

static void bottlenecks_are_of_the_generations_and_so_is_the_share_that_makes_a_second_one(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	loads_then_makes_a_video(&s);
	m = synthetic_model(&s, 63 * SECOND);
	assert_near(m->stages.generations_s, 1, 1e-6);
	assert_true(sb_model_stage(m, "denoise")->bottleneck);
	assert_int_equal(sb_model_stage(m, "vae_decode")->bottleneck_level, SB_BOTTLENECK_OTHER);
	assert_true(m->stages.two_bottlenecks);
	/* it takes longer than all generations, and is not what the verdict is about */
	assert_int_equal(sb_model_stage(m, "write mp4")->bottleneck_level, SB_BOTTLENECK_MAJOR);
	assert_false(sb_model_stage(m, "write mp4")->bottleneck);
	synthetic_done(&s);
}

static void advice_gives_the_share_that_the_first_screen_shows(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	loads_then_makes_a_video(&s);
	f = finding(synthetic_model(&s, 63 * SECOND), "stage_dominates");
	assert_non_null(f);
	assert_string_equal(f->issue, "'denoise' takes 60.0 % of the generations");
	assert_non_null(strstr(f->evidence, "0.60 s of 1.00 s"));
	synthetic_done(&s);
}

static void collect_at(struct synthetic *s, uint64_t t_ns, double seconds)
{
	struct strobe_attr took = { "duration_s", STROBE_TYPE_FLOAT, { .f = seconds } };

	sb_builder_event(s->b, t_ns, "garbage collection", 0, &took, 1);
}

static void collections_while_importing_cost_the_work_nothing(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	short_script(&s);
	collect_at(&s, 2 * SECOND, 0.5);
	assert_null(finding(synthetic_model(&s, 4900 * MS), "garbage_collection"));
	synthetic_done(&s);
	short_script(&s);
	collect_at(&s, 4250 * MS, 0.026);
	f = finding(synthetic_model(&s, 4900 * MS), "garbage_collection");
	assert_non_null(f);
	assert_string_equal(f->issue, "garbage collection takes 20 % of the time after the start-up");
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_script_is_judged_by_its_work_not_by_its_imports),
		cmocka_unit_test(the_first_screen_has_the_start_up_as_one_row_that_closes_the_sum),
		cmocka_unit_test(a_longer_run_is_judged_by_samples_after_its_start_up),
		cmocka_unit_test(without_set_up_before_it_a_run_has_no_start_up),
		cmocka_unit_test(what_strobe_takes_itself_is_no_bottleneck),
		cmocka_unit_test(
			bottlenecks_are_of_the_generations_and_so_is_the_share_that_makes_a_second_one),
		cmocka_unit_test(an_import_that_goes_on_later_is_start_up_until_the_work_begins),
		cmocka_unit_test(the_imports_of_a_launcher_and_of_its_child_are_start_up),
		cmocka_unit_test(advice_gives_the_share_that_the_first_screen_shows),
		cmocka_unit_test(collections_while_importing_cost_the_work_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
