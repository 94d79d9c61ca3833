/* The calls of a stage against the same questions asked of each call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/memory/residency.h"
#include "noise.h"

#include <math.h>

enum { CALLS = 300, SPAN = 1000 };

static struct sb_run_name names[] = { { .text = "denoise" }, { .text = "vae" }, { .text = "denoise" } };
static struct sb_run run = { .names = names };
static struct sb_residency_collected c = { .run = &run };

static int64_t below(int most)
{
	return (int64_t)(uniform() * most);
}

/* Some inside others, at the same time, of no length; a long one early. */
static void make_calls(void)
{
	for (int i = 0; i < CALLS; i++) {
		struct sb_open_stage *s = sb_vec_push(&c.named.all, sizeof *s);
		int64_t begin = i == 7 ? 10 : below(SPAN), length = i == 7 ? 400 : below(9);

		*s = (struct sb_open_stage){ begin * 1000000000, (begin + length) * 1000000000,
			(uint32_t)i % 3, 0, 0, 0 };
	}
}

static double asked_of_each(double from_s, double to_s, bool *out_in)
{
	const struct sb_open_stage *all = c.named.all.items;
	double sum = 0;

	*out_in = false;
	for (int i = 0; i < CALLS; i++) {
		double begin_s = (double)all[i].begin_ns / 1e9, end_s = (double)all[i].end_ns / 1e9;

		if (all[i].name == 1)
			continue;
		*out_in |= begin_s <= from_s && end_s >= from_s;
		sum += fmax(0, fmin(end_s, to_s) - fmax(begin_s, from_s));
	}
	return sum;
}

static void calls_answer_as_each_of_them_does(void **state)
{
	struct sb_stage_calls calls;
	size_t inside = 0;

	seed = 5;
	make_calls();
	assert_true(sb_stage_calls_init(&calls, &c, "denoise"));
	for (int i = -4; i < 2 * SPAN + 40; i++) {
		double from_s = i / 2.0, to_s = from_s + (double)below(20);
		bool in;
		double sum = asked_of_each(from_s, to_s, &in);

		assert_int_equal(sb_stage_calls_have(&calls, from_s), in);
		assert_true(sb_stage_calls_overlap_s(&calls, from_s, to_s) == sum);
		inside += in;
	}
	assert_true(inside > SPAN / 2 && inside < 2 * SPAN);
	sb_stage_calls_done(&calls);
	assert_true(sb_stage_calls_init(&calls, &c, "none"));
	assert_false(sb_stage_calls_have(&calls, 20));
	assert_true(sb_stage_calls_overlap_s(&calls, 0, SPAN) == 0);
	sb_stage_calls_done(&calls);
	sb_vec_done(&c.named.all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_answer_as_each_of_them_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
