/* The pass: nesting, tracks, several writers and processes on one axis, cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <sys/stat.h>

struct seen {
	struct sb_run *run;
	char text[4096]; /* "name begin-end/child flags;" for each zone */
};

static void see_zone(void *self, const struct sb_zone *z)
{
	struct seen *s = self;
	size_t used = strlen(s->text);

	snprintf(s->text + used, sizeof s->text - used, "%s %lld-%lld/%lld%s%s%s%s%s;",
		s->run->names[z->name].text, (long long)z->begin_ns, (long long)z->end_ns,
		(long long)z->child_ns, z->flags & SB_ZONE_OPEN ? " open" : "",
		z->flags & SB_ZONE_POPPED ? " popped" : "", z->flags & SB_ZONE_CLIPPED ? " clipped" : "",
		z->flags & SB_ZONE_SPAN ? " span" : "", z->flags & SB_ZONE_RECURSIVE ? " recursive" : "");
}

static void expect_run(const char *path, const struct sb_cut *cut, const char *expected)
{
	struct seen s = { 0 };
	struct sb_visitor v = { .self = &s, .roles = SB_EVERY_ZONE, .zone = see_zone };

	assert_int_equal(sb_run_open(path, cut, &s.run), 0);
	assert_int_equal(sb_run_visit(s.run, &v, 1), 0);
	assert_string_equal(s.text, expected);
	sb_run_close(s.run);
}

static void expect(struct synthetic *s, uint64_t end_ns, const char *expected)
{
	assert_int_equal(sb_builder_close(s->b, end_ns), 0);
	expect_run(s->path, NULL, expected);
	unlink(s->path);
}

static void children_come_first_and_are_not_their_parents_own_time(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	synthetic_begin(&s, 100, "a", 0);
	synthetic_begin(&s, 200, "b", 0);
	synthetic_end(&s, 300);
	synthetic_begin(&s, 400, "c", 0);
	synthetic_end(&s, 450);
	synthetic_end(&s, 500);
	expect(&s, 1000, "b 200-300/0;c 400-450/0;a 100-500/150;");
}

static void an_end_with_a_name_closes_what_is_open_inside(void **state)
{
	struct synthetic s;
	uint32_t a;

	synthetic_open(&s);
	a = synthetic_begin(&s, 100, "a", 0);
	synthetic_begin(&s, 200, "b", 0);
	synthetic_begin(&s, 300, "c", 0);
	sb_builder_end(s.main, 400, a);
	expect(&s, 1000, "c 300-400/0 popped;b 200-400/100 popped;a 100-400/200;");
}

static void ends_without_a_beginning_are_ignored_and_counted(void **state)
{
	struct synthetic s;
	struct sb_run *run;

	synthetic_open(&s);
	synthetic_end(&s, 50);
	synthetic_begin(&s, 100, "a", 0);
	sb_builder_end(s.main, 150, sb_builder_name(s.b, "never begun", NULL));
	synthetic_end(&s, 200);
	assert_int_equal(sb_builder_close(s.b, 1000), 0);
	assert_int_equal(sb_run_open(s.path, NULL, &run), 0);
	assert_int_equal(sb_run_visit(run, NULL, 0), 0);
	assert_int_equal(sb_run_pass(run)->unmatched_ends, 2);
	assert_int_equal(sb_run_pass(run)->zones, 1);
	sb_run_close(run);
	unlink(s.path);
}

static void zones_that_never_ended_are_open_until_the_end(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	synthetic_begin(&s, 100, "a", 0);
	synthetic_begin(&s, 200, "b", 0);
	expect(&s, 1000, "b 200-1000/0 open;a 100-1000/800 open;");
}

static void a_measured_duration_belongs_into_the_zone_around_it(void **state)
{
	struct synthetic s;
	uint32_t d;

	synthetic_open(&s);
	d = sb_builder_name(s.b, "measured", NULL);
	synthetic_begin(&s, 100, "a", 0);
	sb_builder_span(s.main, d, 0, 150, 100, 0, NULL, 0);
	sb_builder_span(s.main, d, 0, 200, 100, 0, NULL, 0); /* overlaps: its time counts once */
	sb_builder_span(s.main, d, 7, 150, 300, 0, NULL, 0); /* a span with an id is beside, not inside */
	synthetic_end(&s, 500);
	expect(&s, 1000,
		"measured 150-250/0 span;measured 200-300/0 span;measured 150-450/0 span;a 100-500/150;");
}

