#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/inorder.h"

struct item {
	int key, place;
};

static size_t compared;

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	compared++;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void what_is_in_order_is_looked_at_once_and_left(void **state)
{
	struct item all[64];

	for (int i = 0; i < 64; i++)
		all[i] = (struct item){ i / 2, i };
	compared = 0;
	sb_sort_unless_in_order(all, 64, sizeof all[0], by_key);
	assert_int_equal(compared, 63);
	for (int i = 0; i < 64; i++)
		assert_int_equal(all[i].place, i);
}

static void what_is_not_is_sorted(void **state)
{
	struct item all[64];

	for (int i = 0; i < 64; i++)
		all[i] = (struct item){ (i * 37) % 64, i };
	sb_sort_unless_in_order(all, 64, sizeof all[0], by_key);
	for (int i = 0; i < 64; i++)
		assert_int_equal(all[i].key, i);
	sb_sort_unless_in_order(all, 0, sizeof all[0], by_key);
	sb_sort_unless_in_order(all, 1, sizeof all[0], by_key);
}

static void a_moment_is_found_among_the_items(void **state)
{
	const struct {
		int name;
		int64_t t_ns;
	} all[] = { { 0, 10 }, { 1, 20 }, { 2, 20 }, { 3, 30 } };
	const int64_t *first = &all->t_ns;

	assert_int_equal(sb_first_from(first, sizeof *all, 4, 5), 0);
	assert_int_equal(sb_first_from(first, sizeof *all, 4, 20), 1);
	assert_int_equal(sb_first_after(first, sizeof *all, 4, 20), 3);
	assert_int_equal(sb_first_from(first, sizeof *all, 4, 31), 4);
	assert_int_equal(sb_first_after(first, sizeof *all, 4, INT64_MAX), 4);
	assert_int_equal(sb_first_from(first, sizeof *all, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_order_is_looked_at_once_and_left),
		cmocka_unit_test(a_moment_is_found_among_the_items),
		cmocka_unit_test(what_is_not_is_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
