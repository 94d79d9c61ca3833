/* The recorder against a second opinion: threads, forks, sessions, settings. */
#include "recording.h"

#include "format/reader.h"
#include "record/put.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

/* ---- zones --------------------------------------------------------------- */

static void every_zone_is_in_the_file(void **state)
{
	start(0);
	zones(100000);
	strobe_frames(41);
	strobe_frames(1);
	assert_int_equal(strobe_stop(), 0);
	assert_int_equal(count_in("run.strobe", "outer").count, 100000);
	assert_int_equal(count_in("run.strobe", "inner").count, 100000);
	assert_int_equal(count_in("run.strobe", "inner").open_count, 0);
	assert_int_equal(recount_counter(file("run.strobe"), "frames"), 42);
	assert_int_equal(recount_lost(file("run.strobe")), 0);
}

static void nothing_is_recorded_without_a_session(void **state)
{
	zones(1000);
	assert_int_equal(strobe_recording(), 0);
	start(0);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "outer").count, 0);
}

static void a_second_session_starts_empty(void **state)
{
	char first[600];

	start(0);
	zones(10);
	strobe_stop();
	strcpy(first, file("run.strobe"));
	start(0);
	zones(7);
	assert_int_equal(strobe_start(NULL), STROBE_EBUSY);
	strobe_stop();
	assert_string_not_equal(first, file("run.strobe"));
	assert_int_equal(count_in("run.strobe", "outer").count, 7);
}

static void a_scope_left_early_still_ends(void **state)
{
	start(0);
	for (int i = 0; i < 10; i++) {
		STROBE_ZONE("scope");
		if (i % 2)
			continue;
		STROBE_STAGE("4c", "VAE encode");
	}
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "scope").count, 10);
	assert_int_equal(count_in("run.strobe", "scope").open_count, 0);
}

/* ---- threads ------------------------------------------------------------- */

static void *thread_zones(void *n)
{
	zones((long)(intptr_t)n);
	return NULL;
}

static void two_hundred_threads(long each)
{
	pthread_t threads[50];

	for (int wave = 0; wave < 4; wave++) {
		for (int i = 0; i < 50; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, thread_zones, (void *)(intptr_t)each), 0);
		for (int i = 0; i < 50; i++)
			pthread_join(threads[i], NULL);
	}
}

static void threads_that_come_and_go_lose_nothing(void **state)
{
	start(0);
	two_hundred_threads(1000);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "outer").count, 200 * 1000);
	assert_int_equal(count_in("run.strobe", "inner").count, 200 * 1000);
	assert_int_equal(recount_lost(file("run.strobe")), 0);
}

/* The header has them in two places. */
static void losses_are_counted_whatever_their_reason(void **state)
{
	struct sb_reader *r;

	start(0);
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++)
		sb_lost((enum sb_lost_reason)i, i + 1);
	strobe_stop();
	assert_int_equal(sb_reader_open(file("run.strobe"), &r), 0);
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++)
		assert_int_equal(sb_lost_count(&r->head, i), i + 1);
	sb_reader_close(r);
}

static void two_hundred_threads_fit_into_eight_mebibytes(void **state)
{
	start(8 << 20);
	two_hundred_threads(10000 / SHRINK);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "outer").count, 200 * (10000 / SHRINK));
	assert_int_equal(count_in("run.strobe", "inner").count, 200 * (10000 / SHRINK));
	assert_int_equal(recount_lost(file("run.strobe")), 0);
	assert_true(size_of(file("run.strobe")) <= (8 << 20) + (int)SB_FILE_HEADER_BYTES);
}

static pthread_barrier_t barrier;

static void *thread_at_once(void *n)
{
	pthread_barrier_wait(&barrier);
	zones((long)(intptr_t)n);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void two_hundred_threads_at_once_fit_too(void **state)
{
	pthread_t threads[200];

	start(8 << 20);
	pthread_barrier_init(&barrier, NULL, 200);
	for (int i = 0; i < 200; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, thread_at_once, (void *)(intptr_t)5000), 0);
	for (int i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "inner").count, 200 * 5000);
	assert_int_equal(recount_lost(file("run.strobe")), 0);
}

static _Atomic int keep_going;

static void *thread_until_told(void *unused)
{
	while (atomic_load(&keep_going))
		zones(100);
	return NULL;
}

