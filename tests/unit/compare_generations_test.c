/* Comparing one generation: runs that made a single one, and rates that say one thing twice. */
#include "close_within.h"
#include "compare_runs.h"

#define RUNS 5

/* Loads, then makes one video of enc and dec. */
static struct sb_facts *one_video(const char *label, double enc_s, double dec_s)
{
	double video_s = enc_s + dec_s + 0.001;
	struct sb_facts *f = run_of(label, 0.5 + video_s);

	f->metrics[SB_METRIC_GENERATIONS] = 1;
	f->metrics[SB_METRIC_GENERATION] = video_s;
	f->metrics[SB_METRIC_UNATTRIBUTED] = f->generation_unattributed_s = 0.001;
	f->numbers = malloc(sizeof *f->numbers);
	assert_non_null(f->numbers);
	f->numbers[0] = video_s;
	f->generation_s = f->numbers;
	f->generation_count = 1;
	stage(f, NULL, "load", -1, 0.5, 0.5);
	stage(f, NULL, "generation", -1, video_s, 0.001)->role = STROBE_ROLE_GENERATION;
	stage(f, NULL, "enc", 1, enc_s, enc_s);
	stage(f, NULL, "dec", 1, dec_s, dec_s);
	sb_facts_key_stages(f);
	return f;
}

/* Two, three or five runs a side: what is compared does not change with their number. */
static void the_headline_is_one_generation_however_few_runs(void **state)
{
	struct sb_facts *base[RUNS], *now[RUNS];
	struct sb_compare_options o = { 0 };

	for (int i = 0; i < RUNS; i++) {
		base[i] = one_video("base", 0.2, 0.5 + 0.001 * i);
		now[i] = one_video("new", 0.2, 0.8 + 0.001 * i);
	}
	for (size_t count = 2; count <= RUNS; count++) {
		struct sb_comparison *c;

		assert_int_equal(sb_compare((const struct sb_facts *const *)base, count,
					 (const struct sb_facts *const *)now, count, &o, &c),
			0);
		assert_true(c->per_generation);
		assert_int_equal(c->total.verdict, count < 4 ? SB_VERDICT_TOO_FEW : SB_VERDICT_WORSE);
		sb_comparison_free(c);
	}
	for (int i = 0; i < RUNS; i++) {
		sb_facts_free(base[i]);
		sb_facts_free(now[i]);
	}
}

/* Two speeds of the machine, 6 to 5 and 5 to 6: the medians are 15 % apart, the runs are not. */
static void a_verdict_that_its_number_denies_says_why(void **state)
{
	enum { COUNT = 11 };
	struct sb_facts *base[COUNT], *now[COUNT];
	struct sb_compare_options o = { 0 };
	struct sb_comparison *c;

	for (int i = 0; i < COUNT; i++) {
		base[i] = run_of("base", i < 6 ? 1 : 1.15);
		now[i] = run_of("new", i < 5 ? 1 : 1.15);
	}
	assert_int_equal(sb_compare((const struct sb_facts *const *)base, COUNT,
				 (const struct sb_facts *const *)now, COUNT, &o, &c),
		0);
	assert_int_equal(c->total.verdict, SB_VERDICT_SAME);
	close_within(c->total.change_ratio, 0.15, 1e-9);
	assert_string_equal(c->total.words, "same over all pairs");
	sb_comparison_free(c);
	for (int i = 0; i < COUNT; i++) {
		sb_facts_free(base[i]);
		sb_facts_free(now[i]);
	}
	base[0] = run_of("base", 0.02);
	now[0] = run_of("new", 0.023);
	c = compare(base[0], now[0], NULL);
	assert_string_equal(c->total.words, "same: below the floor");
	sb_comparison_free(c);
	sb_facts_free(base[0]);
	sb_facts_free(now[0]);
}

/* Its share of the run is all of it, and it is of the generation all the same. */
static void a_single_generation_a_run_has_its_parts(void **state)
{
	struct sb_facts *base[RUNS], *now[RUNS];
	struct sb_compare_options o = { 0 };
	struct sb_diff_options options = { 0 };
	struct sb_buf text = { 0 };
	struct sb_comparison *c;

	for (int i = 0; i < RUNS; i++) {
		base[i] = one_video("base", 0.2, 0.5 + 0.001 * i);
		now[i] = one_video("new", 0.2, 0.8 + 0.001 * i);
	}
	assert_int_equal(sb_compare((const struct sb_facts *const *)base, RUNS,
				 (const struct sb_facts *const *)now, RUNS, &o, &c),
		0);
	assert_true(c->per_generation);
	close_within(change_of(c, "dec")->contribution_s, 0.3, 1e-9);
	assert_true(change_of(c, "dec")->per_generation);
	assert_false(change_of(c, "load")->counted);
	close_within(c->base_overlap_s, 0, 1e-9);
	close_within(c->now_overlap_s, 0, 1e-9);
	close_within(c->base_at_once_s, 0, 1e-9); /* loading is no part of a generation */
	assert_true(explains(c, "dec took 300.0 ms longer"));
	sb_diff_text(c, &options, &text);
	assert_null(strstr(sb_buf_text(&text), "median less sum"));
	assert_null(strstr(sb_buf_text(&text), "overlap"));
	sb_buf_done(&text);
	sb_comparison_free(c);
	for (int i = 0; i < RUNS; i++) {
		sb_facts_free(base[i]);
		sb_facts_free(now[i]);
	}
}

