/* What the same step of earlier generations took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/same_step.h"

static struct sb_same_steps steps;

static void add(uint32_t index, uint64_t ticks, uint64_t usual)
{
	assert_int_equal(sb_same_step_add(&steps, 7, index, ticks), usual);
}

static void two_generations_make_it_usual(void **state)
{
	(void)state;
	memset(&steps, 0, sizeof steps);
	add(4, 60, 0);
	add(4, 60, 0);
	add(4, 10, 60);
}

/* Of the last three the one between. */
static void one_accident_is_not_usual(void **state)
{
	(void)state;
	memset(&steps, 0, sizeof steps);
	add(4, 10, 0);
	add(4, 60, 0);
	add(4, 60, 10);
	add(4, 60, 60); /* of 10, 60, 60 */
	add(4, 10, 60);
	add(4, 10, 60); /* of 60, 60, 10 */
	add(4, 10, 10); /* of 60, 10, 10 */
}

static void each_step_has_its_own(void **state)
{
	(void)state;
	memset(&steps, 0, sizeof steps);
	for (int generation = 0; generation < 3; generation++)
		for (uint32_t i = 0; i < 50; i++)
			add(i, 100 + i, generation < 2 ? 0 : 100 + i);
	assert_int_equal(sb_same_step_add(&steps, 8, 4, 1), 0); /* another kind */
	add(1000, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_generations_make_it_usual),
		cmocka_unit_test(one_accident_is_not_usual),
		cmocka_unit_test(each_step_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
