/* Ranks from the environment of launchers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/rank.h"

#include <stdlib.h>
#include <string.h>

static int clear(void **state)
{
	static const char *const names[] = { "RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID",
		"TORCHELASTIC_ERROR_FILE", "LOCAL_WORLD_SIZE", "SLURM_PROCID", "SLURM_LOCALID",
		"SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_JOBID", "OMPI_COMM_WORLD_RANK",
		"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess_base_jobid",
		"MASTER_PORT", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS", "SLURM_RESTART_COUNT",
		"TORCHELASTIC_RESTART_COUNT", "PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE", "PMI_JOBID",
		"MPI_LOCALRANKID", "PBS_JOBID" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		unsetenv(names[i]);
	return 0;
}

static void without_a_launcher_there_is_no_rank(void **state)
{
	struct sb_rank r;

	sb_rank_detect(&r);
	assert_int_equal(r.rank, -1);
	assert_int_equal(r.local_rank, -1);
	assert_int_equal(r.world_size, 0);
	assert_string_equal(r.job, "");
	assert_string_equal(r.launcher, "");
}

static void torchrun_wins_over_the_slurm_step_around_it(void **state)
{
	struct sb_rank r;

	setenv("SLURM_PROCID", "1", 1);
	setenv("SLURM_NTASKS", "2", 1);
	setenv("SLURM_JOB_ID", "4711", 1);
	setenv("RANK", "13", 1);
	setenv("LOCAL_RANK", "5", 1);
	setenv("WORLD_SIZE", "16", 1);
	setenv("TORCHELASTIC_RUN_ID", "none", 1);
	sb_rank_detect(&r);
	assert_int_equal(r.rank, 13);
	assert_int_equal(r.local_rank, 5);
	assert_int_equal(r.world_size, 16);
	assert_string_equal(r.job, "4711");
	assert_string_equal(r.launcher, "torchrun");
}

static void torchrun_without_an_id_is_known_by_its_folder_on_one_machine(void **state)
{
	struct sb_rank r;

	setenv("RANK", "1", 1);
	setenv("WORLD_SIZE", "4", 1);
	setenv("TORCHELASTIC_RUN_ID", "none", 1);
	setenv("TORCHELASTIC_ERROR_FILE", "/tmp/torchelastic_q_dv24fz/none_0bef_6a1/attempt_0/1/error.json",
		1);
	sb_rank_detect(&r);
	assert_string_equal(r.job, "");
	setenv("LOCAL_WORLD_SIZE", "2", 1); /* of several machines, each has a folder of its own */
	sb_rank_detect(&r);
	assert_string_equal(r.job, "");
	setenv("LOCAL_WORLD_SIZE", "4", 1);
	sb_rank_detect(&r);
	assert_string_equal(r.job, "torchrun-0bef_6a1");
	setenv("TORCHELASTIC_ERROR_FILE", "/attempt_0", 1);
	sb_rank_detect(&r);
	assert_string_equal(r.job, "");
}

static void mpi_and_pmi_ranks_are_found(void **state)
{
	struct sb_rank r;

	setenv("PMI_RANK", "3", 1);
	setenv("PMI_SIZE", "4", 1);
	sb_rank_detect(&r);
	assert_int_equal(r.rank, 3);
	assert_int_equal(r.local_rank, -1);
	assert_string_equal(r.launcher, "pmi");
	setenv("OMPI_COMM_WORLD_RANK", "2", 1);
	setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
	setenv("OMPI_MCA_ess_base_jobid", "3402956801", 1);
	sb_rank_detect(&r);
	assert_int_equal(r.rank, 2);
	assert_int_equal(r.local_rank, 0);
	assert_string_equal(r.job, "3402956801");
	assert_string_equal(r.launcher, "openmpi");
}

