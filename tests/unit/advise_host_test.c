/* The rules about the host: memory that grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

/* Generations one after the other from 10 s on, and the process's memory, read once a second. */
static struct sb_model *model_of(
	struct synthetic *s, uint64_t each_ns, uint64_t count, const double *rss_mb, size_t readings)
{
	static const char *const process[] = { "rss_mb" };
	uint32_t schema;

	synthetic_open(s);
	for (uint64_t i = 0; i < count; i++)
		synthetic_stage(s, 10 * SECOND + i * each_ns, 10 * SECOND + (i + 1) * each_ns, "video",
			STROBE_ROLE_GENERATION);
	schema = sb_builder_schema(s->b, "process", -1, process, 1);
	for (size_t i = 0; i < readings; i++)
		sb_builder_sample(s->b, schema, (9 + i) * SECOND + 500 * MS, &rss_mb[i], 1);
	return synthetic_model(s, 10 * SECOND + count * each_ns + SECOND);
}

static void memory_that_grows_with_each_generation_is_a_leak(void **state)
{
	static const double rss_mb[] = { 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900 };
	struct synthetic s;
	struct sb_model *m = model_of(&s, SECOND, 10, rss_mb, 10);

	assert_non_null(finding(m, "memory_leak"));
	assert_near(finding(m, "memory_leak")->value, 80, 21);
	synthetic_done(&s);
}

/* As on an H200: kernels load and the trace's buffers fill in the first seconds. */
static void memory_that_settles_after_the_first_generations_is_no_leak(void **state)
{
	static const double rss_mb[] = { 513, 740, 1174, 1174 };
	struct synthetic s;
	struct sb_model *m = model_of(&s, 100 * MS, 30, rss_mb, 4);

	assert_null(finding(m, "memory_leak"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_grows_with_each_generation_is_a_leak),
		cmocka_unit_test(memory_that_settles_after_the_first_generations_is_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