static void recursion_stays_one_stage(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_stage *row;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "f", 0);
	synthetic_begin(&s, 100, "g", 0);
	synthetic_begin(&s, 200, "f", 0);
	synthetic_end(&s, 300);
	synthetic_end(&s, 400);
	synthetic_end(&s, 500);
	m = synthetic_model(&s, 500);
	assert_int_equal(m->stages.stage_count, 2);
	row = sb_model_stage(m, "f");
	assert_int_equal(row->count, 1); /* total, mean and count are all of the outermost */
	assert_int_equal(row->recursive_count, 1);
	assert_true(fabs(row->total_s - 500e-9) < 1e-15); /* once, not 600 */
	assert_true(fabs(row->self_s - (200 + 100) * 1e-9) < 1e-15);
	assert_true(fabs(row->time.mean - 500e-9) < 1e-15);
	synthetic_done(&s);
}

static void two_writers_of_a_thread_are_merged_by_time(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *second;
	uint32_t a, b;

	synthetic_open(&s);
	second = sb_builder_thread(s.b, 0, NULL); /* the same thread through another copy of the library */
	a = sb_builder_name(s.b, "a", NULL);
	b = sb_builder_name(s.b, "b", NULL);
	sb_builder_begin(s.main, 100, a);
	sb_builder_begin(second, 200, b);
	sb_builder_end(second, 300, b);
	sb_builder_end(s.main, 400, a);
	expect(&s, 1000, "b 200-300/0;a 100-400/100;");
}

static void a_task_may_begin_on_one_thread_and_end_on_another(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *other;
	uint32_t task, a;

	synthetic_open(&s);
	other = sb_builder_thread(s.b, 77, "pool");
	task = sb_builder_track(s.b, "request");
	a = sb_builder_name(s.b, "a", NULL);
	sb_builder_switch(other, 300, task); /* this thread is read first or second: it must not matter */
	sb_builder_end(other, 400, a);
	sb_builder_begin(s.main, 50, sb_builder_name(s.b, "main", NULL));
	sb_builder_switch(s.main, 100, task);
	sb_builder_begin(s.main, 200, a);
	sb_builder_switch(s.main, 250, 0);
	sb_builder_end(s.main, 500, 0);
	expect(&s, 1000, "a 200-400/0;main 50-500/0;");
}

static void words_far_apart_keep_their_times(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	synthetic_begin(&s, 100, "a", 0);
	synthetic_end(&s, 100 + (UINT64_C(1) << 41)); /* past 40 bits: a REBASE */
	expect(&s, UINT64_C(1) << 42, "a 100-2199023255652/0;");
}

static void a_cut_clips_what_reaches_over_its_borders(void **state)
{
	struct synthetic s;
	struct sb_cut cut = { .has_from = true, .from_ns = 250, .has_to = true, .to_ns = 600 };

	synthetic_open(&s);
	synthetic_begin(&s, 100, "a", 0);
	synthetic_begin(&s, 150, "before", 0);
	synthetic_end(&s, 200);
	synthetic_begin(&s, 300, "inside", 0);
	synthetic_end(&s, 400);
	synthetic_begin(&s, 500, "over", 0);
	synthetic_end(&s, 700);
	synthetic_end(&s, 800);
	assert_int_equal(sb_builder_close(s.b, 1000), 0);
	expect_run(s.path, &cut, "inside 300-400/0;over 500-600/0 clipped;a 250-600/200 clipped;");
	cut = (struct sb_cut){ .last_ns = 250 };
	expect_run(s.path, &cut, "a 750-800/0 clipped;");
	unlink(s.path);
}

static void a_generation_can_be_cut_out(void **state)
{
	struct synthetic s;
	struct sb_cut cut = { .generation = 2 };
	struct sb_run *run;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_begin(&s, i * 100, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(&s, i * 100 + 10, "step", STROBE_ROLE_STEP);
		synthetic_end(&s, i * 100 + 60);
		synthetic_end(&s, i * 100 + 90);
	}
	assert_int_equal(sb_builder_close(s.b, 1000), 0);
	expect_run(s.path, &cut, "step 110-160/0;video 100-190/50;");
	cut.generation = 4;
	assert_int_equal(sb_run_open(s.path, &cut, &run), STROBE_EINVAL);
	unlink(s.path);
}

