/* Memory that ran out because it leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

#define GIB (1024 * MIB)

/* 20 steps that each leave 2 GiB of a GPU's memory behind, and then the request fails. */
static struct sb_model *leaks_until(struct synthetic *s, int64_t each_bytes, bool named)
{
	struct strobe_attr holder[] = { TEXT("of", "device"),
		TEXT("holder", "the list `kept` held 19 objects"), TEXT("file", "/app/steps.py"),
		INT("line", 12) };

	struct strobe_attr error[] = { INT("requested_bytes", 2 * GIB), INT("free_bytes", GIB),
		INT("total_bytes", 80 * GIB), INT("allocated_bytes", 60 * GIB), INT("device", 0),
		TEXT("file", "/app/vae.py") };
	struct strobe_attr weights[] = { TEXT("at", "out_of_memory"),
		TEXT("component", "weights of text_encoder"), INT("bytes", 10 * GIB), INT("device", 0) };

	synthetic_open(s);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t begin_ns = (1 + i) * SECOND;

		synthetic_stage(s, begin_ns, begin_ns + 900 * MS, "step", STROBE_ROLE_STEP);
		sb_builder_snapshot(s->b, begin_ns + 950 * MS, "strobe.memory.device", 0,
			20 * GIB + (int64_t)i * each_bytes, -1, -1);
	}
	if (named)
		sb_builder_event(s->b, 20 * SECOND, "memory_holder", 0, holder, 4);
	sb_builder_event(s->b, 22 * SECOND, SB_EVENT_OUT_OF_MEMORY, 0, error, 6);
	sb_builder_event(s->b, 22 * SECOND + 1000, SB_EVENT_RESIDENT, 0, weights, 4);
	return synthetic_model(s, 23 * SECOND);
}

static void what_leaked_is_the_cause_and_the_line_is_its(void **state)
{
	struct synthetic s;
	struct sb_model *m = leaks_until(&s, 2 * GIB, true);
	const struct sb_advice *f = finding(m, "out_of_memory");

	assert_null(finding(m, "memory_leak"));
	assert_string_equal(f->explains[0], "memory_leak");
	assert_string_equal(f->cause, "memory leaks: the list `kept` held 19 objects");
	assert_non_null(strstr(f->evidence, "grows by 2048.0 MB with every step"));
	assert_non_null(strstr(f->suggestion, "Keep no tensors"));
	assert_string_equal(f->where.file, "/app/steps.py");
	assert_int_equal(f->where.line, 12);
	synthetic_done(&s);
}

static void a_small_leak_is_not_why_memory_ran_out(void **state)
{
	struct synthetic s;
	struct sb_model *m = leaks_until(&s, 100 * MIB, true);

	assert_non_null(finding(m, "memory_leak"));
	assert_non_null(strstr(finding(m, "out_of_memory")->cause, "weights of text_encoder"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_leaked_is_the_cause_and_the_line_is_its),
		cmocka_unit_test(a_small_leak_is_not_why_memory_ran_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
