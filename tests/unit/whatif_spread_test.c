/* The range of a prediction: reruns of a program with a planted spread lie inside, and what is known narrows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/whatif.h"
#include "compare/whatif_spread.h"
#include "noise.h"

#include <math.h>
#include <stdio.h>

#define TRIALS 400
#define RUNS 12

/* A flow stage of a fixed part and a part for each iteration, and a decoder. */
struct pipeline {
	struct sb_facts facts;
	struct sb_fact_stage stages[2];
	struct sb_pair attrs[1];
};

/* One run, slower or faster as a whole by what is drawn; the flow a little more by itself. */
static void record(struct pipeline *p, double iters, double spread)
{
	double all = 1 + spread * gaussian(),
	       flow_s = (2 + 0.5 * iters) * all * (1 + spread / 3 * gaussian()), rest_s = 6 * all;

	*p = (struct pipeline){
		.facts = { .label = "run", .name = "", .host = "", .digit_s = NAN, .others_cpu_ratio = NAN }
	};
	p->attrs[0] = (struct sb_pair){ .key = "iters", .type = STROBE_TYPE_FLOAT, .f = iters };
	p->stages[0] = (struct sb_fact_stage){ .name = "flow",
		.key = "flow",
		.parent = -1,
		.count = 1,
		.total_s = flow_s,
		.time = { .count = 1, .mean = flow_s, .std = NAN, .p95 = flow_s },
		.attrs = p->attrs,
		.attr_count = 1 };
	p->stages[1] = (struct sb_fact_stage){ .name = "decode",
		.key = "decode",
		.parent = -1,
		.count = 1,
		.total_s = rest_s,
		.time = { .count = 1, .mean = rest_s, .std = NAN, .p95 = rest_s } };
	for (int i = 0; i < SB_METRIC_COUNT; i++)
		p->facts.metrics[i] = NAN;
	p->facts.metrics[SB_METRIC_WALL] = flow_s + rest_s;
	p->facts.stages = p->stages;
	p->facts.stage_count = 2;
}

struct counted {
	double inside_ratio, width_ratio;
};

/* iters[0] is the run that is asked about, the others come with it; then the rerun. */
static struct counted predict_often(const double *iters, size_t count, double then, double spread)
{
	struct pipeline runs[RUNS], rerun;
	const struct sb_facts *facts[RUNS];
	struct counted c = { 0 };
	char setting[64];
	const char *settings = setting;

	seed = 7;
	snprintf(setting, sizeof setting, "flow.iters=%g", then);
	for (int t = 0; t < TRIALS; t++) {
		struct sb_whatif *w;
		double rerun_s;

		for (size_t i = 0; i < count; i++) {
			record(&runs[i], iters[i], spread);
			facts[i] = &runs[i].facts;
		}
		record(&rerun, then, spread);
		rerun_s = rerun.facts.metrics[SB_METRIC_WALL];
		assert_int_equal(sb_whatif(facts[0], facts + 1, count - 1, &settings, 1, &w), 0);
		c.inside_ratio += (w->low_s <= rerun_s && rerun_s <= w->high_s) / (double)TRIALS;
		c.width_ratio += (w->high_s - w->low_s) / w->predicted_s / TRIALS;
		sb_whatif_free(w);
	}
	return c;
}

static void one_run_allows_for_the_usual_spread(void **state)
{
	for (double spread = 0; spread < 0.045; spread += 0.01)
		assert_true(predict_often((double[]){ 12 }, 1, 8, spread).inside_ratio >= 0.95);
}

static void two_runs_allow_for_the_usual_spread_inside_and_outside(void **state)
{
	for (double then = 6; then <= 20; then += 2)
		assert_true(predict_often((double[]){ 16, 4 }, 2, then, 0.03).inside_ratio >= 0.95);
	assert_true(predict_often((double[]){ 12, 11 }, 2, 4, 0.03).inside_ratio >= 0.95);
}

