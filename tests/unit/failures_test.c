/* Generations that an error ended, in synthetic recordings: the innermost stage that the error left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

/* A zone begins one millisecond after the last word, and so on. */
static uint64_t now_ns;

static void enter(struct synthetic *s, const char *name)
{
	synthetic_begin(s, now_ns += MS, name, !strcmp(name, "video") ? STROBE_ROLE_GENERATION : 0);
}

/* error: its class; NULL: the zone ends well */
static void leave(struct synthetic *s, const char *error)
{
	if (error)
		synthetic_text(s, "error", error);
	synthetic_end(s, now_ns += MS);
}

static void whole(struct synthetic *s, const char *name, const char *error)
{
	enter(s, name);
	leave(s, error);
}

static const struct sb_generation *only(struct synthetic *s)
{
	const struct sb_model *m = synthetic_model(s, now_ns + SECOND);

	assert_int_equal(m->generations.count, 1);
	assert_string_equal(m->generations.all[0].state, "failed");
	return &m->generations.all[0];
}

static int open_one(void **state)
{
	static struct synthetic s;

	now_ns = 0;
	synthetic_open(&s);
	*state = &s;
	return 0;
}

static int done_one(void **state)
{
	synthetic_done(*state);
	return 0;
}

static void an_error_comes_from_the_innermost_zone_it_leaves(void **state)
{
	enter(*state, "video");
	enter(*state, "denoise");
	whole(*state, "scheduler", NULL);
	whole(*state, "transformer", "RuntimeError");
	leave(*state, "RuntimeError");
	leave(*state, "RuntimeError");
	assert_string_equal(only(*state)->error_stage, "transformer");
}

static void an_error_of_the_generation_itself_has_no_stage(void **state)
{
	enter(*state, "video");
	whole(*state, "denoise", NULL);
	leave(*state, "ValueError");
	assert_string_equal(only(*state)->failure, "ValueError"); /* and no " in ..." */
}

/* The first one was caught. */
static void of_two_errors_of_one_class_the_second_counts(void **state)
{
	enter(*state, "video");
	whole(*state, "text_encode", "RuntimeError");
	enter(*state, "denoise");
	leave(*state, "RuntimeError");
	leave(*state, "RuntimeError");
	assert_string_equal(only(*state)->error_stage, "denoise");
}

static void a_caught_error_of_another_class_does_not_count(void **state)
{
	enter(*state, "video");
	whole(*state, "denoise", "RuntimeError");
	leave(*state, "ValueError");
	assert_null(only(*state)->error_stage);
}

/* It may be what was tried next, or what a finally block does: nobody knows, and nothing is claimed. */
static void a_zone_that_ends_well_ends_the_search(void **state)
{
	enter(*state, "video");
	enter(*state, "denoise");
	whole(*state, "transformer", "RuntimeError");
	whole(*state, "clean_up", NULL);
	leave(*state, "RuntimeError");
	leave(*state, "RuntimeError");
	assert_string_equal(only(*state)->error_stage, "denoise");
}

static void the_error_of_the_video_before_does_not_count(void **state)
{
	const struct sb_model *m;

	enter(*state, "video");
	whole(*state, "denoise", "RuntimeError");
	leave(*state, "RuntimeError");
	whole(*state, "video", "RuntimeError");
	m = synthetic_model(*state, now_ns + SECOND);
	assert_int_equal(m->generations.failed_count, 2);
	assert_string_equal(m->generations.all[0].error_stage, "denoise");
	assert_null(m->generations.all[1].error_stage);
}

static void errors_of_other_threads_do_not_count(void **state)
{
	struct synthetic *s = *state;
	struct sb_stream_writer *main = s->main, *other = sb_builder_thread(s->b, 1, "other");

	enter(s, "video");
	enter(s, "denoise");
	s->main = other;
	enter(s, "fetch");
	whole(s, "read", "RuntimeError");
	leave(s, NULL);
	s->main = main;
	leave(s, "RuntimeError");
	leave(s, "RuntimeError");
	assert_string_equal(only(s)->error_stage, "denoise");
}

static void a_framework_may_name_the_stage_itself(void **state)
{
	enter(*state, "video");
	whole(*state, "denoise", "OutOfMemoryError");
	synthetic_text(*state, "error_stage", "KSampler");
	leave(*state, "torch.OutOfMemoryError");
	assert_string_equal(only(*state)->failure, "torch.OutOfMemoryError in KSampler");
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_one, done_one)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(an_error_comes_from_the_innermost_zone_it_leaves),
		test(an_error_of_the_generation_itself_has_no_stage),
		test(of_two_errors_of_one_class_the_second_counts),
		test(a_caught_error_of_another_class_does_not_count),
		test(a_zone_that_ends_well_ends_the_search),
		test(the_error_of_the_video_before_does_not_count),
		test(errors_of_other_threads_do_not_count),
		test(a_framework_may_name_the_stage_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