static void a_visitor_may_want_long_zones_or_those_with_attributes(void **state)
{
	struct synthetic s;
	struct seen seen[2] = { { 0 }, { 0 } };
	struct sb_visitor v[] = {
		{ .self = &seen[0], .roles = SB_EVERY_ZONE, .only_long = true, .zone = see_zone },
		{ .self = &seen[1], .roles = SB_EVERY_ZONE, .only_with_attrs = true, .zone = see_zone },
	};

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_end(&s, 10);
	synthetic_begin(&s, 10, "short", 0);
	synthetic_attr(&s, "frames", 3);
	synthetic_end(&s, 10 + SB_LONG_ZONE_NS - 1);
	synthetic_stage(&s, 200000, 200000 + SB_LONG_ZONE_NS, "long", 0);
	assert_int_equal(sb_builder_close(s.b, 1000000), 0);
	assert_int_equal(sb_run_open(s.path, NULL, &seen[0].run), 0);
	seen[1].run = seen[0].run;
	assert_int_equal(sb_run_visit(seen[0].run, v, 2), 0);
	assert_string_equal(seen[0].text, "video 0-10/0;long 200000-300000/0;");
	assert_string_equal(seen[1].text, "short 10-100009/0;");
	sb_run_close(seen[0].run);
	unlink(s.path);
}

/* More pairs of parent and name than are remembered at once. */
static void names_that_take_turns_keep_their_paths(void **state)
{
	enum { NAMES = 600 };
	struct synthetic s;
	struct seen seen = { 0 };
	uint32_t first, count;

	synthetic_open(&s);
	for (unsigned i = 0; i < 3 * NAMES; i++) {
		char name[16];

		snprintf(name, sizeof name, "n%u", i % NAMES);
		synthetic_begin(&s, i * 10, name, 0);
		synthetic_begin(&s, i * 10 + 1, "in", 0);
		synthetic_end(&s, i * 10 + 2);
		synthetic_end(&s, i * 10 + 3);
	}
	assert_int_equal(sb_builder_close(s.b, 100000), 0);
	assert_int_equal(sb_run_open(s.path, NULL, &seen.run), 0);
	assert_int_equal(sb_run_visit(seen.run, NULL, 0), 0);
	first = sb_run_path_count(seen.run);
	assert_int_equal(first, 1 + 2 * NAMES);
	assert_int_equal(sb_run_visit(seen.run, NULL, 0), 0);
	count = sb_run_path_count(seen.run);
	assert_int_equal(count, first);
	sb_run_close(seen.run);
	unlink(s.path);
}

/* The tool's own file and a child's, with clocks of the same boot. */
static void processes_of_a_run_share_one_axis(void **state)
{
	char folder[] = "/tmp/strobe-events-XXXXXX", path[96];
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct strobe_attr tool = { .key = "tool", .type = STROBE_TYPE_INT, .value.i = 1 };
	struct sb_builder *b;
	struct sb_stream_writer *w;

	assert_non_null(mkdtemp(folder));
	o.pid = 50;
	snprintf(path, sizeof path, "%s/run.strobe", folder);
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	sb_builder_meta(b, SB_META_RUN, &tool);
	assert_int_equal(sb_builder_close(b, 5000), 0);
	o.pid = 60;
	o.ppid = 50;
	o.start_mono_ns = 1000000000 + 700;
	snprintf(path, sizeof path, "%s/run.60.strobe", folder);
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	sb_builder_begin(w, 100, sb_builder_name(b, "child", NULL));
	sb_builder_end(w, 300, 0);
	assert_int_equal(sb_builder_close(b, 1000), 0);
	expect_run(folder, NULL, "child 800-1000/0;");
	unlink(path);
	snprintf(path, sizeof path, "%s/run.strobe", folder);
	unlink(path);
	rmdir(folder);
}

/* Each of these words would look at every open zone. */
static void zones_and_spans_cost_little_however_many_zones_are_open(void **state)
{
	struct synthetic s;
	struct sb_run *run;
	uint32_t a, b;

	synthetic_open(&s);
	a = sb_builder_name(s.b, "a", NULL);
	b = sb_builder_name(s.b, "b", NULL);
	for (uint64_t i = 0; i < 300000; i++)
		sb_builder_begin(s.main, 10 + i, a);
	for (uint64_t i = 0; i < 300000; i++) {
		sb_builder_begin(s.main, 400000 + 2 * i, b);
		sb_builder_end(s.main, 400001 + 2 * i, b);
		sb_builder_span(s.main, b, 0, 5, 1, 0, NULL, 0);
	}
	assert_int_equal(sb_builder_close(s.b, 2000000), 0);
	assert_int_equal(sb_run_open(s.path, NULL, &run), 0);
	assert_int_equal(sb_run_visit(run, NULL, 0), 0);
	assert_int_equal(sb_run_pass(run)->zones, 900000);
	sb_run_close(run);
	unlink(s.path);
}

