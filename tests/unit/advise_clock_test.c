/* What the clock tells of short runs, in which few samples lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <string.h>

enum { TID = 1000, VIDEOS = 5, STEPS = 4 };
#define APART (1500 * MS) /* from one video's begin to the next one's */

/* Videos of a second, half a second apart; steps of 100 ms with pauses of 100 ms. */
static void put_videos(struct synthetic *s)
{
	synthetic_open(s);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * APART, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++) {
			uint64_t at = i * APART + k * 250 * MS;

			synthetic_begin(s, at, "step", STROBE_ROLE_STEP);
			synthetic_stage(s, at, at + 90 * MS, "transformer", 0);
			synthetic_end(s, at + 100 * MS);
			synthetic_stage(s, at + 110 * MS, at + 210 * MS, "between_steps", 0);
		}
		synthetic_end(s, i * APART + SECOND);
	}
}

static void see(struct synthetic *s, const char *function, uint32_t line, uint64_t at, uint32_t weight_us)
{
	struct sb_builder_sample sample = { .tid = TID, .weight_us = weight_us };
	uint32_t own = sb_builder_name(s->b, function, NULL);

	sb_builder_code_file(s->b, own, "/srv/main.py");
	sb_builder_stack_sample(s->b, at, &sample, &own, &line, 1);
}

static void pauses_that_the_clock_knows_need_one_sample(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;
	uint32_t gpu;

	(void)state;
	put_videos(&s);
	see(&s, "main.on_step", 38, APART + 180 * MS, 50000);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t < VIDEOS * APART; t += 100 * MS)
		synthetic_gpu_sample(&s, gpu, t, 4000, 40, 200);
	m = synthetic_model(&s, VIDEOS * APART);
	f = finding(m, "python_between_steps");
	assert_non_null(f);
	assert_int_equal(f->where.line, 38);
	assert_string_equal(f->confidence, "possible");
	assert_near(f->saves_s, 4 * 0.4, 1e-6);
	assert_non_null(strstr(f->evidence, "one sample found this line"));
	assert_string_equal(m->summary.bound_by, "cpu");
	assert_non_null(strstr(m->summary.bound_reason, "the GPU waits for Python for"));
	synthetic_done(&s);
}

static void two_functions_with_a_sample_each_are_chance(void **state)
{
	struct synthetic s;

	(void)state;
	put_videos(&s);
	see(&s, "main.on_step", 38, APART + 180 * MS, 50000);
	see(&s, "main.others", 60, 2 * APART + 180 * MS, 50000);
	assert_null(finding(synthetic_model(&s, VIDEOS * APART), "python_between_steps"));
	synthetic_done(&s);
}

static void time_between_videos_that_the_clock_knows_needs_one_sample(void **state)
{
	const struct sb_advice *f;
	struct synthetic s;

	(void)state;
	put_videos(&s);
	see(&s, "main.sharpen", 18, APART + 1480 * MS, 450000);
	f = finding(synthetic_model(&s, VIDEOS * APART), "between_generations");
	assert_non_null(f);
	assert_int_equal(f->where.line, 18);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_that_the_clock_knows_need_one_sample),
		cmocka_unit_test(two_functions_with_a_sample_each_are_chance),
		cmocka_unit_test(time_between_videos_that_the_clock_knows_needs_one_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
