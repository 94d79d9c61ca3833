/* Moments and the innermost zone around each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/python/moments.h"

struct sample {
	struct sb_moment at;
	uint32_t zone; /* 0: in none */
};

static void claim(struct sb_moments *m, uint32_t zone, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
	struct sb_zone z = { .track = track, .begin_ns = begin_ns, .end_ns = end_ns };
	struct sample *all = m->all;
	uint32_t i = sb_moments_from(m, track, begin_ns);

	while (sb_moments_claim(m, &z, &i)) {
		assert_int_equal(all[i].zone, 0); /* nobody claims twice */
		all[i].zone = zone;
	}
}

static void the_first_zone_that_ends_claims(void **state)
{
	struct sample all[] = { { { 50, 1, 0 }, 0 }, { { 10, 1, 0 }, 0 }, { { 30, 2, 0 }, 0 },
		{ { 30, 1, 0 }, 0 }, { { 90, 1, 0 }, 0 } };
	const uint32_t expected[] = { 2, 1, 2, 0,
		3 }; /* by track and time: 10 30 50 90 of track 1, 30 of track 2 */
	struct sb_moments m = { all, 5, sizeof *all };

	sb_moments_sort(&m);
	claim(&m, 1, 1, 20, 40);
	claim(&m, 2, 1, 0, 60);
	claim(&m, 3, 2, 30, 30);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(all[i].zone, expected[i]);
}

static void none_are_fine(void **state)
{
	struct sb_moments m = { NULL, 0, sizeof(struct sample) };

	sb_moments_sort(&m);
	assert_int_equal(sb_moments_from(&m, 1, 0), 0);
	claim(&m, 1, 1, 0, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_zone_that_ends_claims),
		cmocka_unit_test(none_are_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
