/* The ranks whose folders lie beside a rank's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/neighbours.h"
#include "root_folder.h"

#include <sys/stat.h>
#include <unistd.h>

static void assert_neighbours(const char *folder, int64_t previous, int64_t next)
{
	int64_t before = 99, after = 99;

	sb_rank_neighbours(folder, &before, &after);
	assert_int_equal(before, previous);
	assert_int_equal(after, next);
}

static void the_nearest_ranks_are_found_by_number(void **state)
{
	(void)state;
	mkdir(in_root("rank_0"), 0700);
	mkdir(in_root("rank_2"), 0700);
	mkdir(in_root("rank_9"), 0700);
	mkdir(in_root("rank_10"), 0700);
	mkdir(in_root("rank_3-20261115-210729-5368"), 0700); /* a run whose session is called so */
	assert_neighbours(in_root("rank_2"), 0, 9);
	assert_neighbours(in_root("rank_9/"), 2, 10);
	assert_neighbours(in_root("rank_0"), -1, 2);
	assert_neighbours(in_root("rank_10"), 9, -1);
}

static void a_folder_of_another_name_has_none(void **state)
{
	(void)state;
	mkdir(in_root("rank_0"), 0700);
	mkdir(in_root("wan-7"), 0700);
	assert_neighbours(in_root("wan-7"), -1, -1);
	assert_neighbours(in_root("rank_1"), -1, -1);
	assert_neighbours(NULL, -1, -1);
}

static void the_working_folder_is_a_rank_too(void **state)
{
	char here[4096];

	(void)state;
	assert_non_null(getcwd(here, sizeof here));
	mkdir(in_root("rank_1"), 0700);
	mkdir(in_root("rank_2"), 0700);
	assert_int_equal(chdir(in_root("rank_2")), 0);
	assert_neighbours(".", 1, -1);
	assert_int_equal(chdir(here), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_nearest_ranks_are_found_by_number),
		T(a_folder_of_another_name_has_none),
		T(the_working_folder_is_a_rank_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
