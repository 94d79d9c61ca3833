/* Moments of which everything is kept: the last ones, as long as something may still arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/kept_moments.h"

static void add(struct sb_kept_moments *moments, uint64_t begin_ticks, uint64_t until_ticks)
{
	sb_kept_moments_add(moments, (struct sb_kept_moment){ begin_ticks, begin_ticks + 1, until_ticks });
}

static void a_full_list_forgets_the_oldest(void **state)
{
	struct sb_kept_moments moments = { 0 };

	(void)state;
	for (uint64_t i = 0; i < SB_KEPT_MOMENTS + 3; i++)
		add(&moments, i, 100);
	assert_int_equal(moments.count, SB_KEPT_MOMENTS);
	assert_int_equal(moments.all[0].begin_ticks, 3);
	assert_int_equal(moments.all[SB_KEPT_MOMENTS - 1].begin_ticks, SB_KEPT_MOMENTS + 2);
}

static void a_moment_is_forgotten_when_its_time_has_passed(void **state)
{
	struct sb_kept_moments moments = { 0 };

	(void)state;
	add(&moments, 1, 30);
	add(&moments, 2, 10);
	add(&moments, 3, 20);
	sb_kept_moments_forget(&moments, 15);
	assert_int_equal(moments.count, 2);
	assert_int_equal(moments.all[0].begin_ticks, 1);
	assert_int_equal(moments.all[1].begin_ticks, 3);
	sb_kept_moments_forget(&moments, 30);
	assert_int_equal(moments.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_list_forgets_the_oldest),
		cmocka_unit_test(a_moment_is_forgotten_when_its_time_has_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
