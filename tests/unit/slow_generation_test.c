/* Which generation a slow moment lies in, and how much of a sample lies in the moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/run_keys.h"
#include "report/text.h"
#include "synthetic.h"

/* A step from 10 to 12 s, which is slow. */
static void slow_step(struct synthetic *s)
{
	char text[160];
	struct strobe_attr attr = TEXT(SB_RUN_SLOW_MOMENT, text);

	synthetic_step(s, 10 * SECOND, 12 * SECOND, 2, 0);
	snprintf(text, sizeof text, "step clock %llu %llu 0 0 1",
		(unsigned long long)sb_builder_ticks_at(s->b, 10 * SECOND),
		(unsigned long long)sb_builder_ticks_at(s->b, 12 * SECOND));
	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

static void a_moment_says_which_generation_it_lies_in(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_stage(&s, SECOND, 2 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 3 * SECOND, 4 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 7 * SECOND, "video", STROBE_ROLE_GENERATION);
	slow_step(&s);
	synthetic_end(&s, 13 * SECOND);
	assert_int_equal(synthetic_model(&s, 20 * SECOND)->slow_moments.all[0].generation, 3);
	assert_int_equal(sb_report_text(s.model, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "slow step, step_index 2 of generation 3: at 10.00 s"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void generations_beside_each_other_leave_it_open_which_it_was(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_stage(&s, 7 * SECOND, 13 * SECOND, "video", STROBE_ROLE_GENERATION);
	s.main = sb_builder_thread(s.b, 77, "worker");
	synthetic_begin(&s, 7 * SECOND, "video", STROBE_ROLE_GENERATION);
	slow_step(&s);
	synthetic_end(&s, 13 * SECOND);
	assert_int_equal(synthetic_model(&s, 20 * SECOND)->slow_moments.all[0].generation, -1);
	synthetic_done(&s);
}

/* The first sample's time since the last look goes back before the moment began. */
static void a_sample_counts_for_what_of_it_lies_inside(void **state)
{
	const struct sb_builder_sample sample = { .tid = 1000, .weight_us = 900000 };
	const uint32_t line = 41;
	const struct sb_slow_moment *moment;
	const struct sb_slow_part *function;
	struct synthetic s;
	uint32_t name;

	(void)state;
	synthetic_open(&s);
	name = sb_builder_name(s.b, "pipe.on_step", NULL);
	sb_builder_code_file(s.b, name, "/srv/pipe.py");
	slow_step(&s);
	sb_builder_stack_sample(s.b, 10100 * MS, &sample, &name, &line, 1);
	sb_builder_stack_sample(s.b, 11000 * MS, &sample, &name, &line, 1);
	moment = &synthetic_model(&s, 20 * SECOND)->slow_moments.all[0];
	function = &moment->parts[moment->part_count - 1];
	assert_string_equal(function->kind, "function");
	assert_int_equal(function->count, 2);
	assert_true(fabs(function->total_s - 1.0) < 1e-6);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moment_says_which_generation_it_lies_in),
		cmocka_unit_test(generations_beside_each_other_leave_it_open_which_it_was),
		cmocka_unit_test(a_sample_counts_for_what_of_it_lies_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