static void nonsense_and_worlds_of_one_are_no_rank(void **state)
{
	static const char *const pairs[][2] = { { "0", "1" }, { "4", "4" }, { "-1", "4" }, { "x", "4" },
		{ "1", "" }, { "1", "99999999999999999999" } };
	struct sb_rank r;

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		setenv("RANK", pairs[i][0], 1);
		setenv("WORLD_SIZE", pairs[i][1], 1);
		sb_rank_detect(&r);
		assert_int_equal(r.rank, -1);
		assert_int_equal(r.world_size, 0);
	}
}

static void a_job_id_is_fit_for_a_file_name(void **state)
{
	struct sb_rank r;

	setenv("RANK", "0", 1);
	setenv("WORLD_SIZE", "2", 1);
	setenv("TORCHELASTIC_RUN_ID", "../a b/..c", 1);
	sb_rank_detect(&r);
	assert_string_equal(r.job, "_._a_b_..c");
	setenv("TORCHELASTIC_RUN_ID",
		"0123456789012345678901234567890123456789012345678901234567890123456789", 1);
	sb_rank_detect(&r);
	assert_int_equal(strlen(r.job), sizeof r.job - 1);
}

static void a_launch_is_what_one_start_of_a_job_has_in_common(void **state)
{
	struct sb_rank r;

	setenv("RANK", "0", 1);
	setenv("WORLD_SIZE", "4", 1);
	setenv("LOCAL_WORLD_SIZE", "2", 1);
	setenv("MASTER_PORT", "29500", 1);
	setenv("TORCHELASTIC_RESTART_COUNT", "1", 1);
	setenv("SLURM_STEP_ID", "7", 1);
	sb_rank_detect(&r);
	assert_string_equal(r.launch, "torchrun of 4 MASTER_PORT=29500");
	setenv("LOCAL_WORLD_SIZE", "4", 1); /* one machine: its count of restarts is the job's */
	sb_rank_detect(&r);
	assert_string_equal(r.launch, "torchrun of 4 MASTER_PORT=29500 TORCHELASTIC_RESTART_COUNT=1");
	unsetenv("RANK");
	setenv("SLURM_PROCID", "3", 1);
	setenv("SLURM_NTASKS", "8", 1);
	setenv("SLURM_RESTART_COUNT", "2\n", 1);
	sb_rank_detect(&r);
	assert_string_equal(r.launch, "slurm of 8 SLURM_STEP_ID=7 SLURM_RESTART_COUNT=2_");
}

static void a_slurm_batch_script_or_shell_is_no_task_of_its_job(void **state)
{
	struct sb_rank r;

	setenv("SLURM_PROCID", "0", 1); /* as sbatch -n 2 sets them for the script */
	setenv("SLURM_NTASKS", "2", 1);
	setenv("SLURM_JOB_ID", "3", 1);
	sb_rank_detect(&r);
	assert_int_equal(r.rank, -1);
	setenv("SLURM_STEP_ID", "4294967290", 1); /* the shell of salloc -n 2 */
	setenv("SLURM_STEP_NUM_TASKS", "1", 1);
	sb_rank_detect(&r);
	assert_int_equal(r.rank, -1);
	setenv("SLURM_STEP_ID", "0", 1); /* what srun starts */
	setenv("SLURM_STEP_NUM_TASKS", "2", 1);
	sb_rank_detect(&r);
	assert_int_equal(r.rank, 0);
	assert_int_equal(r.world_size, 2);
	assert_string_equal(r.job, "3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_a_launcher_there_is_no_rank, clear),
		cmocka_unit_test_setup(torchrun_wins_over_the_slurm_step_around_it, clear),
		cmocka_unit_test_setup(torchrun_without_an_id_is_known_by_its_folder_on_one_machine, clear),
		cmocka_unit_test_setup(mpi_and_pmi_ranks_are_found, clear),
		cmocka_unit_test_setup(nonsense_and_worlds_of_one_are_no_rank, clear),
		cmocka_unit_test_setup(a_job_id_is_fit_for_a_file_name, clear),
		cmocka_unit_test_setup(a_launch_is_what_one_start_of_a_job_has_in_common, clear),
		cmocka_unit_test_setup(a_slurm_batch_script_or_shell_is_no_task_of_its_job, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
