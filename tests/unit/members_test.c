/* Whose a recording is: ranks, their helpers, launchers, attempts; and what FOLDER/rank_<N> means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "root_folder.h"
#include "run/job.h"
#include "run/members.h"
#include "run/run.h"
#include "synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBER(number, parent, r, world, start)                                        \
	{                                                                              \
		.pid = (number), .ppid = (parent), .rank = (r), .world_size = (world), \
		.start_real_ns = (start), .closed = true                               \
	}
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void what_starts_ranks_is_no_rank(void **state)
{
	struct sb_member m[] = { MEMBER(10, 1, 0, 2, 1), MEMBER(11, 10, 0, 2, 2), MEMBER(20, 11, 0, 4, 3),
		MEMBER(21, 11, 1, 4, 3), MEMBER(30, 20, 0, 4, 5) };

	m[0].tool = true; /* srun strobe run -- torchrun, and a data loader below rank 0 */
	assert_true(sb_members_settle(m, COUNT(m)));
	assert_true(m[1].launcher);
	assert_int_equal(m[1].of_rank, -1);
	assert_true(m[2].leader && m[3].leader && !m[4].leader);
	assert_int_equal(m[4].of_rank, 0);
	assert_int_equal(m[4].attempt, 1);
	assert_int_equal(sb_members_attempt(m, COUNT(m)), 1);
}

static void a_parent_without_a_rank_launches_too(void **state)
{
	struct sb_member m[] = { MEMBER(10, 1, -1, 0, 1), MEMBER(20, 10, 0, 2, 2), MEMBER(21, 10, 1, 2, 2) };

	assert_true(sb_members_settle(m, COUNT(m)));
	assert_true(m[0].launcher);
	assert_int_equal(sb_members_attempt(m, COUNT(m)), 1);
}

/* strobe run -- srun on two nodes: rank 1 has the number there that rank 0's parent has here. */
static void process_numbers_are_those_of_a_machine(void **state)
{
	struct sb_member m[] = { MEMBER(20, 10, 0, 2, 2), MEMBER(10, 5, 1, 2, 2) };

	m[0].machine = 1;
	m[1].machine = 2;
	assert_true(sb_members_settle(m, COUNT(m)));
	assert_true(m[0].leader && m[1].leader && !m[1].launcher);
	assert_int_equal(sb_members_attempt(m, COUNT(m)), 1);
}

static void the_last_attempt_that_ended_counts(void **state)
{
	struct sb_member m[] = { MEMBER(10, 1, 0, 2, 1), MEMBER(11, 1, 1, 2, 1), MEMBER(20, 1, 0, 2, 5),
		MEMBER(21, 1, 1, 2, 5), MEMBER(30, 1, 1, 2, 9) };

	m[0].closed = false;
	assert_true(sb_members_settle(m, COUNT(m)));
	assert_int_equal(m[0].attempt, 1);
	assert_int_equal(m[3].attempt, 2);
	assert_int_equal(m[4].attempt, 3);
	/* of the third there is one rank alone */
	assert_int_equal(sb_members_attempt(m, COUNT(m)), 2);
}

static void one_run_is_no_job(void **state)
{
	struct sb_member m[] = { MEMBER(10, 1, -1, 0, 1), MEMBER(11, 10, -1, 0, 2) };
	struct sb_member alone[] = { MEMBER(10, 1, 3, 8, 1), MEMBER(11, 10, 3, 8, 2) };

	assert_true(sb_members_settle(m, COUNT(m)));
	assert_int_equal(sb_members_attempt(m, COUNT(m)), 0);
	assert_true(sb_members_settle(alone, COUNT(alone)));
	assert_int_equal(sb_members_attempt(alone, COUNT(alone)), 0);
}

/* ---- on a disk ---- */

static void record(const char *folder, const char *file, uint32_t pid, int rank, bool closed)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct sb_builder *b;
	char path[256];

	snprintf(path, sizeof path, "%s/%s", root, folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%s/%s", root, folder, file);
	o.pid = pid;
	o.rank = rank;
	o.world_size = 2;
	o.session = pid;
	o.start_real_ns = 1767225600000000000u;
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	assert_int_equal(closed ? sb_builder_close(b, 1000) : sb_builder_abandon(b), 0);
}

static void a_rank_of_a_shared_folder_is_named_like_a_folder(void **state)
{
	struct sb_job job;
	struct sb_run *run;

	record("shared", "run.strobe", 1, -1, true);
	record("shared", "run.10.strobe", 10, 0, true);
	record("shared", "run.11.strobe", 11, 1, true);
	assert_int_equal(sb_job_find(in_root("shared"), &job), 0);
	assert_int_equal(job.rank_count, 2);
	assert_string_equal(job.ranks[1], in_root("shared/rank_1"));
	assert_int_equal(sb_run_open(job.ranks[1], NULL, &run), 0);
	assert_int_equal(run->process_count, 1);
	assert_int_equal(run->processes[0].pid, 11);
	sb_run_close(run);
	sb_job_done(&job);
	assert_int_not_equal(sb_run_open(in_root("shared/rank_2"), NULL, &run), 0);
}

