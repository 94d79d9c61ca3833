/* The calls of a stage against the same questions asked of each call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/memory/residency.h"
#include "noise.h"

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

static bool asked_of_each(double t_s)
{
	const struct sb_open_stage *all = c.named.all.items;
	bool in = false;

	for (int i = 0; i < CALLS; i++) {
		double begin_s = (double)all[i].begin_ns / 1e9, end_s = (double)all[i].end_ns / 1e9;

		if (all[i].name == 1)
			continue;
		in |= begin_s <= t_s && end_s >= t_s;
	}
	return in;
}

static void calls_answer_as_each_of_them_does(void **state)
{
	struct sb_stage_calls calls;
	size_t inside = 0;

	seed = 5;
	make_calls();
	assert_true(sb_stage_calls_init(&calls, &c, "denoise"));
	for (int i = -4; i < 2 * SPAN + 40; i++) {
		double t_s = i / 2.0;
		bool in = asked_of_each(t_s);

		assert_int_equal(sb_stage_calls_have(&calls, t_s), in);
		inside += in;
	}
	assert_true(inside > SPAN / 2 && inside < 2 * SPAN);
	sb_stage_calls_done(&calls);
	assert_true(sb_stage_calls_init(&calls, &c, "none"));
	assert_false(sb_stage_calls_have(&calls, 20));
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
