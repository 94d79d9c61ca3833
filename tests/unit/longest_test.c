#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stats/longest.h"

struct item {
	int number;
	double duration_s;
};

static struct item kept[4]; /* one more than the list may have: it has to stay as it is */
static size_t count;
static const struct sb_longest list = { kept, sizeof *kept, offsetof(struct item, duration_s), 3 };

static void offer(int number, double duration_s)
{
	struct item *place = sb_longest_place(&list, &count, duration_s);

	if (place)
		*place = (struct item){ number, duration_s };
}

static int clear(void **state)
{
	kept[3] = (struct item){ -1, -1 };
	count = 0;
	return 0;
}

static void the_longest_stay_in_order(void **state)
{
	static const double all_s[] = { 2, 5, 1, 4, 3, 0.5, 6 };

	for (int i = 0; i < 7; i++)
		offer(i, all_s[i]);
	assert_int_equal(count, 3);
	assert_int_equal(kept[0].number, 6);
	assert_int_equal(kept[1].number, 1);
	assert_int_equal(kept[2].number, 3);
	assert_int_equal(kept[3].number, -1);
}

static void of_equals_the_earlier_is_first_and_stays(void **state)
{
	for (int i = 0; i < 5; i++)
		offer(i, 1);
	assert_int_equal(count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(kept[i].number, i);
	assert_null(sb_longest_place(&list, &count, 1));
}

static void a_list_that_is_not_full_takes_the_shortest(void **state)
{
	offer(0, 3);
	offer(1, 1);
	assert_int_equal(count, 2);
	assert_int_equal(kept[1].number, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_longest_stay_in_order, clear),
		cmocka_unit_test_setup(of_equals_the_earlier_is_first_and_stays, clear),
		cmocka_unit_test_setup(a_list_that_is_not_full_takes_the_shortest, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
