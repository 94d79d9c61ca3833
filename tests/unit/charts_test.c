/* How samples are drawn, and what the GPU is called: decided in the model, not on the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

static const struct sb_chart_column *rule_of(const struct sb_model *m, const char *source, const char *column)
{
	for (size_t i = 0; i < m->charts.column_count; i++)
		if (!strcmp(m->charts.columns[i].source, source) &&
			!strcmp(m->charts.columns[i].column, column))
			return &m->charts.columns[i];
	return NULL;
}

static void sample(struct synthetic *s, uint32_t schema, uint64_t t_ns, double a, double b)
{
	sb_builder_sample(s->b, schema, t_ns, (double[]){ a, b }, 2);
}

static void columns_that_stand_apart_are_named(void **state)
{
	static const char *const gpu[] = { "throttle_bits_count", "memory_total_mb" };
	static const char *const cpu[] = { "usage_percent", "process_percent" };
	static const char *const own[] = { "frames_total", "queue_count" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schemas[3];

	synthetic_open(&s);
	schemas[0] = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	schemas[1] = sb_builder_schema(s.b, "cpu", -1, cpu, 2);
	schemas[2] = sb_builder_schema(s.b, "own", -1, own, 2);
	for (uint64_t i = 0; i < 4; i++) {
		sample(&s, schemas[0], i * SECOND, (double)i, 1000);
		sample(&s, schemas[1], i * SECOND, 50, 390);
		sample(&s, schemas[2], i * SECOND, (double)i, 1);
	}
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(rule_of(m, "gpu", "throttle_bits_count")->chart, "none");
	assert_string_equal(rule_of(m, "gpu", "memory_total_mb")->chart, "none");
	assert_int_equal(rule_of(m, "gpu", "memory_total_mb")->device, 0);
	assert_string_equal(rule_of(m, "cpu", "process_percent")->chart, "own");
	assert_non_null(rule_of(m, "cpu", "process_percent")->label);
	assert_string_equal(rule_of(m, "own", "frames_total")->chart, "own");
	assert_null(rule_of(m, "cpu", "usage_percent"));
	assert_null(rule_of(m, "own", "queue_count"));
	synthetic_done(&s);
}

static void the_gpus_that_were_used_are_named_and_counted(void **state)
{
	static const struct {
		int devices;
		double utilization[3];
		const char *name;
	} cases[] = { { 1, { 90 }, "NVIDIA H200" }, { 3, { 90, 0, 80 }, "2 x NVIDIA H200" },
		{ 2, { 0, 0 }, "2 x NVIDIA H200" }, { 0, { 0 }, NULL } };
	struct synthetic s;
	struct sb_model *m;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		synthetic_open(&s);
		for (int d = 0; d < cases[i].devices; d++) {
			char key[24];

			snprintf(key, sizeof key, "gpu%d.name", d);
			sb_builder_meta_string(s.b, SB_META_SYSTEM, key, "NVIDIA H200");
			for (uint64_t t = 0; t < 4; t++)
				synthetic_gpu_sample(&s, synthetic_gpu(&s, d), t * SECOND,
					cases[i].utilization[d] * 10, cases[i].utilization[d], 100);
		}
		m = synthetic_model(&s, 4 * SECOND);
		if (cases[i].name)
			assert_string_equal(m->summary.gpu_name, cases[i].name);
		else
			assert_null(m->summary.gpu_name);
		synthetic_done(&s);
	}
}

static void a_trace_without_samples_says_its_gpu(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_SYSTEM, "gpu0", "NVIDIA A100");
	m = synthetic_model(&s, SECOND);
	assert_string_equal(m->summary.gpu_name, "NVIDIA A100");
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_that_stand_apart_are_named),
		cmocka_unit_test(the_gpus_that_were_used_are_named_and_counted),
		cmocka_unit_test(a_trace_without_samples_says_its_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
