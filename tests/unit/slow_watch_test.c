/* What a watch for slow moments says that it looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

static void watch(struct synthetic *s, double ratio)
{
	const struct strobe_attr attr = { SB_RUN_SLOW_WATCH, STROBE_TYPE_FLOAT, { .f = ratio } };

	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

static void judged(struct synthetic *s, const char *text)
{
	const struct strobe_attr attr = TEXT(SB_RUN_SLOW_JUDGED, text);

	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

static const struct sb_slow_watch *watch_of(struct synthetic *s)
{
	return &synthetic_model(s, SECOND)->slow_moments.watch;
}

static void a_watch_says_how_many_it_judged(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	watch(&s, 1.5);
	judged(&s, "64 56 4 0");
	judged(&s, "10 6 8 4"); /* of a second watch, or another process */
	assert_string_equal(watch_of(&s)->words, "watched for what takes more than 1.5 times its peers: 62 "
						 "of 74 steps and 4 of 12 generations "
						 "judged, none was slow");
	synthetic_done(&s);
}

static void kept(struct synthetic *s, const char *key, uint64_t second)
{
	char text[96];
	const struct strobe_attr attr = TEXT(key, text);
	uint64_t begin = sb_builder_ticks_at(s->b, second * SECOND);
	bool gone = !strcmp(key, SB_RUN_SLOW_DISPLACED);

	snprintf(text, sizeof text, gone ? "step %llu" : "step clock %llu %llu 0 0 1",
		(unsigned long long)begin, (unsigned long long)begin + 1000);
	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

static void a_watch_says_what_it_did_not_keep(void **state)
{
	const struct strobe_attr unkept = INT(SB_RUN_SLOW_UNKEPT, 3), one = INT(SB_RUN_SLOW_UNKEPT, 1),
				 none_lost = INT(SB_RUN_SLOW_LOST, 0);
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	watch(&s, 1.5);
	judged(&s, "64 56 4 0");
	kept(&s, SB_RUN_SLOW_MOMENT, 1);
	kept(&s, SB_RUN_SLOW_MOMENT, 2);
	kept(&s, SB_RUN_SLOW_DISPLACED, 1);
	kept(&s, SB_RUN_SLOW_MOMENT, 3);
	sb_builder_meta(s.b, SB_META_RUN, &unkept);
	sb_builder_meta(s.b, SB_META_RUN, &one); /* of another watch */
	sb_builder_meta(s.b, SB_META_RUN, &none_lost);
	assert_string_equal(watch_of(&s)->words,
		"watched for what takes more than 1.5 times its peers: 56 of 64 steps judged, 2 slow ones "
		"were kept, 1 gave way to a slower one, 4 more, none of them slower, were not kept");
	assert_int_equal(s.model->slow_moments.watch.displaced, 1);
	synthetic_done(&s);
}

/* What is not known, or not so, is not said. */
static void a_watch_claims_the_worst_ones_only_where_they_are_kept(void **state)
{
	static const struct {
		int64_t lost; /* -1: not written, as by older ones */
		const char *words;
	} cases[] = {
		{ -1, "1 slow one was kept, 2 more were not kept" },
		{ 0, "1 slow one was kept, 2 more, none of them slower, were not kept" },
		{ 1, "1 slow one was kept, 2 more were not kept (some that were slower were lost)" },
	};
	const struct strobe_attr unkept = INT(SB_RUN_SLOW_UNKEPT, 2);
	struct synthetic s;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct strobe_attr lost = INT(SB_RUN_SLOW_LOST, cases[i].lost);

		synthetic_open(&s);
		watch(&s, 1.5);
		judged(&s, "64 56 4 0");
		kept(&s, SB_RUN_SLOW_MOMENT, 1);
		sb_builder_meta(s.b, SB_META_RUN, &unkept);
		if (cases[i].lost >= 0)
			sb_builder_meta(s.b, SB_META_RUN, &lost);
		assert_string_equal(strstr(watch_of(&s)->words, "judged, ") + 8, cases[i].words);
		synthetic_done(&s);
	}
}

/* It took the place of a slow one, and is none itself. */
static void what_was_asked_for_is_no_slower_one(void **state)
{
	const struct strobe_attr asked = TEXT(SB_RUN_SLOW_MOMENT, "asked - 5 6 0 0 0 now");
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	watch(&s, 1.5);
	judged(&s, "64 56 4 0");
	kept(&s, SB_RUN_SLOW_MOMENT, 1);
	kept(&s, SB_RUN_SLOW_DISPLACED, 1);
	sb_builder_meta(s.b, SB_META_RUN, &asked);
	assert_string_equal(strstr(watch_of(&s)->words, "judged, ") + 8,
		"no slow one was kept, 1 gave way to what was asked for");
	synthetic_done(&s);
}

static void a_watch_of_an_older_strobe_says_nothing_of_that(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	watch(&s, 1.5);
	judged(&s, "64 56 4 0");
	kept(&s, SB_RUN_SLOW_MOMENT, 1);
	assert_true(!strcmp(strstr(watch_of(&s)->words, "judged"), "judged, 1 slow one was kept"));
	assert_int_equal(s.model->slow_moments.watch.unkept, -1);
	synthetic_done(&s);
}

static void a_watch_that_did_not_end_says_so(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	watch(&s, 2);
	assert_non_null(strstr(watch_of(&s)->words, "what it judged is not known"));
	assert_int_equal(s.model->slow_moments.watch.steps, -1);
	synthetic_done(&s);
}

static void a_watch_that_strobe_did_not_write_is_ignored(void **state)
{
	static const double ratios[] = { INFINITY, NAN, -1, 0, 1, 1e300 };
	static const char *const texts[] = { "", "x", "1 2 3", "-1 2 3 4", "99999999999 0 0 0" };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
		watch(&s, ratios[i]);
	assert_false(watch_of(&s)->known);
	synthetic_done(&s);
	synthetic_open(&s);
	watch(&s, 1.5);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		judged(&s, texts[i]);
	assert_int_equal(watch_of(&s)->steps, -1);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_watch_says_how_many_it_judged),
		cmocka_unit_test(a_watch_says_what_it_did_not_keep),
		cmocka_unit_test(a_watch_claims_the_worst_ones_only_where_they_are_kept),
		cmocka_unit_test(what_was_asked_for_is_no_slower_one),
		cmocka_unit_test(a_watch_of_an_older_strobe_says_nothing_of_that),
		cmocka_unit_test(a_watch_that_did_not_end_says_so),
		cmocka_unit_test(a_watch_that_strobe_did_not_write_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
