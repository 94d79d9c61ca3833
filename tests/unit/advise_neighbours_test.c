/* Other processes on the GPU: urgent only where they were seen to use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <string.h>

/* Another process whose context was gone before the second video: nothing to tell. */
static void a_process_that_was_there_during_the_start_alone_is_not_named(void **state)
{
	struct synthetic s;
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++) {
		double values[9] = { 12000, 24000, 95, 70, 300, 1980, 0, 12000, t < 2 ? 1 : 0 };

		sb_builder_sample(s.b, schema, t * SECOND, values, 9);
	}
	for (uint64_t i = 0; i < 4; i++)
		synthetic_stage(
			&s, (4 + i * 4) * SECOND, (8 + i * 4) * SECOND, "video", STROBE_ROLE_GENERATION);
	assert_null(finding(synthetic_model(&s, 20 * SECOND), "gpu_shared"));
	synthetic_done(&s);
}

/* Without generations, too. */
static void a_process_that_was_gone_when_the_work_began_is_not_named(void **state)
{
	struct synthetic s;
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++) {
		double values[9] = { 12000, 24000, 95, 70, 300, 1980, 0, 12000, t < 12 ? 2 : 0 };

		sb_builder_sample(s.b, schema, t * SECOND, values, 9);
	}
	synthetic_begin(&s, 0, "import torch", STROBE_ROLE_IMPORT);
	synthetic_end(&s, 12 * SECOND);
	synthetic_stage(&s, 13 * SECOND, 20 * SECOND, "VJEPA2Model", STROBE_ROLE_FORWARD);
	assert_null(finding(synthetic_model(&s, 20 * SECOND), "gpu_shared"));
	synthetic_done(&s);
}

/* As on an H200: the one sample of short videos met the process before, on its way out. */
static void a_process_that_one_sample_saw_is_hardly_worth_a_word(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++) {
		double values[9] = { 12000, 24000, 95, 70, 300, 1980, 0, 12000, t <= 18 ? 2 : 0 };

		sb_builder_sample(s.b, schema, t * SECOND, values, 9);
	}
	for (uint64_t i = 0; i < 4; i++)
		synthetic_stage(&s, 17200 * MS + i * 500 * MS, 17700 * MS + i * 500 * MS, "video",
			STROBE_ROLE_GENERATION);
	f = finding(synthetic_model(&s, 20 * SECOND), "gpu_shared");
	assert_non_null(f);
	assert_string_equal(f->priority, "low");
	assert_non_null(strstr(f->evidence, "in 1 of 2 samples"));
	assert_string_equal(f->confidence, "possible");
	synthetic_done(&s);
}

/* Another process is there all the while, and keeps the GPU busy for so many percent; NAN: the driver does not tell. */
static const struct sb_advice *said_beside(struct synthetic *s, double used_percent)
{
	static const char *const columns[] = { "utilization_percent", "process_memory_mb",
		"other_process_count", "others_utilization_percent" };
	uint32_t schema;

	synthetic_open(s);
	schema = sb_builder_schema(s->b, "gpu", 0, columns, 4);
	for (uint64_t t = 0; t <= 20; t++)
		sb_builder_sample(
			s->b, schema, t * SECOND, (double[]){ 95, 12000, 1, t < 4 ? 100 : used_percent }, 4);
	for (uint64_t i = 0; i < 5; i++)
		synthetic_stage(s, i * 4 * SECOND, (i + 1) * 4 * SECOND, "video", STROBE_ROLE_GENERATION);
	return finding(synthetic_model(s, 20 * SECOND), "gpu_shared");
}

static void others_that_use_the_gpu_are_as_urgent_as_their_use(void **state)
{
	static const struct {
		double used_percent;
		const char *priority, *words;
	} rows[] = { { 43, "high", "and kept it busy for 43 % of the time" },
		{ 12, "medium", "and kept it busy for 12 % of the time" },
		{ 3, "low", "and kept it busy for 3 % of the time" }, { 0, "low", "and computed nothing" },
		{ NAN, "low", "is not known" } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct synthetic s;
		const struct sb_advice *f = said_beside(&s, rows[i].used_percent);

		assert_non_null(f);
		assert_near(f->value, 1, 0);
		assert_string_equal(f->priority, rows[i].priority);
		assert_non_null(strstr(f->cause, rows[i].words));
		assert_string_equal(f->confidence, "certain"); /* that they are there */
		synthetic_done(&s);
	}
}

/* As on an H200: two processes for a third of the time, of which the driver told nothing; else a 0 of no one. */
static void others_of_which_the_driver_told_nothing_may_have_computed(void **state)
{
	static const char *const columns[] = { "utilization_percent", "process_memory_mb",
		"other_process_count", "others_utilization_percent" };
	struct synthetic s;
	const struct sb_advice *f;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, columns, 4);
	for (uint64_t t = 0; t <= 20; t++)
		sb_builder_sample(
			s.b, schema, t * SECOND, (double[]){ 95, 12000, t % 3 ? 0 : 2, t % 3 ? 0 : NAN }, 4);
	for (uint64_t i = 0; i < 5; i++)
		synthetic_stage(&s, i * 4 * SECOND, (i + 1) * 4 * SECOND, "video", STROBE_ROLE_GENERATION);
	f = finding(synthetic_model(&s, 20 * SECOND), "gpu_shared");
	assert_non_null(f);
	assert_null(strstr(f->cause, "computed nothing"));
	assert_non_null(strstr(f->cause, "is not known"));
	synthetic_done(&s);
}

/* Recordings from before the column. */
static void others_of_which_no_use_was_recorded_are_not_urgent(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 20; t++)
		sb_builder_sample(s.b, schema, t * SECOND,
			(double[]){ 12000, 24000, 95, 70, 300, 1980, 0, 12000, 2 }, 9);
	f = finding(synthetic_model(&s, 20 * SECOND), "gpu_shared");
	assert_non_null(f);
	assert_near(f->value, 2, 0);
	assert_string_equal(f->priority, "low");
	assert_non_null(strstr(f->cause, "is not known"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_was_there_during_the_start_alone_is_not_named),
		cmocka_unit_test(a_process_that_was_gone_when_the_work_began_is_not_named),
		cmocka_unit_test(a_process_that_one_sample_saw_is_hardly_worth_a_word),
		cmocka_unit_test(others_of_which_the_driver_told_nothing_may_have_computed),
		cmocka_unit_test(others_that_use_the_gpu_are_as_urgent_as_their_use),
		cmocka_unit_test(others_of_which_no_use_was_recorded_are_not_urgent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