/* A larger change that may be noise is not told, and the next one is not called the largest for it. */
static void only_the_largest_contribution_is_called_that(void **state)
{
	static const double before[] = { 0.01, 0.01, 0.01, 0.4 }, after[] = { 0.011, 0.011, 0.009, 0.73 };
	struct sb_facts *base = run_of("base", 0.73), *now = run_of("new", 1.35);
	struct sb_fact_stage *s;
	struct sb_comparison *c;

	stage(base, NULL, "text_encode", -1, 0.3, 0.3);
	stage(now, NULL, "text_encode", -1, 0.59, 0.59);
	s = stage(base, NULL, "denoise", -1, 0.43, 0.43);
	s->values = before;
	s->value_count = 4;
	s->count = 4;
	s = stage(now, NULL, "denoise", -1, 0.761, 0.761);
	s->values = after;
	s->value_count = 4;
	s->count = 4;
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, NULL);
	assert_int_equal(change_of(c, "denoise")->verdict, SB_VERDICT_UNCERTAIN);
	assert_true(explains(c, "text_encode took 290.0 ms longer"));
	assert_false(explains(c, "largest"));
	sb_comparison_free(c);
	now->metrics[SB_METRIC_UNATTRIBUTED] = 2;
	base->metrics[SB_METRIC_UNATTRIBUTED] = 1;
	base->stages[1].value_count = now->stages[1].value_count = 0;
	c = compare(base, now, NULL);
	assert_true(explains(c, "denoise took 331.0 ms longer"));
	assert_false(explains(c, "largest")); /* the time outside of every stage grew by a second */
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

/* The mean of the generations moved, their rank test says nothing did: both rates follow it. */
static void both_rates_have_one_verdict(void **state)
{
	static const double before[] = { 1.00, 1.01, 1.02, 1.03, 1.04, 1.05 },
			    after[] = { 1.00, 1.01, 1.02, 1.03, 1.04, 3.00 };
	struct sb_facts *base = one_video("base", 0.2, 0.5), *now = one_video("new", 0.2, 0.5),
			*runs[] = { base, now };
	struct sb_comparison *c;

	for (int i = 0; i < 2; i++) {
		runs[i]->generation_s = i ? after : before;
		runs[i]->generation_count = 6;
		runs[i]->metrics[SB_METRIC_GENERATIONS] = 6;
		runs[i]->metrics[SB_METRIC_FRAMES] = 60;
		runs[i]->metrics[SB_METRIC_FPS] = 60 / (i ? 8.10 : 6.15);
		runs[i]->metrics[SB_METRIC_FPS_COMPUTE] = 60 / (i ? 8.09 : 6.14);
	}
	c = compare(base, now, NULL);
	assert_int_equal(metric_of(c, SB_METRIC_FPS)->verdict, c->total.verdict);
	assert_int_equal(metric_of(c, SB_METRIC_FPS_COMPUTE)->verdict, c->total.verdict);
	sb_comparison_free(c);
	/* compute alone became slower: that is another fact, and the generations do not show it */
	now->metrics[SB_METRIC_FPS] = base->metrics[SB_METRIC_FPS];
	c = compare(base, now, NULL);
	assert_int_equal(metric_of(c, SB_METRIC_FPS_COMPUTE)->verdict, SB_VERDICT_UNCERTAIN);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void a_small_change_is_no_minus_zero(void **state)
{
	static const struct {
		double base, now;
		const char *percent, *delta;
	} cases[] = { { 100, 99.99, "< 0.1 %", "-0.01 s" }, { 100, 100.01, "< 0.1 %", "+0.01 s" },
		{ 100, 99.999, "< 0.1 %", "-1.00 ms" }, { 100, 100, "0 %", "0 s" },
		{ 100, 99.9, "-0.1 %", "-0.10 s" } };
	struct sb_tolerance t = { .ratio = 0.02 };
	struct sb_judgement j = { .basis = SB_BASIS_RANK_TEST,
		.p = 0.5,
		.interval = { 0.9999, 1.02 },
		.base_count = 5,
		.now_count = 5 };
	struct sb_buf text = { 0 };
	char out[40];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sb_diff_percent(cases[i].base, cases[i].now, out, sizeof out);
		assert_string_equal(out, cases[i].percent);
		sb_diff_delta(SB_METRIC_WALL, cases[i].base, cases[i].now, out, sizeof out);
		assert_string_equal(out, cases[i].delta);
	}
	sb_diff_basis(&j, &t, &text);
	assert_non_null(strstr(sb_buf_text(&text), "interval +0.0 to +2.0 %"));
	sb_buf_done(&text);
}

