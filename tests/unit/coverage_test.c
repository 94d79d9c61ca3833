/* Time covered by calls that may overlap, and what the stages make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stats/coverage.h"
#include "synthetic.h"

static void parts_join_whatever_order_they_began_in(void **state)
{
	struct sb_covered c = { 0 };

	assert_int_equal(sb_covered_add(&c, 10, 20), 10);
	assert_int_equal(sb_covered_add(&c, 15, 30), 10);
	assert_int_equal(sb_covered_add(&c, 40, 50), 10);
	assert_int_equal(sb_covered_add(&c, 0, 60), 30); /* a long one around them ends last */
	assert_int_equal(sb_covered_add(&c, 5, 55), 0);
	assert_int_equal(sb_covered_add(&c, 70, 80), 10);
	assert_int_equal(sb_covered_add(&c, 62, 65), 3); /* late, and before the last */
	assert_int_equal(c.count, 3);
	sb_covered_done(&c);
}

static void too_many_parts_are_forgotten_but_never_counted_twice(void **state)
{
	struct sb_covered c = { 0 };
	int64_t sum = 0;

	for (int64_t i = 0; i < 10000; i++)
		sum += sb_covered_add(&c, i * 10, i * 10 + 5);
	assert_int_equal(sum, 50000);
	assert_true(c.count <= SB_COVERED_MAX);
	sum += sb_covered_add(&c, 0, 100000);
	assert_true(sum <= 100000 && sum > 50000);
	sb_covered_done(&c);
}

static void bins_hold_what_ran_at_once_only_once(void **state)
{
	const struct sb_coverage_range range = { 1000, 1000 + 1024 * 100 };
	struct sb_coverage a = { 0 }, b = { 0 };

	for (int i = 0; i < 5; i++)
		assert_true(sb_coverage_add(&a, &range, 1000, 1000 + 512 * 100));
	assert_int_equal(sb_coverage_ns(&a, &range), 512 * 100);
	assert_true(sb_coverage_add(&b, &range, 1000 + 256 * 100, 1000 + 768 * 100));
	assert_true(sb_coverage_join(&b, &a));
	assert_int_equal(sb_coverage_ns(&b, &range), 768 * 100);
	assert_true(sb_coverage_add(&b, &range, -5000, 9000000)); /* longer than the run */
	assert_int_equal(sb_coverage_ns(&b, &range), 1024 * 100);
	sb_coverage_done(&a);
	sb_coverage_done(&b);
}

static void task(struct synthetic *s, uint32_t track, uint64_t begin_ns, uint64_t end_ns, uint32_t name)
{
	sb_builder_switch(s->main, begin_ns, track);
	sb_builder_begin(s->main, begin_ns, name);
	sb_builder_switch(s->main, end_ns, track);
	sb_builder_end(s->main, end_ns, name);
}

/* Forty requests at once took 3726 % of a run that was 99.9 % unattributed. */
static void tasks_of_the_main_thread_share_its_wall_time(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *request;
	uint32_t name, tracks[4];

	synthetic_open(&s);
	synthetic_stage(&s, 0, 200 * MS, "prepare", 0);
	name = sb_builder_name(s.b, "request", NULL);
	for (int i = 0; i < 4; i++)
		tracks[i] = sb_builder_track(s.b, "task");
	for (int i = 0; i < 4; i++) {
		sb_builder_switch(s.main, 300 * MS, tracks[i]);
		sb_builder_begin(s.main, 300 * MS, name);
	}
	for (int i = 0; i < 4; i++) {
		sb_builder_switch(s.main, 900 * MS, tracks[i]);
		sb_builder_end(s.main, 900 * MS, name);
	}
	m = synthetic_model(&s, SECOND);
	request = sb_model_stage(m, "request");
	assert_near(request->total_s, 2.4, 1e-9);
	assert_near(request->covered_s, 0.6, 0.002);
	assert_near(request->wall_ratio, 0.6, 0.002);
	assert_near(request->self_ratio, 0.6, 0.002);
	assert_near(request->at_once_mean, 4, 0.02);
	assert_true(request->main_thread);
	assert_near(m->stages.unattributed_s, 0.2, 1e-9);
	assert_true(isnan(sb_model_stage(m, "prepare")->at_once_mean));
	synthetic_done(&s);
}

