/* What a diff says of the findings of both sides. */
#include "compare_runs.h"

static void finds(struct sb_facts *f, const struct sb_fact_finding *all, size_t count)
{
	f->findings = calloc(count + 1, sizeof *all);
	assert_non_null(f->findings);
	memcpy(f->findings, all, count * sizeof *all);
	f->finding_count = count;
}

static void findings_are_gone_new_or_stay(void **state)
{
	static const struct sb_fact_finding before[] = {
		{ "memory_leak", "high", "GPU memory grows by 256.0 MB", "gpu.py:95", NAN, false },
		{ "hidden_sync", "high", "a line waits", "a.py:7", 0.5, false },
		{ "hidden_sync", "medium", "a line waits", "b.py:9", 0.25, false },
		{ "stage_dominates", "low", "'x' takes 50 %", "x", NAN, false },
	};
	static const struct sb_fact_finding after[] = {
		{ "hidden_sync", "medium", "a line waits", "b.py:9", 0.125,
			false }, /* itself, not the other one */
		{ "stage_dominates", "low", "'x' takes 70 %", "x", NAN, false },
		{ "slow_import", "low", "an import takes long", "", 2, true },
	};
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 60);
	struct sb_buf out = { 0 };
	struct sb_comparison *c = compare(base, now, NULL);

	assert_false(c->findings_known); /* of neither side */
	sb_comparison_free(c);
	finds(base, before, 4);
	finds(now, after, 3);
	now->metrics[SB_METRIC_GPU_BUSY] = 10;
	c = compare(base, now, NULL);
	assert_true(c->findings_known && c->findings_unlike);
	assert_int_equal(c->finding_count, 5);
	sb_diff_text(c, &(struct sb_diff_options){ 0 }, &out);
	assert_non_null(strstr(sb_buf_text(&out),
		"\n  Findings\n"
		"    gone  HIGH memory_leak, gpu.py:95: GPU memory grows by 256.0 MB\n"
		"    gone  HIGH hidden_sync, a.py:7: a line waits (could save 500.0 ms)\n"
		"    new   LOW slow_import: an import takes long (could save 2.00 s), at the start\n"
		"    stays MEDIUM hidden_sync, b.py:9: a line waits (could save 250.0 ms, now 125.0 ms)\n"
		"    one side has a trace of the GPU and the other none: it finds more\n\n"));
	sb_buf_clear(&out);
	sb_diff_markdown(c, &(struct sb_diff_options){ 0 }, &out);
	assert_non_null(strstr(sb_buf_text(&out), "- finding, gone: HIGH "));
	sb_buf_done(&out);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(findings_are_gone_new_or_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
