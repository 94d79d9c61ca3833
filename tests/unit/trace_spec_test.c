/* How long a GPU trace lasts, as people ask for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "record/settings.h"
#include "record/trace_spec.h"

#include <stdio.h>
#include <string.h>

static void traces_are_asked_for_in_words(void **state)
{
	struct sb_trace_spec spec;

	assert_int_equal(sb_trace_spec_parse("", &spec), 0);
	assert_int_equal(spec.bound, SB_TRACE_ALL);
	assert_int_equal(sb_trace_spec_parse("all", &spec), 0);
	assert_int_equal(sb_trace_spec_parse("steps:3", &spec), 0);
	assert_int_equal(spec.steps, 3);
	assert_int_equal(spec.skip, 1);
	assert_int_equal(sb_trace_spec_parse("steps:5@10", &spec), 0);
	assert_int_equal(spec.skip, 10);
	assert_int_equal(sb_trace_spec_parse("seconds:2.5", &spec), 0);
	assert_true(spec.seconds == 2.5);
	assert_int_equal(sb_trace_spec_parse("slow:1.5", &spec), 0);
	assert_int_equal(spec.bound, SB_TRACE_SLOW);
	assert_true(spec.slow_ratio == 1.5);
	assert_int_equal(spec.moments, SB_TRACE_MOMENTS_DEFAULT);
	assert_int_equal(sb_trace_spec_parse("slow:2,10", &spec), 0);
	assert_int_equal(spec.moments, 10);
}

/* The setting is refused where the trace would be: at the command line, not in the program. */
static void the_setting_and_the_trace_refuse_the_same(void **state)
{
	static const char *const wrong[] = { "steps:0", "steps:3x", "steps:3@", "steps:3@x", "steps:0.5",
		"steps:2.5", "steps:1e12", "seconds:0", "seconds:0.0001", "seconds:nan", "seconds:5@1",
		"minutes:3", "al", "slow:", "slow:1", "slow:nan", "slow:1.5,", "slow:1.5,0", "slow:1.5,101",
		"slow:1.5,2x", "slow:2,1.5", NULL };
	static const char *const right[] = { "", "all", "steps:1", "steps:3@0", "seconds:0.001", "slow:1.01",
		"slow:1.5,100", NULL };
	static struct sb_settings settings;
	const struct sb_setting *setting = sb_setting_find("gpu_trace");
	struct sb_trace_spec spec;

	for (const char *const *text = wrong; *text; text++) {
		if (!sb_trace_spec_parse(*text, &spec) || !sb_settings_set(&settings, setting, *text))
			fail_msg("'%s' was taken", *text);
	}
	for (const char *const *text = right; *text; text++) {
		assert_int_equal(sb_trace_spec_parse(*text, &spec), 0);
		assert_int_equal(sb_settings_set(&settings, setting, *text), 0);
	}
}

static void a_refusal_says_what_would_fit_there(void **state)
{
	static const struct {
		const char *key, *text, *takes;
	} refused[] = {
		{ "gpu_trace", "minutes:3",
			"all, steps:3, steps:3@10 (after ten steps), seconds:5, slow:1.5 or slow:1.5,3 (the "
			"worst "
			"three)" },
		{ "gpu_trace", "steps:0", "steps:N or steps:N@AFTER, whole numbers, N from 1" },
		{ "gpu_trace", "seconds:0", "seconds:N, N from 0.001" },
		{ "gpu_trace", "slow:1", "slow:RATIO or slow:RATIO,N, the RATIO from 1.01" },
		{ "gpu_trace", "slow:1.5,0", "slow:RATIO,N, N a whole number from 1 to 100" },
		{ "gpu_trace", "slow:1.5,-1", "slow:RATIO,N, N a whole number from 1 to 100" },
		{ "gpu_trace", "slow:1.5,99999999", "slow:RATIO,N, N a whole number from 1 to 100" },
		{ "gpu_counters", "much",
			"all, steps:3, steps:3@10 (after ten steps), seconds:5, signal or slow" },
		{ "gpu_counters", "slow:1.5", "slow alone (the GPU trace says how slow: slow:1.5)" },
		{ "gpu_counters", "steps:0", "steps:N or steps:N@AFTER, whole numbers, N from 1" },
	};
	static struct sb_settings settings;
	struct sb_trace_spec spec;
	char expected[300];

	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		assert_true(sb_settings_set(&settings, sb_setting_find(refused[i].key), refused[i].text));
		snprintf(expected, sizeof expected, "'%s' takes %s, not '%s'", refused[i].key,
			refused[i].takes, refused[i].text);
		assert_string_equal(sb_error_message(), expected);
	}
	assert_true(sb_trace_spec_parse("slow:1.5,101", &spec));
	assert_string_equal(sb_error_message(),
		"gpu trace 'slow:1.5,101': use slow:RATIO,N, N a whole number from 1 to 100");
}

static void counters_are_refused_by_their_own_name(void **state)
{
	static const struct {
		const char *text, *message;
	} refused[] = {
		{ "slow:0", "gpu counters 'slow:0': use slow alone (the GPU trace says how slow: slow:1.5)" },
		{ "steps:0",
			"gpu counters 'steps:0': use steps:N or steps:N@AFTER, whole numbers, N from 1" },
		{ "signal", "gpu counters 'signal': use all, steps:3, steps:3@10 (after ten steps), "
			    "seconds:5, or slow beside a GPU trace of slow:1.5" },
	};
	struct sb_trace_spec spec;

	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		assert_true(sb_counters_spec_parse(refused[i].text, &spec));
		assert_string_equal(sb_error_message(), refused[i].message);
	}
	assert_int_equal(sb_counters_spec_parse("", &spec), 0);
	assert_int_equal(sb_counters_spec_parse("steps:2@0", &spec), 0);
	assert_int_equal(spec.steps, 2);
}

static void counters_of_slow_moments_need_a_trace_that_finds_them(void **state)
{
	static const char *const traces[] = { "", "steps:3", "all" };
	static struct sb_settings settings;

	for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
		sb_settings_set(&settings, sb_setting_find("gpu_counters"), "slow");
		sb_settings_set(&settings, sb_setting_find("gpu_trace"), traces[i]);
		assert_true(sb_settings_agree(&settings));
	}
	sb_settings_set(&settings, sb_setting_find("gpu_trace"), "slow:1.5,3");
	assert_int_equal(sb_settings_agree(&settings), 0);
	sb_settings_set(&settings, sb_setting_find("gpu_counters"), "signal");
	sb_settings_set(&settings, sb_setting_find("gpu_trace"), "");
	assert_int_equal(sb_settings_agree(&settings), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces_are_asked_for_in_words),
		cmocka_unit_test(the_setting_and_the_trace_refuse_the_same),
		cmocka_unit_test(a_refusal_says_what_would_fit_there),
		cmocka_unit_test(counters_are_refused_by_their_own_name),
		cmocka_unit_test(counters_of_slow_moments_need_a_trace_that_finds_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