static void a_union_takes_intervals_in_any_order(void **state)
{
	struct sb_union u = { 0 };

	assert_true(sb_union_add(&u, 90, 110));
	assert_true(sb_union_add(&u, 0, 100));
	assert_true(sb_union_add(&u, 200, 210));
	assert_true(sb_union_add(&u, 5, 5));
	assert_int_equal(sb_union_ns(&u), 120);
	for (int64_t i = 0; i < 3 * (int64_t)SB_UNION_MAX; i++) /* gaps of 1 are the first to go */
		assert_true(sb_union_add(&u, 1000 + 10 * i, 1009 + 10 * i));
	assert_true(sb_union_ns(&u) >= 120 + 27 * (int64_t)SB_UNION_MAX);
	assert_true(sb_union_ns(&u) <= 120 + 30 * (int64_t)SB_UNION_MAX);
	sb_union_done(&u);
}

/* The same, by joining with a gap that doubles until enough are joined. */
struct slow_union {
	struct sb_covered_part parts[SB_UNION_MAX];
	uint32_t count;
};

static int by_begin(const void *a, const void *b)
{
	const struct sb_covered_part *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void slow_merge(struct slow_union *u, int64_t gap_ns)
{
	uint32_t kept = 0;

	qsort(u->parts, u->count, sizeof *u->parts, by_begin);
	for (uint32_t i = 0; i < u->count; i++) {
		struct sb_covered_part *last = kept ? &u->parts[kept - 1] : NULL;

		if (!last || u->parts[i].begin_ns - last->end_ns > gap_ns)
			u->parts[kept++] = u->parts[i];
		else if (u->parts[i].end_ns > last->end_ns)
			last->end_ns = u->parts[i].end_ns;
	}
	u->count = kept;
}

static void slow_add(struct slow_union *u, int64_t begin_ns, int64_t end_ns)
{
	struct sb_covered_part *last = u->count ? &u->parts[u->count - 1] : NULL;

	if (last && begin_ns >= last->begin_ns && begin_ns <= last->end_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return;
	}
	if (u->count == SB_UNION_MAX)
		for (int64_t gap_ns = 0; u->count > SB_UNION_MAX / 2; gap_ns = gap_ns ? gap_ns * 2 : 1)
			slow_merge(u, gap_ns);
	u->parts[u->count++] = (struct sb_covered_part){ begin_ns, end_ns };
}

static int64_t slow_ns(struct slow_union *u)
{
	int64_t sum_ns = 0;

	slow_merge(u, 0);
	for (uint32_t i = 0; i < u->count; i++)
		sum_ns += u->parts[i].end_ns - u->parts[i].begin_ns;
	return sum_ns;
}

static void a_full_union_joins_the_smallest_gaps(void **state)
{
	struct slow_union *slow = malloc(sizeof *slow);

	(void)state;
	assert_non_null(slow);
	for (int shape = 0; shape < 4; shape++) { /* in order, two threads, any order, far apart */
		struct sb_union u = { 0 };
		uint64_t random = 1;

		slow->count = 0;
		for (int64_t i = 0; i < 3 * (int64_t)SB_UNION_MAX; i++) {
			int64_t begin_ns, gap_ns;

			random = random * 6364136223846793005u + 1442695040888963407u;
			gap_ns = (int64_t)1 << (random >> 60) << (shape == 3 ? 24 : 0);
			begin_ns = shape == 1   ? i % SB_UNION_MAX * 50000 + i
				   : shape == 2 ? (int64_t)(random >> 30)
						: i * (gap_ns + 40000);
			assert_true(sb_union_add(&u, begin_ns, begin_ns + 30000));
			slow_add(slow, begin_ns, begin_ns + 30000);
		}
		assert_int_equal(sb_union_ns(&u), slow_ns(slow));
		sb_union_done(&u);
	}
	free(slow);
}

static void a_long_task_around_short_ones_is_attributed_once(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t server, request, one, other;

	synthetic_open(&s);
	server = sb_builder_name(s.b, "server", NULL);
	request = sb_builder_name(s.b, "request", NULL);
	one = sb_builder_track(s.b, "task 1");
	other = sb_builder_track(s.b, "task 2");
	sb_builder_switch(s.main, 100 * MS, one);
	sb_builder_begin(s.main, 100 * MS, server);
	task(&s, other, 300 * MS, 400 * MS, request);
	task(&s, other, 500 * MS, 600 * MS, request);
	sb_builder_switch(s.main, 900 * MS, one);
	sb_builder_end(s.main, 900 * MS, server);
	m = synthetic_model(&s, SECOND);
	assert_near(m->stages.unattributed_s, 0.2, 1e-9);
	assert_near(sb_model_stage(m, "request")->wall_ratio, 0.2, 1e-9);
	assert_true(isnan(sb_model_stage(m, "request")->at_once_mean));
	synthetic_done(&s);
}

static void threads_that_take_turns_do_not_overlap(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *other;
	struct sb_model *m;
	uint32_t name;

	synthetic_open(&s);
	name = sb_builder_name(s.b, "work", NULL);
	other = sb_builder_thread(s.b, 77, "worker");
	sb_builder_begin(s.main, 0, name);
	sb_builder_end(s.main, 400 * MS, 0);
	sb_builder_begin(other, 500 * MS, name);
	sb_builder_end(other, 900 * MS, 0);
	m = synthetic_model(&s, SECOND);
	assert_near(sb_model_stage(m, "work")->wall_ratio, 0.8, 1e-9);
	assert_true(isnan(sb_model_stage(m, "work")->at_once_mean));
	synthetic_done(&s);
}

static void a_duration_longer_than_the_run_takes_all_of_it_and_no_more(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *row;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 100 * MS, "work", 0);
	sb_builder_span(
		s.main, sb_builder_name(s.b, "measured", NULL), 0, -3 * SECOND, 4 * SECOND, 0, NULL, 0);
	m = synthetic_model(&s, SECOND);
	row = sb_model_stage(m, "measured");
	assert_near(row->total_s, 4, 1e-9);
	assert_near(row->wall_ratio, 1, 1e-6);
	assert_true(row->before_run && isnan(row->at_once_mean));
	synthetic_done(&s);
}

