/* How long a GPU trace lasts, as people ask for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "record/settings.h"
#include "record/trace_spec.h"

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
	sb_trace_spec_parse("minutes:3", &spec);
	assert_string_equal(sb_error_message(),
		"gpu trace 'minutes:3': use all, steps:3, steps:3@10, seconds:5, slow:1.5 or slow:1.5,3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces_are_asked_for_in_words),
		cmocka_unit_test(the_setting_and_the_trace_refuse_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
