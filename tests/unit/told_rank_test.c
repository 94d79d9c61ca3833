/* A rank that the program says itself, where no launcher does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "root_folder.h"
#include "run/run.h"
#include "format/run_keys.h"
#include "strobe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sb_run *record_and_open(int rank, int world_size)
{
	struct sb_run *run = NULL;

	setenv("STROBE_OUTPUT_DIR", root, 1);
	setenv("STROBE_GENERATE_FINAL_REPORT", "0", 1);
	setenv("STROBE_MONITOR", "0", 1);
	assert_int_equal(strobe_start(NULL), 0);
	strobe_rank(rank, rank, world_size, "gloo");
	strobe_rank(1, 1, 8, NULL); /* the first word counts */
	STROBE_ZONE_BEGIN("work");
	STROBE_ZONE_END();
	assert_int_equal(strobe_stop(), 0);
	assert_int_equal(sb_run_open(strobe_run_dir(), NULL, &run), 0);
	return run;
}

static void the_recording_has_the_rank_that_was_said(void **state)
{
	struct sb_run *run = record_and_open(2, 4);
	const struct sb_file_header *h = &run->processes[0].reader->head;

	assert_int_equal(h->rank, 2);
	assert_int_equal(h->local_rank, 2);
	assert_int_equal(h->world_size, 4);
	assert_string_equal(sb_run_meta_find(run, SB_META_RUN, SB_RUN_BACKEND)->attr.s, "gloo");
	sb_run_close(run);
}

static void without_a_session_nothing_happens(void **state)
{
	strobe_rank(0, 0, 2, "gloo");
}

static int make_root_without_launcher(void **state)
{
	static const char *const launchers[] = { "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK" };

	for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
		unsetenv(launchers[i]);
	return make_root(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(without_a_session_nothing_happens),
		cmocka_unit_test(the_recording_has_the_rank_that_was_said) };

	return cmocka_run_group_tests_name("told_rank", tests, make_root_without_launcher, remove_root);
}
