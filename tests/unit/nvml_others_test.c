/* What processes that are not the run's use of a GPU, through the fake libnvidia-ml. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "captured_samples.h"
#include "fake_nvml.h"
#include "monitor/gpus.h"

/* The first value that is known; NAN: none is. */
static double used_by_others(const char *text, bool wait)
{
	double found = NAN;

	say(text);
	sb_gpus_start(&settings);
	WAIT_FOR(!isnan(captured("gpu", 0, "power_w", 2)) &&
		 (!wait || !isnan(captured("gpu", 0, "others_utilization_percent", -1))));
	sb_gpus_stop();
	for (int i = 0; isnan(found) && !isnan(captured("gpu", 0, "power_w", i)); i++)
		found = captured("gpu", 0, "others_utilization_percent", i);
	return found;
}

static void what_others_use_is_told_by_process(void **state)
{
	char text[160];

	snprintf(text, sizeof text, "process %d 4000\nprocess 1 100\nuses %d 60\nuses 1 25\nuses 0 9\n",
		(int)getpid(), (int)getpid());
	assert_true(used_by_others(text, true) == 25);
}

/* A context alone computes nothing. */
static void others_that_only_have_memory_use_nothing(void **state)
{
	char text[160];

	snprintf(text, sizeof text, "process %d 4000\nprocess 1 100\nuses %d 60\n", (int)getpid(),
		(int)getpid());
	assert_true(used_by_others(text, true) == 0);
}

static void without_others_the_driver_is_not_asked_what_they_use(void **state)
{
	char text[160];

	snprintf(text, sizeof text, "process %d 4000\nhang uses\n", (int)getpid());
	assert_true(used_by_others(text, true) == 0);
}

/* 4194305 is above the largest process id of Linux: one of the host's, in a container. */
static void of_processes_that_are_not_known_here_none_is_an_others(void **state)
{
	assert_true(isnan(used_by_others("process 4194305 100\nuses 4194305 70\n", false)));
}

static void a_driver_that_does_not_tell_processes_apart_has_no_column(void **state)
{
	assert_true(isnan(used_by_others("process 1 100\nunsupported uses\n", false)));
	assert_false(captured_has_column("gpu", 0, "others_utilization_percent"));
	assert_string_equal(captured_missing, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_others_use_is_told_by_process, begin, end),
		cmocka_unit_test_setup_teardown(others_that_only_have_memory_use_nothing, begin, end),
		cmocka_unit_test_setup_teardown(
			without_others_the_driver_is_not_asked_what_they_use, begin, end),
		cmocka_unit_test_setup_teardown(
			of_processes_that_are_not_known_here_none_is_an_others, begin, end),
		cmocka_unit_test_setup_teardown(
			a_driver_that_does_not_tell_processes_apart_has_no_column, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
