/* Garbage collections: totals from counters, the long ones from events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
	assert_float_equal(g->total_s, 0.3, 1e-9);
	assert_int_equal(g->long_count, 3);
	assert_float_equal(g->generations_s, 0.1, 1e-9);
	assert_int_equal(g->longest_count, 3);
	assert_float_equal(g->longest[0].duration_s, 0.1, 1e-9);
	assert_float_equal(g->longest[0].end_s, 6, 1e-9);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_collections_are_listed_and_all_are_counted),
		cmocka_unit_test(the_text_has_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