/* Each of these ends would look at every open zone. */
static void ends_that_match_nothing_cost_little_however_many_zones_are_open(void **state)
{
	struct synthetic s;
	struct sb_run *run;
	uint32_t a, b;

	synthetic_open(&s);
	a = sb_builder_name(s.b, "a", NULL);
	b = sb_builder_name(s.b, "b", NULL);
	for (uint64_t i = 0; i < 300000; i++)
		sb_builder_begin(s.main, 10 + i, a);
	for (uint64_t i = 0; i < 300000; i++)
		sb_builder_end(s.main, 400000 + i, b);
	assert_int_equal(sb_builder_close(s.b, 1000000), 0);
	assert_int_equal(sb_run_open(s.path, NULL, &run), 0);
	assert_int_equal(sb_run_visit(run, NULL, 0), 0);
	assert_int_equal(sb_run_pass(run)->unmatched_ends, 300000);
	assert_int_equal(sb_run_pass(run)->zones, 300000);
	sb_run_close(run);
	unlink(s.path);
}

/* Deeper than anything reads, every level under a name of its own. */
static void nesting_without_end_is_recursion_of_what_is_around(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 20000; i++) {
		char name[32];

		snprintf(name, sizeof name, "level%c%c%c%c", 'a' + (int)(i % 26), 'a' + (int)(i / 26 % 26),
			'a' + (int)(i / 676 % 26), 'a' + (int)(i / 17576));
		synthetic_begin(&s, 10 + i, name, 0);
	}
	m = synthetic_model(&s, 100000);
	assert_int_equal(m->stages.stage_count, 1024);
	synthetic_done(&s);
}

/* A key more is compared with all that are there: sixty thousand would take minutes. */
static void what_a_run_says_about_itself_is_bounded(void **state)
{
	struct strobe_attr tag = { .type = STROBE_TYPE_INT };
	const char *column = "used_bytes";
	double value = 1;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (int i = 0; i < 60000; i++) {
		char key[32];

		snprintf(key, sizeof key, "key %d", i);
		tag.key = key;
		sb_builder_meta(s.b, SB_META_TAG, &tag);
		sb_builder_meta_string(s.b, SB_META_MISSING, key, "why|how");
		sb_builder_sample(s.b, sb_builder_schema(s.b, "gpu", i, &column, 1), 10, &value, 1);
	}
	m = synthetic_model(&s, 100000);
	assert_int_equal(m->session.tag_count, 1024);
	assert_in_range(m->missing.count, 1, 256);
	assert_int_equal(m->series_count, 8192);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_come_first_and_are_not_their_parents_own_time),
		cmocka_unit_test(an_end_with_a_name_closes_what_is_open_inside),
		cmocka_unit_test(ends_without_a_beginning_are_ignored_and_counted),
		cmocka_unit_test(zones_that_never_ended_are_open_until_the_end),
		cmocka_unit_test(a_measured_duration_belongs_into_the_zone_around_it),
		cmocka_unit_test(recursion_stays_one_stage),
		cmocka_unit_test(two_writers_of_a_thread_are_merged_by_time),
		cmocka_unit_test(a_task_may_begin_on_one_thread_and_end_on_another),
		cmocka_unit_test(words_far_apart_keep_their_times),
		cmocka_unit_test(a_cut_clips_what_reaches_over_its_borders),
		cmocka_unit_test(a_generation_can_be_cut_out),
		cmocka_unit_test(a_visitor_may_want_long_zones_or_those_with_attributes),
		cmocka_unit_test(names_that_take_turns_keep_their_paths),
		cmocka_unit_test(processes_of_a_run_share_one_axis),
		cmocka_unit_test(zones_and_spans_cost_little_however_many_zones_are_open),
		cmocka_unit_test(ends_that_match_nothing_cost_little_however_many_zones_are_open),
		cmocka_unit_test(nesting_without_end_is_recursion_of_what_is_around),
		cmocka_unit_test(what_a_run_says_about_itself_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