static void sessions_stop_while_others_record(void **state)
{
	pthread_t threads[4];

	atomic_store(&keep_going, 1);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread_until_told, NULL);
	for (int i = 0; i < 100; i++) {
		start(2 << 20);
		zones(500);
		strobe_stop();
		assert_true(count_in("run.strobe", "outer").count >= 500);
	}
	atomic_store(&keep_going, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* ---- what the settings leave out ------------------------------------------ */

static void one_of_each(void)
{
	STROBE_ZONE("around");
	strobe_step_begin("a step", NULL);
	strobe_step_end();
	strobe_step_record("a step", NULL, 1000);
	strobe_block_begin("a block", 0, 3);
	strobe_block_end(-1);
	strobe_block_record("a block", 0, 3, 1000, -1);
	for (int i = 0; i < 2; i++) {
		STROBE_ZONE("VAE decode");
		STROBE_ZONE("text_encode");
		STROBE_ZONE("vae_encode");
	}
	STROBE_ZONE_BEGIN("vae_decode by hand");
	STROBE_ZONE_END();
}

static void counts_of_each(uint64_t steps, uint64_t blocks, uint64_t decodes, uint64_t texts)
{
	assert_int_equal(count_in("run.strobe", "a step").count, steps);
	assert_int_equal(count_in("run.strobe", "a block").count, blocks);
	assert_int_equal(count_in("run.strobe", "VAE decode").count, decodes);
	assert_int_equal(count_in("run.strobe", "text_encode").count, texts);
	assert_int_equal(count_in("run.strobe", "around").count, 1);
	assert_int_equal(count_in("run.strobe", "around").open_count, 0);
	assert_int_equal(count_in("run.strobe", "vae_encode").count, 2);
	assert_int_equal(count_in("run.strobe", "vae_decode by hand").count, 1);
}

static void session_without(const char *setting)
{
	if (setting)
		setenv(setting, "false", 1);
	start(0);
	one_of_each();
	strobe_stop();
	if (setting)
		unsetenv(setting);
}

static void what_is_switched_off_is_not_recorded(void **state)
{
	session_without(NULL);
	counts_of_each(1, 1, 2, 2);
	session_without("STROBE_PROFILE_DIFFUSION_STEPS");
	counts_of_each(0, 1, 2, 2);
	session_without("STROBE_PROFILE_INFERENCE_STEPS");
	counts_of_each(0, 1, 2, 2);
	session_without("STROBE_PROFILE_BLOCK_COMPUTATION");
	counts_of_each(1, 0, 2, 2);
	session_without("STROBE_PROFILE_VAE_DECODE");
	counts_of_each(1, 1, 0, 2);
	session_without("STROBE_PROFILE_TEXT_ENCODING");
	counts_of_each(1, 1, 2, 0);
}

static void a_tag_that_is_nothing_is_ignored(void **state)
{
	start(0);
	strobe_tag(NULL);
	strobe_tag(&(struct strobe_attr){ .key = NULL });
	strobe_stop();
}

/* Long ones are kept; what a string of a recording cannot hold is cut, and counted. */
static void a_tag_of_the_program_may_be_long(void **state)
{
	char prompt[3001] = "";
	struct strobe_attr tag = { "prompt", STROBE_TYPE_STRING, { .s = prompt } };
	struct strobe_options options = {
		.size = sizeof options, .output_dir = folder, .tags = &tag, .tag_count = 1
	};

	memset(prompt, 'x', SB_STRING_MAX);
	assert_int_equal(strobe_start(&options), 0);
	strobe_stop();
	assert_int_equal(recount_lost(file("run.strobe")), 0);
	memset(prompt, 'x', sizeof prompt - 1);
	assert_int_equal(strobe_start(&options), 0);
	strobe_tag(&tag);
	strobe_stop();
	assert_int_equal(recount_lost(file("run.strobe")), 2);
}

/* ---- fork ---------------------------------------------------------------- */

static void a_forked_child_has_a_file_of_its_own(void **state)
{
	char name[64];
	int status;
	pid_t pid;

	start(0);
	zones(100);
	pid = fork();
	if (!pid) {
		zones(30);
		_exit(strobe_stop() ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	zones(5);
	strobe_stop();
	snprintf(name, sizeof name, "run.%ld.strobe", (long)pid);
	assert_int_equal(count_in("run.strobe", "outer").count, 105);
	assert_int_equal(count_in(name, "outer").count, 30);
}

static void a_child_that_records_nothing_leaves_nothing(void **state)
{
	char name[64];
	int status;
	pid_t pid;

	start(0);
	pid = fork();
	if (!pid)
		exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	strobe_stop();
	snprintf(name, sizeof name, "run.%ld.strobe", (long)pid);
	assert_int_equal(size_of(file(name)), -1);
	assert_int_equal(count_in("run.strobe", "outer").count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(what_is_switched_off_is_not_recorded),
		IN_A_FOLDER(a_tag_that_is_nothing_is_ignored),
		IN_A_FOLDER(a_tag_of_the_program_may_be_long),
		IN_A_FOLDER(every_zone_is_in_the_file),
		IN_A_FOLDER(nothing_is_recorded_without_a_session),
		IN_A_FOLDER(a_second_session_starts_empty),
		IN_A_FOLDER(a_scope_left_early_still_ends),
		IN_A_FOLDER(threads_that_come_and_go_lose_nothing),
		IN_A_FOLDER(losses_are_counted_whatever_their_reason),
		IN_A_FOLDER(two_hundred_threads_fit_into_eight_mebibytes),
		IN_A_FOLDER(two_hundred_threads_at_once_fit_too),
		IN_A_FOLDER(sessions_stop_while_others_record),
#ifndef __SANITIZE_THREAD__ /* which cannot follow a process that forks and has threads */
		IN_A_FOLDER(a_forked_child_has_a_file_of_its_own),
		IN_A_FOLDER(a_child_that_records_nothing_leaves_nothing),
#endif
	};

	record_without_company();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