/* Turns of a training loop: 0.1 s of data, 0.3 s of model, measured from the end of one to the end of the next. */
static void a_measured_turn_of_a_loop_is_an_iteration_and_no_stage(void **state)
{
	const struct strobe_attr role = {
		.key = "strobe.role", .type = STROBE_TYPE_INT, .value.i = STROBE_ROLE_ITERATION
	};
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t at = 0; at < 2 * SECOND; at += 500 * MS) {
		synthetic_stage(&s, at + 100 * MS, at + 400 * MS, "model", 0);
		sb_builder_span(s.main, sb_builder_name(s.b, "turn", NULL), 0, at, 400 * MS, 0, &role, 1);
	}
	m = synthetic_model(&s, 2 * SECOND);
	assert_null(sb_model_stage(m, "turn"));
	assert_near(sb_model_stage(m, "model")->total_s, 1.2, 1e-9);
	assert_near(m->stages.unattributed_s, 0.8, 1e-9);
	assert_int_equal(m->iterations.count, 1);
	assert_string_equal(m->iterations.all[0].name, "turn");
	assert_int_equal(m->iterations.all[0].all.count, 4);
	assert_near(m->iterations.all[0].all.mean, 0.4, 1e-9);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_union_takes_intervals_in_any_order),
		cmocka_unit_test(a_full_union_joins_the_smallest_gaps),
		cmocka_unit_test(parts_join_whatever_order_they_began_in),
		cmocka_unit_test(too_many_parts_are_forgotten_but_never_counted_twice),
		cmocka_unit_test(bins_hold_what_ran_at_once_only_once),
		cmocka_unit_test(tasks_of_the_main_thread_share_its_wall_time),
		cmocka_unit_test(a_long_task_around_short_ones_is_attributed_once),
		cmocka_unit_test(threads_that_take_turns_do_not_overlap),
		cmocka_unit_test(a_duration_longer_than_the_run_takes_all_of_it_and_no_more),
		cmocka_unit_test(a_measured_turn_of_a_loop_is_an_iteration_and_no_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
