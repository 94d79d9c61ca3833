/* What a report lists of stages beside the tree: gaps, names, the largest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stage_rows.h"
#include "report/build.h"

static void gaps_are_the_unattributed_time_and_the_longest_is_first(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	zone(&s, 1 * SECOND, 2 * SECOND, "load", NULL);
	zone(&s, 4 * SECOND, 9 * SECOND, "denoise", NULL);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->stages.gap_count, 3);
	near(m->stages.gaps[0].t_s, 2);
	near(m->stages.gaps[0].duration_s, 2);
	near(m->stages.gaps[1].t_s, 0); /* of equals the earlier */
	near(m->stages.gaps[2].t_s, 9);
	near(m->stages.gaps[0].duration_s + m->stages.gaps[1].duration_s + m->stages.gaps[2].duration_s,
		m->stages.unattributed_s);
	synthetic_done(&s);
}

static void of_many_gaps_the_longest_twenty_are_kept(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t at = 0;

	synthetic_open(&s);
	for (uint64_t i = 1; i <= 40; i++) { /* each gap is a hundredth of a second longer */
		zone(&s, at, at + CS, "step", NULL);
		at += CS + i * CS;
	}
	zone(&s, at, at + CS, "step", NULL);
	m = synthetic_model(&s, at + CS);
	assert_int_equal(m->stages.gap_count, 20);
	near(m->stages.gaps[0].duration_s, 0.40);
	near(m->stages.gaps[19].duration_s, 0.21);
	synthetic_done(&s);
}

static void a_run_covered_by_stages_has_no_gap(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	zone(&s, 0, 10 * SECOND, "all", NULL);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->stages.gap_count, 0);
	synthetic_done(&s);
}

static void names_are_listed_once_by_the_total_of_all_their_stages(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	zone(&s, 0, 3 * SECOND, "alone", NULL);
	synthetic_begin(&s, 3 * SECOND, "outer", 0);
	zone(&s, 3 * SECOND, 5 * SECOND, "copy", NULL);
	synthetic_end(&s, 5 * SECOND + CS);
	zone(&s, 6 * SECOND, 8 * SECOND, "copy", NULL);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->stages.by_name_count, 3);
	assert_string_equal(m->stages.stages[m->stages.by_name[0]].name, "copy"); /* 4 s in all */
	assert_int_equal(m->stages.by_name[0], m->stages.same_name[0].stages[0]);
	assert_string_equal(m->stages.stages[m->stages.by_name[1]].name, "alone");
	assert_string_equal(m->stages.stages[m->stages.by_name[2]].name, "outer");
	synthetic_done(&s);
}

/* Nine stages: the smallest is none of the eight; they stand as they began. */
static void the_largest_are_in_the_order_in_which_they_began(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 9; i++) {
		char name[] = { (char)('a' + i), 0 };

		zone(&s, i * SECOND, i * SECOND + (i == 3 ? 1 : 10 + i) * CS, name, NULL);
	}
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->stages.largest_count, 8);
	assert_string_equal(m->stages.largest[0], "a");
	assert_string_equal(m->stages.largest[3], "e");
	assert_string_equal(m->stages.largest[7], "i");
	synthetic_done(&s);
}

static void of_many_names_of_events_the_rarest_thousand_are_kept(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 1300; i++) {
		char name[32];
		uint32_t id;

		snprintf(name, sizeof name, "frame %d", i);
		id = sb_builder_name(s.b, name, NULL);
		sb_builder_mark(s.main, (uint64_t)i * MS, id);
		if (i < 200)
			sb_builder_mark(s.main, (uint64_t)i * MS, id);
		sb_builder_count(s.main, id, 1);
	}
	m = synthetic_model(&s, 2 * SECOND);
	assert_int_equal(m->events.total, 1500);
	assert_int_equal(m->events.name_count, 1000);
	assert_string_equal(m->events.names[0].name, "frame 200");
	assert_int_equal(m->events.names[999].count, 1);
	assert_int_equal(m->events.counter_count, 1000);
	assert_string_equal(m->events.counters[0].name, "frame 0");
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_many_names_of_events_the_rarest_thousand_are_kept),
		cmocka_unit_test(gaps_are_the_unattributed_time_and_the_longest_is_first),
		cmocka_unit_test(of_many_gaps_the_longest_twenty_are_kept),
		cmocka_unit_test(a_run_covered_by_stages_has_no_gap),
		cmocka_unit_test(names_are_listed_once_by_the_total_of_all_their_stages),
		cmocka_unit_test(the_largest_are_in_the_order_in_which_they_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