/* Loads, then makes so many videos in as many times four steps; three checkpoints are read. */
static struct sb_facts *videos(const char *label, size_t count, double slower)
{
	struct sb_facts *f = run_of(label, 10 * slower);
	struct sb_fact_stage *s;

	f->metrics[SB_METRIC_GENERATIONS] = (double)count;
	f->metrics[SB_METRIC_GENERATION] = slower;
	f->metrics[SB_METRIC_STEP] = 0.1 * slower;
	f->metrics[SB_METRIC_FPS] = 16 / slower;
	f->metrics[SB_METRIC_FRAMES] = 16 * (double)count;
	f->metrics[SB_METRIC_GPU_MEMORY_PEAK] = 8e9 * slower;
	f->metrics[SB_METRIC_GPU_POWER] = 300 * slower;
	f->numbers = malloc(2 * count * sizeof *f->numbers);
	assert_non_null(f->numbers);
	for (size_t i = 0; i < count; i++) {
		f->numbers[i] = slower * (1 + 0.001 * (double)(i * 3 % 8));
		f->numbers[count + i] = 0.1 * f->numbers[i];
	}
	f->generation_s = f->numbers;
	f->step_s = f->numbers + count;
	f->generation_count = f->step_count = count;
	stage(f, NULL, "load", -1, 5 * slower, 5 * slower);
	stage(f, NULL, "checkpoint", -1, 3 * slower, 3 * slower)->count = 3;
	s = stage(f, NULL, "generation", -1, slower * (double)count, 0);
	s->role = STROBE_ROLE_GENERATION;
	s->count = (int64_t)count;
	s = stage(f, NULL, "vae_decode", 2, slower * (double)count, slower * (double)count);
	s->count = (int64_t)count;
	sb_facts_key_stages(f);
	return f;
}

/* The verdicts of every row that is judged at all; SB_VERDICT_CHANGED: they differ. */
static enum sb_verdict verdict_of_all(const struct sb_comparison *c, bool once_too)
{
	enum sb_verdict verdict = c->total.verdict;

	for (size_t i = 0; i < c->stage_count; i++)
		if ((once_too || c->stages[i].per_generation) && c->stages[i].verdict != verdict)
			return SB_VERDICT_CHANGED;
	for (size_t i = 0; i < c->metric_count; i++)
		if (sb_metric_infos[c->metrics[i].metric].sense != SB_NEUTRAL &&
			c->metrics[i].metric != SB_METRIC_WALL && c->metrics[i].verdict != verdict)
			return SB_VERDICT_CHANGED;
	return verdict;
}

/* One call against one call proves no more than two against two: stages, steps, throughput, memory alike. */
static void values_that_are_too_few_are_judged_alike_in_every_row(void **state)
{
	static const struct {
		size_t count;
		enum sb_verdict all, once;
	} cases[] = { { 1, SB_VERDICT_WORSE, SB_VERDICT_WORSE },
		{ 2, SB_VERDICT_TOO_FEW, SB_VERDICT_TOO_FEW }, { 3, SB_VERDICT_TOO_FEW, SB_VERDICT_TOO_FEW },
		{ 8, SB_VERDICT_WORSE, SB_VERDICT_TOO_FEW } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sb_facts *base = videos("base", cases[i].count, 1),
				*now = videos("new", cases[i].count, 1.5);
		struct sb_comparison *c = compare(
			base, now, "5%,load=5%,vae_decode=5%,fps=5%,peak_memory=5%");

		assert_int_equal(verdict_of_all(c, cases[i].all == cases[i].once), cases[i].all);
		assert_int_equal(change_of(c, "load")->verdict, cases[i].once);
		assert_int_equal(change_of(c, "checkpoint")->verdict, cases[i].once);
		assert_int_equal(metric_of(c, SB_METRIC_GPU_POWER)->verdict, SB_VERDICT_CHANGED);
		assert_int_equal(c->failure_count, 5); /* past the limit is past the limit */
		sb_comparison_free(c);
		sb_facts_free(base);
		sb_facts_free(now);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_headline_is_one_generation_however_few_runs),
		cmocka_unit_test(a_verdict_that_its_number_denies_says_why),
		cmocka_unit_test(a_single_generation_a_run_has_its_parts),
		cmocka_unit_test(only_the_largest_contribution_is_called_that),
		cmocka_unit_test(both_rates_have_one_verdict),
		cmocka_unit_test(values_that_are_too_few_are_judged_alike_in_every_row),
		cmocka_unit_test(a_small_change_is_no_minus_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
