/* Garbage collections: totals from counters, the long ones from events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "close_within.h"
#include "synthetic.h"

#include "report/text.h"

static void collect(struct synthetic *s, uint64_t end_ns, double duration_s, int64_t generation)
{
	struct strobe_attr attrs[] = {
		{ .key = "duration_s", .type = STROBE_TYPE_FLOAT, .value.f = duration_s },
		{ .key = "generation", .type = STROBE_TYPE_INT, .value.i = generation },
		{ .key = "collected", .type = STROBE_TYPE_INT, .value.i = 7 },
	};

	sb_builder_event(s->b, end_ns, "garbage collection", 0, attrs, 3);
}

static void record(struct synthetic *s)
{
	synthetic_begin(s, 0, "video", STROBE_ROLE_GENERATION);
	sb_builder_count(s->main, sb_builder_name(s->b, "strobe.gc_count", NULL), 40);
	sb_builder_count(s->main, sb_builder_name(s->b, "strobe.gc_ns", NULL), 300 * MS);
	sb_builder_count(s->main, sb_builder_name(s->b, "strobe.gc_objects", NULL), 900);
	synthetic_end(s, 4 * SECOND);
	collect(s, 1 * SECOND, 0.020, 1);
	collect(s, 2 * SECOND, 0.080, 2);
	collect(s, 6 * SECOND, 0.100, 2);
}

static void long_collections_are_listed_and_all_are_counted(void **state)
{
	const struct sb_garbage_panel *g;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	record(&s);
	m = synthetic_model(&s, 8 * SECOND);
	g = &m->garbage;
	assert_int_equal(g->count, 40);
	assert_int_equal(g->object_count, 900);
	close_within(g->total_s, 0.3, 1e-9);
	assert_int_equal(g->long_count, 3);
	close_within(g->generations_s, 0.1, 1e-9);
	assert_int_equal(g->longest_count, 3);
	close_within(g->longest[0].duration_s, 0.1, 1e-9);
	close_within(g->longest[0].end_s, 6, 1e-9);
	assert_int_equal(g->longest[2].generation, 1);
	assert_int_equal(m->events.counter_count, 0); /* strobe's own are no counters of the program */
	synthetic_done(&s);
}

static void the_text_has_one_line(void **state)
{
	struct sb_text_options options = { 0 };
	struct sb_buf out = { 0 };
	struct synthetic s;

	synthetic_open(&s);
	record(&s);
	assert_int_equal(sb_report_text(synthetic_model(&s, 8 * SECOND), &options, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out),
		"40 collections, 300 ms; 3 of 1 ms or longer, 100 ms of them in generations; the longest "
		"100 ms"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* Two generations of 10 s: 4 s outside of every stage, of which the collector takes a half. */
static void a_cause_says_the_part_that_it_explains(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_advice *f;

	synthetic_open(&s);
	for (uint64_t g = 0; g < 2; g++) {
		uint64_t t = g * 10 * SECOND;

		synthetic_begin(&s, t, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, t, t + 6 * SECOND, "denoise", 0);
		for (uint64_t i = 1; i <= 10; i++)
			collect(&s, t + 6 * SECOND + i * 400 * MS, 0.2, 2);
		synthetic_end(&s, t + 10 * SECOND);
	}
	sb_builder_count(s.main, sb_builder_name(s.b, "strobe.gc_count", NULL), 20);
	sb_builder_count(s.main, sb_builder_name(s.b, "strobe.gc_ns", NULL), 4000 * MS);
	m = synthetic_model(&s, 20 * SECOND);
	f = finding(m, "garbage_collection");
	assert_non_null(f);
	assert_null(finding(m, "unattributed"));
	assert_null(strstr(f->evidence, "it is why 40.0 %"));
	assert_non_null(
		strstr(f->evidence, "it is 50 % of this: 40.0 % of the generations belongs to no stage"));
	synthetic_done(&s);
}

/* What it explains is too little: the finding stays. */
static void a_tenth_of_the_gap_does_not_explain_it(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, 4 * SECOND, "denoise", 0);
	for (uint64_t i = 1; i <= 6; i++)
		collect(&s, 4 * SECOND + i * 900 * MS, 0.2, 2);
	synthetic_end(&s, 10 * SECOND);
	sb_builder_count(s.main, sb_builder_name(s.b, "strobe.gc_count", NULL), 6);
	sb_builder_count(s.main, sb_builder_name(s.b, "strobe.gc_ns", NULL), 1200 * MS);
	m = synthetic_model(&s, 10 * SECOND);
	assert_non_null(finding(m, "garbage_collection"));
	assert_non_null(finding(m, "unattributed"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_collections_are_listed_and_all_are_counted),
		cmocka_unit_test(the_text_has_one_line),
		cmocka_unit_test(a_cause_says_the_part_that_it_explains),
		cmocka_unit_test(a_tenth_of_the_gap_does_not_explain_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
