/* A foreign library's functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/dynlib.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define FAKE STROBE_BINARY_DIR "/tests/fake/libfake_cuda.so"

struct table {
	void (*first)(void);
	void (*second)(void);
};

static void everything_is_found(void **state)
{
	static const struct sb_dynlib_entry entries[] = { SB_DYNLIB_NEEDED(struct table, first, "cuInit"),
		SB_DYNLIB_OPTIONAL(struct table, second, "cuEventRecord") };
	struct table t = { 0 };

	(void)state;
	assert_null(sb_dynlib_resolve(dlopen(FAKE, RTLD_NOW), entries, 2, &t));
	assert_non_null(t.first);
	assert_non_null(t.second);
}

static void optional_function_may_be_absent(void **state)
{
	static const struct sb_dynlib_entry entries[] = { SB_DYNLIB_OPTIONAL(
								  struct table, first, "cuNothing"),
		SB_DYNLIB_NEEDED(struct table, second, "cuInit") };
	struct table t;

	(void)state;
	memset(&t, 1, sizeof t);
	assert_null(sb_dynlib_resolve(dlopen(FAKE, RTLD_NOW), entries, 2, &t));
	assert_null(t.first);
	assert_non_null(t.second);
}

static void first_needed_function_that_is_absent_is_named(void **state)
{
	static const struct sb_dynlib_entry entries[] = { SB_DYNLIB_NEEDED(struct table, first, "cuInit"),
		SB_DYNLIB_NEEDED(struct table, second, "cuNothing") };
	struct table t;

	(void)state;
	assert_string_equal(sb_dynlib_resolve(dlopen(FAKE, RTLD_NOW), entries, 2, &t), "cuNothing");
}

static void variable_names_a_library_or_nothing(void **state)
{
	bool set;

	(void)state;
	unsetenv("STROBE_TEST_PATH");
	assert_null(sb_dynlib_from_environment("STROBE_TEST_PATH", &set));
	assert_false(set);
	setenv("STROBE_TEST_PATH", "", 1);
	assert_null(sb_dynlib_from_environment("STROBE_TEST_PATH", &set));
	assert_false(set);
	setenv("STROBE_TEST_PATH", "/nonexistent.so", 1);
	assert_null(sb_dynlib_from_environment("STROBE_TEST_PATH", &set));
	assert_true(set);
	setenv("STROBE_TEST_PATH", FAKE, 1);
	assert_non_null(sb_dynlib_from_environment("STROBE_TEST_PATH", &set));
	assert_true(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_found),
		cmocka_unit_test(optional_function_may_be_absent),
		cmocka_unit_test(first_needed_function_that_is_absent_is_named),
		cmocka_unit_test(variable_names_a_library_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
