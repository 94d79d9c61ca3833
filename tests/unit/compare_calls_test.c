/* Comparing stages that are called more or less often. */
#include "compare_runs.h"

/* Two calls, the first of them cold, and eighteen: a prompt that is encoded in every step. */
static void a_stage_that_is_called_more_often_is_no_noise(void **state)
{
	struct sb_facts *base = run_of("base", 1), *now = run_of("new", 1.35);
	struct sb_fact_stage *s;
	struct sb_comparison *c;
	struct sb_buf text = { 0 };

	s = stage(base, NULL, "text_encoder", -1, 0.0139, 0.0139);
	s->count = 2;
	s->time = (struct sb_stats){ .count = 2, .mean = 0.00695, .std = 0.012 };
	s = stage(now, NULL, "text_encoder", -1, 0.3596, 0.3596);
	s->count = 18;
	s->time = (struct sb_stats){ .count = 18, .mean = 0.01998, .std = 0.02 };
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, NULL);
	assert_int_equal(c->stages[0].verdict, SB_VERDICT_UNCERTAIN);
	assert_string_equal(c->stages[0].words, "more calls");
	assert_true(explains(c, "text_encoder took 345.7 ms longer"));
	assert_true(explains(c, "in 2 -> 18 calls"));
	sb_diff_text(c, &(struct sb_diff_options){ 0 }, &text);
	assert_null(strstr(sb_buf_text(&text), "noise?"));
	sb_buf_done(&text);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stage_that_is_called_more_often_is_no_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
