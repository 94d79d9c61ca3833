/* What a comparison says of its causes. */
#include "compare_runs.h"

/* As on an H200: the start-up took longer, in which the GPU idles at 345 MHz; under load it ran at 1980 MHz. */
static void clocks_of_an_idle_gpu_are_no_cause(void **state)
{
	static const struct {
		double clock_mhz, throttled, capped;
		const char *words; /* NULL: nothing is said of the clock */
	} rows[] = { { 1980, 0, 0, NULL }, { 1500, 0.4, 0, "it throttled for 40 % of that time" },
		{ 1500, 0, 0.9, "it was at its power limit for 90 %" },
		{ 1500, 0, 0, "while it works fell 1980.0 MHz -> 1500.0 MHz" },
		{ 1500, NAN, NAN, "while its temperature rose 59.00 °C -> 63.00 °C: it throttled" },
		{ NAN, NAN, NAN, NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sb_facts *base = run_of("base", 14.95), *now = run_of("new", 19.32);
		struct sb_comparison *c;

		base->metrics[SB_METRIC_GPU_CLOCK] = 1159.8;
		now->metrics[SB_METRIC_GPU_CLOCK] = 882.2;
		base->metrics[SB_METRIC_GPU_TEMPERATURE] = 59;
		now->metrics[SB_METRIC_GPU_TEMPERATURE] = 63;
		base->gpu_busy_clock_mhz = 1980;
		base->gpu_throttled_ratio = base->gpu_capped_ratio = isnan(rows[i].throttled) ? NAN : 0;
		now->gpu_busy_clock_mhz = rows[i].clock_mhz;
		now->gpu_throttled_ratio = rows[i].throttled;
		now->gpu_capped_ratio = rows[i].capped;
		c = compare(base, now, NULL);
		assert_int_equal(explains(c, rows[i].words ? rows[i].words : "clock"), rows[i].words != NULL);
		assert_int_equal(
			explains(c, "throttled"), rows[i].words && strstr(rows[i].words, "throttled"));
		sb_comparison_free(c);
		sb_facts_free(base);
		sb_facts_free(now);
	}
}

static void what_strobe_records_comes_before_the_causes(void **state)
{
	struct sb_facts *base = run_of("base", 10), *now = run_of("new", 12);
	struct sb_comparison *c;

	(void)state;
	stage(base, NULL, "denoise", -1, 8, 8);
	stage(now, NULL, "denoise", -1, 10, 10);
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	assert_int_equal(sb_facts_add_pair(base, SB_FACT_SETTING, "gpu_trace", ""), 0);
	assert_int_equal(sb_facts_add_pair(now, SB_FACT_SETTING, "gpu_trace", "steps:3"), 0);
	c = compare(base, now, NULL);
	assert_true(c->explanation_count > 1);
	assert_non_null(strstr(c->explanations[0], "gpu_trace none -> steps:3"));
	assert_non_null(strstr(c->explanations[1], "denoise took 2.00 s longer"));
	sb_comparison_free(c);
	c = compare(now, now, NULL);
	assert_int_equal(c->explanation_count, 0);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_of_an_idle_gpu_are_no_cause),
		cmocka_unit_test(what_strobe_records_comes_before_the_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
