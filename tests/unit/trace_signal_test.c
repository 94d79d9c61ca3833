/* The signal that asks for a trace: what it says of one session, and leaves to the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "gpu/trace_signal.h"

#include <signal.h>

static int rung_count;

static void ring(void)
{
	rung_count++;
}

static void one_that_came_with_the_end_is_none_of_the_next_session(void **state)
{
	sb_trace_signal_begin();
	sb_trace_signal_take(ring);
	raise(SIGUSR2);
	sb_trace_signal_leave();
	assert_true(sb_trace_signal_waits());
	assert_null(sb_trace_signal_why_none());
	sb_trace_signal_begin();
	assert_false(sb_trace_signal_waits());
	sb_trace_signal_take(ring);
	sb_trace_signal_leave();
	assert_string_equal(sb_trace_signal_why_none(), SB_NO_SIGNAL);
}

static void between_sessions_it_does_nothing(void **state)
{
	int before;

	sb_trace_signal_begin();
	sb_trace_signal_take(ring);
	sb_trace_signal_leave();
	before = rung_count;
	raise(SIGUSR2);
	assert_int_equal(rung_count, before);
	assert_false(sb_trace_signal_waits());
	assert_true(sb_trace_signal_free()); /* for the next session */
}

static void one_that_the_program_takes_is_left_to_it(void **state)
{
	sb_trace_signal_begin();
	sb_trace_signal_take(ring);
	signal(SIGUSR2, SIG_IGN);
	sb_trace_signal_leave();
	assert_string_equal(sb_trace_signal_why_none(), SB_SIGNAL_THEIRS);
	assert_false(sb_trace_signal_free());
	signal(SIGUSR2, SIG_DFL);
	assert_true(sb_trace_signal_free());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_came_with_the_end_is_none_of_the_next_session),
		cmocka_unit_test(between_sessions_it_does_nothing),
		cmocka_unit_test(one_that_the_program_takes_is_left_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
