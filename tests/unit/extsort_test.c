/* Sorting more records than memory holds: order, stability, one and many loads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/extsort.h"

struct record {
	uint64_t key[3];
	uint64_t order; /* of addition */
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void check(size_t count, size_t memory_bytes, unsigned key_range)
{
	struct sb_extsort *s = NULL;
	struct record before = { 0 };
	const struct record *r;
	uint64_t seed = 1, sum = 0;
	size_t seen = 0;

	assert_int_equal(sb_extsort_new(sizeof before, memory_bytes, NULL, &s), 0);
	for (size_t i = 0; i < count; i++) {
		struct record add = { { next_random(&seed) % key_range, next_random(&seed) % key_range, 0 },
			i };

		assert_int_equal(sb_extsort_add(s, &add), 0);
	}
	assert_int_equal(sb_extsort_count(s), count);
	assert_int_equal(sb_extsort_finish(s), 0);
	while ((r = sb_extsort_next(s))) {
		if (seen) {
			assert_true(before.key[0] <= r->key[0]);
			if (before.key[0] == r->key[0])
				assert_true(before.key[1] <= r->key[1]);
			if (before.key[0] == r->key[0] && before.key[1] == r->key[1])
				assert_true(before.order < r->order);
		}
		before = *r;
		sum += r->order;
		seen++;
	}
	assert_int_equal(sb_extsort_error(s), 0);
	assert_int_equal(seen, count);
	assert_int_equal(sum, count ? count * (count - 1) / 2 : 0);
	assert_null(sb_extsort_next(s));
	sb_extsort_free(s);
}

static void everything_in_memory_comes_out_in_order(void **state)
{
	check(0, 1 << 20, 10);
	check(1, 1 << 20, 10);
	check(5000, 1 << 20, 7);
	check(5000, 1 << 20, 1000000);
}

static void many_loads_are_merged_and_equal_keys_keep_their_order(void **state)
{
	check(100000, 1 << 16, 5);
	check(100000, 1 << 16, 1000000);
	check(1024, 1 << 16, 5); /* exactly one load and no rest */
	check(1025, 1 << 16, 5);
}

/* Keys whose span leaves no room for the second word's low bits, or for nothing but them. */
static void keys_of_any_span_come_out_in_order(void **state)
{
	for (unsigned high = 0; high <= 64; high += 16)
		for (unsigned low = 0; low <= 64; low += 16) {
			struct sb_extsort *s = NULL;
			struct record before = { 0 };
			const struct record *r;
			uint64_t seed = 7;
			size_t seen = 0;

			assert_int_equal(sb_extsort_new(sizeof before, 1 << 20, NULL, &s), 0);
			for (size_t i = 0; i < 2000; i++) {
				uint64_t a = next_random(&seed) << 33 ^ next_random(&seed) << 2;
				uint64_t b = next_random(&seed) << 33 ^ next_random(&seed) << 2;
				struct record add = {
					{ high ? a >> (64 - high) : 5, low ? b >> (64 - low) : 9, i % 3 }, i
				};

				assert_int_equal(sb_extsort_add(s, &add), 0);
			}
			assert_int_equal(sb_extsort_finish(s), 0);
			while ((r = sb_extsort_next(s))) {
				int order = 0;

				for (int w = 0; w < 3 && !order; w++)
					order = (before.key[w] > r->key[w]) - (before.key[w] < r->key[w]);
				if (seen++)
					assert_true(order < 0 || (!order && before.order < r->order));
				before = *r;
			}
			assert_int_equal(seen, 2000);
			sb_extsort_free(s);
		}
}

static void a_folder_that_is_not_there_is_named(void **state)
{
	struct sb_extsort *s = NULL;
	struct record r = { { 0 }, 0 };
	int err = 0;

	assert_int_equal(sb_extsort_new(sizeof r, 1024, "/no/such/folder", &s), 0);
	for (int i = 0; i < 100 && !err; i++)
		err = sb_extsort_add(s, &r);
	assert_int_equal(err, STROBE_ENOENT);
	assert_string_equal(sb_error_message(),
		"cannot make a temporary file in '/no/such/folder': No such file or directory");
	sb_extsort_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_in_memory_comes_out_in_order),
		cmocka_unit_test(many_loads_are_merged_and_equal_keys_keep_their_order),
		cmocka_unit_test(keys_of_any_span_come_out_in_order),
		cmocka_unit_test(a_folder_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
