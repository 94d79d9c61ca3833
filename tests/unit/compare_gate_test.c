/* Gates of a comparison: what fails, what is refused, what is too little to judge. */
#include "compare_runs.h"

static void a_metric_that_went_missing_fails_the_gate(void **state)
{
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 100);
	struct sb_comparison *c;

	base->metrics[SB_METRIC_FPS] = 12;
	c = compare(base, now, "5%");
	assert_true(fails(c, "Frames/s end to end was measured in BASE and is missing in NEW"));
	sb_comparison_free(c);
	c = compare(base, now, "peak_vram=10%");
	assert_true(fails(c, "'peak_vram' is missing in BASE and NEW"));
	sb_comparison_free(c);
	assert_int_equal(refuses(base, now, "vae_decode=10%"), STROBE_EINVAL);
	c = compare(base, now, NULL);
	assert_int_equal(c->failure_count, 0);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void gates_name_stages_and_metrics(void **state)
{
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 100);
	struct sb_comparison *c;

	stage(base, "4c", "vae_decode", -1, 10, 10);
	stage(now, "4c", "vae_decode", -1, 11.5, 11.5);
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	base->metrics[SB_METRIC_GPU_MEMORY_PEAK] = 10e9;
	now->metrics[SB_METRIC_GPU_MEMORY_PEAK] = 10.1e9;
	base->metrics[SB_METRIC_FPS] = 12;
	now->metrics[SB_METRIC_FPS] = 10;
	c = compare(base, now, "vae_decode=10%,peak_memory=2%,fps=20%");
	assert_int_equal(c->failure_count, 1);
	assert_true(fails(c, "[4c] vae_decode"));
	sb_comparison_free(c);
	c = compare(base, now, "[4c]=20%,peak_memory=0.5%,fps=10%");
	assert_int_equal(c->failure_count, 2);
	assert_true(fails(c, "Peak GPU memory"));
	assert_true(fails(c, "Frames/s"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void a_rise_from_nothing_has_no_ratio(void **state)
{
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 100);
	struct sb_comparison *c;

	stage(base, NULL, "add_noise", -1, 0, 0);
	stage(now, NULL, "add_noise", -1, 0.01, 0.01);
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, "add_noise=5%");
	assert_true(fails(c, "add_noise 0 s -> 10.0 ms (from nothing)"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void a_rise_from_almost_nothing_is_called_that(void **state)
{
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 100);
	struct sb_diff_options o = { 0 };
	struct sb_buf out = { 0 };
	struct sb_comparison *c;

	base->metrics[SB_METRIC_GPU_MEMORY_PEAK] = 3.5 * SB_MB;
	now->metrics[SB_METRIC_GPU_MEMORY_PEAK] = 1.38 * SB_GB;
	base->metrics[SB_METRIC_ENERGY] = 0.0024;
	now->metrics[SB_METRIC_ENERGY] = 0.0048;
	c = compare(base, now, NULL);
	sb_diff_text(c, &o, &out);
	assert_non_null(strstr(sb_buf_text(&out), "1.38 GB     x 404  worse, from almost nothing\n"));
	assert_non_null(strstr(sb_buf_text(&out), "0.0024 Wh       0.0048 Wh  +100.0 %"));
	sb_buf_done(&out);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

/* Calls that a report keeps as a mean and a spread. */
static struct sb_facts *spread_of(const char *label, double mean_s, double std_s, int64_t count)
{
	struct sb_facts *f = run_of(label, 1);
	struct sb_fact_stage *s = stage(
		f, NULL, "vae_decode", -1, mean_s * (double)count, mean_s * (double)count);

	s->count = count;
	s->time = (struct sb_stats){ .count = count, .mean = mean_s, .std = std_s };
	sb_facts_key_stages(f);
	return f;
}

static void a_stage_of_a_report_is_judged_by_the_spread_of_its_calls(void **state)
{
	struct sb_facts *base = spread_of("base", 0.001, 0.0017, 10),
			*noisy = spread_of("new", 0.0013, 0.0017, 10);
	struct sb_facts *steady = spread_of("base", 0.001, 0.00002, 10),
			*slow = spread_of("new", 0.0013, 0.00002, 10);
	struct sb_comparison *c = compare(base, noisy, "vae_decode=3%");

	assert_int_equal(c->failure_count, 0); /* +30 %, a fifth of the spread */
	assert_int_equal(c->stages[0].verdict, SB_VERDICT_UNCERTAIN);
	sb_comparison_free(c);
	c = compare(steady, slow, "vae_decode=3%");
	assert_true(fails(c, "vae_decode 10.0 ms -> 13.0 ms (+30.0 %)"));
	assert_int_equal(c->stages[0].verdict, SB_VERDICT_WORSE); /* 3 ms, and proved */
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(noisy);
	sb_facts_free(steady);
	sb_facts_free(slow);
}

static void nonsense_in_a_gate_is_refused(void **state)
{
	struct sb_gate *gates;
	size_t count;

	assert_true(sb_gates_parse("", &gates, &count) < 0);
	assert_true(sb_gates_parse("five", &gates, &count) < 0);
	assert_true(sb_gates_parse("a=-5%", &gates, &count) < 0);
	assert_true(sb_gates_parse("5%,", &gates, &count) < 0);
	assert_true(sb_gates_parse("5", &gates, &count) < 0); /* 500 %, or a forgotten sign? */
	assert_true(sb_gates_parse("total=5", &gates, &count) < 0);
	assert_int_equal(sb_gates_parse("step=1=2.5%,0.1", &gates, &count), 0);
	assert_int_equal(count, 2);
	assert_string_equal(gates[0].name, "step=1");
	assert_true(gates[0].ratio == 0.025 && gates[1].ratio == 0.1);
	sb_gates_free(gates, count);
}

static void three_generations_a_side_are_too_few_to_judge(void **state)
{
	static const double before[] = { 10.1, 9.9, 10 }, after[] = { 13.2, 12.9, 13 };
	struct sb_facts *base = run_of("base", 32), *now = run_of("new", 41);
	struct sb_comparison *c;

	base->metrics[SB_METRIC_GENERATIONS] = now->metrics[SB_METRIC_GENERATIONS] = 3;
	base->metrics[SB_METRIC_GENERATION] = 10;
	now->metrics[SB_METRIC_GENERATION] = 13;
	base->generation_s = before;
	now->generation_s = after;
	base->generation_count = now->generation_count = 3;
	c = compare(base, now, "5%");
	assert_int_equal(c->total.metric, SB_METRIC_GENERATION);
	assert_int_equal(c->total.verdict, SB_VERDICT_TOO_FEW);
	assert_int_equal(c->failure_count, 1);
	assert_non_null(strstr(c->failures[0], "too few (4 a side are needed)"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void what_the_machine_did_judges_no_program(void **state)
{
	struct sb_facts *base = run_of("base", 1), *now = run_of("new", 1);
	struct sb_comparison *c;

	base->metrics[SB_METRIC_DISK_READ] = 1e9;
	base->metrics[SB_METRIC_RAM_PEAK] = 10e9;
	now->metrics[SB_METRIC_RAM_PEAK] = 20e9;
	c = compare(base, now, "5%");
	assert_int_equal(c->failure_count, 0);
	for (size_t i = 0; i < c->metric_count; i++)
		assert_true(c->metrics[i].verdict != SB_VERDICT_WORSE);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

/* Proved by repetitions, and a ten-thousandth of the total; a gate that names it goes by the proof. */
static void a_change_that_is_none_of_the_total_is_the_same(void **state)
{
	static double before[] = { 100e-6, 101e-6, 102e-6, 103e-6, 104e-6, 105e-6 },
		      after[] = { 120e-6, 121e-6, 122e-6, 123e-6, 124e-6, 125e-6 };
	struct sb_facts *base = run_of("base", 10), *now = run_of("new", 10);
	struct sb_fact_stage *s;
	struct sb_comparison *c;

	(void)state;
	s = stage(base, NULL, "between_steps", -1, 615e-6, 615e-6);
	s->count = 6;
	s->values = before;
	s->value_count = 6;
	s = stage(now, NULL, "between_steps", -1, 735e-6, 735e-6);
	s->count = 6;
	s->values = after;
	s->value_count = 6;
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, "between_steps=10%");
	assert_int_equal(c->stages[0].verdict, SB_VERDICT_SAME);
	assert_string_equal(c->stages[0].words, "same: under 0.1 % of the total");
	assert_int_equal(c->stages[0].tone, SB_TONE_NONE);
	assert_int_equal(c->failure_count, 1);
	sb_comparison_free(c);
	base->stages[0].value_count = now->stages[0].value_count = 0;
	base->stages[0].values = now->stages[0].values = NULL;
	sb_facts_free(base);
	sb_facts_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_that_is_none_of_the_total_is_the_same),
		cmocka_unit_test(a_metric_that_went_missing_fails_the_gate),
		cmocka_unit_test(gates_name_stages_and_metrics),
		cmocka_unit_test(a_rise_from_nothing_has_no_ratio),
		cmocka_unit_test(a_rise_from_almost_nothing_is_called_that),
		cmocka_unit_test(a_stage_of_a_report_is_judged_by_the_spread_of_its_calls),
		cmocka_unit_test(nonsense_in_a_gate_is_refused),
		cmocka_unit_test(three_generations_a_side_are_too_few_to_judge),
		cmocka_unit_test(what_the_machine_did_judges_no_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