/* 8 % is more than usual: repeated runs tell it, and what the line leaves tells it. */
static void runs_that_differ_more_are_allowed_for(void **state)
{
	static const double repeated[] = { 12, 12, 12, 12, 12, 12 }, sweep[] = { 12, 4, 6, 8, 16, 20, 24, 2 };

	assert_true(predict_often(repeated, 6, 8, 0.08).inside_ratio >= 0.93);
	assert_true(predict_often(sweep, 8, 10, 0.08).inside_ratio >= 0.9);
}

static void what_is_known_narrows_the_range(void **state)
{
	static const double all[] = { 12, 12, 12, 12, 4, 4, 4, 4, 16, 16, 16, 16 };
	double one = predict_often(all, 1, 8, 0.005).width_ratio;
	double repeated = predict_often(all, 4, 8, 0.005).width_ratio;
	double history = predict_often(all, 12, 8, 0.005).width_ratio;

	assert_true(history < repeated && repeated < one);
	assert_true(history < 0.12);
	assert_true(predict_often(all, 12, 8, 0.005).inside_ratio >= 0.95);
}

static void extrapolating_further_is_less_certain(void **state)
{
	double before = 0;

	for (double then = 20; then <= 80; then += 20) {
		double width = predict_often((double[]){ 16, 12, 8 }, 3, then, 0.01).width_ratio;

		assert_true(width > before);
		before = width;
	}
}

static void runs_of_other_settings_repeat_nothing(void **state)
{
	struct pipeline a, b;
	const struct sb_facts *others[] = { &b.facts };
	struct sb_whatif_spread usual, s;

	seed = 7;
	record(&a, 12, 0);
	usual = sb_whatif_spread_of(&a.facts, NULL, 0);
	assert_int_equal(usual.run_count, 0);
	record(&b, 12, 0);
	s = sb_whatif_spread_of(&a.facts, others, 1);
	assert_int_equal(s.run_count, 2);
	assert_true(s.ratio < usual.ratio && s.freedom > usual.freedom);
	record(&b, 8, 0);
	assert_int_equal(sb_whatif_spread_of(&a.facts, others, 1).run_count, 0);
	record(&b, 12, 0);
	b.stages[1].count = 2;
	assert_int_equal(sb_whatif_spread_of(&a.facts, others, 1).run_count, 0);
	record(&b, 12, 0);
	b.facts.host = "another";
	assert_int_equal(sb_whatif_spread_of(&a.facts, others, 1).run_count, 0);
}

static void a_full_cpu_widens_by_what_others_take_of_it(void **state)
{
	struct pipeline p;
	double idle, shared;

	seed = 7;
	record(&p, 12, 0);
	p.facts.others_cpu_ratio = 0.8;
	p.facts.metrics[SB_METRIC_CPU] = 85;
	p.facts.metrics[SB_METRIC_PROCESS_CPU] = 40;
	idle = sb_whatif_spread_of(&p.facts, NULL, 0).ratio; /* there was a core left */
	p.facts.metrics[SB_METRIC_CPU] = 100;
	shared = sb_whatif_spread_of(&p.facts, NULL, 0).ratio;
	assert_true(shared > 5 * idle);
	p.facts.metrics[SB_METRIC_PROCESS_CPU] = 2; /* it waits for a device */
	assert_true(sb_whatif_spread_of(&p.facts, NULL, 0).ratio == idle);
	p.facts.metrics[SB_METRIC_PROCESS_CPU] = 200;
	p.facts.others_cpu_ratio = 0; /* the program itself fills it */
	assert_true(sb_whatif_spread_of(&p.facts, NULL, 0).ratio == idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_run_allows_for_the_usual_spread),
		cmocka_unit_test(two_runs_allow_for_the_usual_spread_inside_and_outside),
		cmocka_unit_test(runs_that_differ_more_are_allowed_for),
		cmocka_unit_test(what_is_known_narrows_the_range),
		cmocka_unit_test(extrapolating_further_is_less_certain),
		cmocka_unit_test(runs_of_other_settings_repeat_nothing),
		cmocka_unit_test(a_full_cpu_widens_by_what_others_take_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
