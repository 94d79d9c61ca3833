/* Which Python functions ran while a traced GPU had nothing to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

enum { TID = 1000 };

static void stack(struct synthetic *s, uint64_t t_ns, const char *function, uint32_t line)
{
	uint32_t name = sb_builder_name(s->b, function, NULL);
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 50000 };

	sb_builder_code_file(s->b, name, "/srv/pipe.py");
	sb_builder_stack_sample(s->b, t_ns, &sample, &name, &line, 1);
}

/* The GPU works in the first half of each of four seconds and the sampler looks at 0.25 and 0.75 s: `launch` then and
 * `prepare` between. The trace saw the first three seconds. */
static struct sb_model *traced(struct synthetic *s, uint64_t seconds)
{
	synthetic_open(s);
	synthetic_stage(s, 0, 4 * SECOND, "video", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < seconds; i++)
		synthetic_kernel(s, "gemm", i * SECOND, SECOND / 2);
	synthetic_kernel(s, "gemm", seconds * SECOND - MS, MS);
	for (uint64_t i = 0; i < 4; i++) {
		stack(s, i * SECOND + 250 * MS, "pipe.launch", 10);
		stack(s, i * SECOND + 750 * MS, i == 1 ? "pipe.save" : "pipe.prepare", 20);
	}
	synthetic_gpu_trace(s, 0, seconds * SECOND);
	return synthetic_model(s, 4 * SECOND);
}

static void functions_in_the_gaps_of_a_trace_are_named(void **state)
{
	struct synthetic s;
	const struct sb_gpu_panel *g = &traced(&s, 3)->gpu;

	assert_int_equal(g->idle_sample_count, 3);
	assert_int_equal(g->idle_function_count, 2);
	assert_string_equal(g->idle_functions[0].function, "pipe.prepare");
	assert_string_equal(g->idle_functions[0].file, "/srv/pipe.py");
	assert_int_equal(g->idle_functions[0].line, 20);
	assert_near(g->idle_functions[0].ratio, 2.0 / 3, 1e-9);
	assert_near(g->idle_functions[0].estimate_s, g->idle_s * 2 / 3, 1e-9);
	assert_string_equal(g->idle_functions[1].function, "pipe.save");
	synthetic_done(&s);
}

static void two_samples_name_nothing(void **state)
{
	struct synthetic s;
	const struct sb_gpu_panel *g = &traced(&s, 2)->gpu;

	assert_int_equal(g->idle_function_count, 0);
	assert_int_equal(g->idle_sample_count, 0);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_in_the_gaps_of_a_trace_are_named),
		cmocka_unit_test(two_samples_name_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