/* Its process failed after the recording was stopped in order. */
static void mark_failed(const char *file)
{
	const uint32_t failed = SB_CLOSED_FAILED;
	FILE *f = fopen(in_root(file), "r+");

	assert_non_null(f);
	assert_int_equal(fseek(f, (long)offsetof(struct sb_file_header, closed), SEEK_SET), 0);
	assert_int_equal(fwrite(&failed, sizeof failed, 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

static void an_attempt_that_failed_is_not_the_job(void **state)
{
	struct sb_job job;

	mkdir(in_root("retried"), 0700);
	mkdir(in_root("retried.2"), 0700);
	for (int attempt = 0; attempt < 2; attempt++) {
		record(attempt ? "retried.2/rank_0" : "retried/rank_0", "run.strobe", 1, 0, true);
		record(attempt ? "retried.2/rank_1" : "retried/rank_1", "run.strobe", 2, 1, true);
	}
	mark_failed("retried.2/rank_1/run.strobe");
	assert_int_equal(sb_job_find(in_root("retried"), &job), 0);
	assert_true(job.attempts[0].taken && !job.attempts[1].taken);
	assert_int_equal(job.attempts[1].closed_count, 1);
	sb_job_done(&job);
}

static void an_attempt_that_failed_in_one_folder_is_not_the_job(void **state)
{
	struct sb_member m[] = { MEMBER(20, 10, 0, 2, 2), MEMBER(21, 10, 1, 2, 2), MEMBER(30, 10, 0, 2, 9),
		MEMBER(31, 10, 1, 2, 9) };
	struct sb_file_header failed = { .closed = SB_CLOSED_FAILED };

	m[3].closed = sb_member_of(&failed, false).closed;
	assert_true(sb_members_settle(m, COUNT(m)));
	assert_int_equal(sb_members_attempt(m, COUNT(m)), 1);
	m[0].closed = false; /* none is whole: the last one */
	assert_int_equal(sb_members_attempt(m, COUNT(m)), 2);
}

static void a_job_is_its_last_complete_attempt(void **state)
{
	struct sb_job job;
	char path[128];

	mkdir(in_root("job"), 0700);
	mkdir(in_root("job.2"), 0700);
	mkdir(in_root("job.3"), 0700);
	record("job/rank_0", "run.strobe", 1, 0, false);
	record("job/rank_1", "run.strobe", 2, 1, true);
	record("job.2/rank_0", "run.strobe", 3, 0, true);
	record("job.2/rank_1", "run.strobe", 4, 1, true);
	record("job.3/rank_0", "run.strobe", 5, 0, true);
	assert_int_equal(sb_job_find(in_root("job"), &job), 0);
	assert_int_equal(job.attempt_count, 3);
	assert_true(job.attempts[1].taken && !job.attempts[0].taken && !job.attempts[2].taken);
	assert_string_equal(job.ranks[0], in_root("job.2/rank_0"));
	sb_job_done(&job);
	assert_int_equal(sb_job_find(in_root("job.3"), &job), 0); /* that one alone */
	assert_int_equal(job.rank_count, 1);
	sb_job_done(&job);
	assert_int_equal(sb_run_resolve(in_root("job.1"), path, sizeof path), 0);
	assert_int_equal(sb_job_find(path, &job), 0);
	assert_int_equal(job.rank_count, 2);
	assert_non_null(strstr(job.ranks[0], "/job/rank_0"));
	sb_job_done(&job);
	assert_int_equal(sb_run_resolve(root, path, sizeof path), 0); /* the newest of the folder: its job */
	assert_null(strstr(path, "job."));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_starts_ranks_is_no_rank),
		cmocka_unit_test(a_parent_without_a_rank_launches_too),
		cmocka_unit_test(process_numbers_are_those_of_a_machine),
		cmocka_unit_test(the_last_attempt_that_ended_counts), cmocka_unit_test(one_run_is_no_job),
		cmocka_unit_test_setup_teardown(
			a_rank_of_a_shared_folder_is_named_like_a_folder, make_root, remove_root),
		cmocka_unit_test(an_attempt_that_failed_in_one_folder_is_not_the_job),
		cmocka_unit_test_setup_teardown(
			an_attempt_that_failed_is_not_the_job, make_root, remove_root),
		cmocka_unit_test_setup_teardown(a_job_is_its_last_complete_attempt, make_root, remove_root) };

	return cmocka_run_group_tests_name("members", tests, NULL, NULL);
}
