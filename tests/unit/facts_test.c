/* Facts when memory runs out: said, never taken for success. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/facts.h"

#include <stdlib.h>

void *__libc_realloc(void *p, size_t size);
static bool memory_is_out;

void *realloc(void *p, size_t size)
{
	return memory_is_out ? NULL : __libc_realloc(p, size);
}

static void keys_without_memory_are_a_failure(void **state)
{
	struct sb_facts *f = sb_facts_new("run");
	int err;

	assert_non_null(f);
	f->stages = calloc(2, sizeof *f->stages);
	f->stage_count = 2;
	f->stages[0] = (struct sb_fact_stage){ .name = "load", .parent = -1 };
	f->stages[1] = (struct sb_fact_stage){ .name = "weights", .parent = 0 };
	memory_is_out = true;
	err = sb_facts_key_stages(f);
	memory_is_out = false;
	assert_int_equal(err, STROBE_ENOMEM);
	assert_int_equal(sb_facts_key_stages(f), 0);
	assert_string_equal(f->stages[1].key, "load/weights");
	sb_facts_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_without_memory_are_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
