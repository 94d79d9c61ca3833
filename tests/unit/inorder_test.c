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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_order_is_looked_at_once_and_left),
		cmocka_unit_test(what_is_not_is_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
