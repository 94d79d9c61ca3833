/* Who of the processes that recorded is still running. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/run.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sb_file_header header_of(pid_t pid)
{
	struct sb_file_header h = { .pid = (uint32_t)pid };
	char path[64], line[1024] = "";
	unsigned long long start = 0;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%36s", h.boot_id), 1);
	fclose(f);
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof line, f));
	fclose(f);
	assert_int_equal(sscanf(strrchr(line, ')'),
				 ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				 "%*s %*s %llu",
				 &start),
		1);
	h.process_start = start;
	return h;
}

static void a_dead_process_nobody_has_waited_for_is_not_running(void **state)
{
	struct sb_file_header h;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	h = header_of(pid);
	assert_true(sb_run_is_running(&h));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(sb_run_is_running(&h));
	waitpid(pid, NULL, 0);
	assert_false(sb_run_is_running(&h));
}

static int gone[2]; /* closed by the kernel with the process; a byte: the main thread has ended */

static void *outlive(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	(void)!write(gone[1], "", 1);
	for (;;)
		pause();
	return NULL;
}

static void a_process_without_its_main_thread_is_running(void **state)
{
	struct sb_file_header h;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(gone), 0);
	pid = fork();
	if (!pid) {
		static pthread_t self;
		pthread_t other;

		self = pthread_self();
		pthread_create(&other, NULL, outlive, &self);
		pthread_exit(NULL);
	}
	assert_int_equal(read(gone[0], &byte, 1), 1);
	h = header_of(pid);
	assert_true(sb_run_is_running(&h));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_process_nobody_has_waited_for_is_not_running),
		cmocka_unit_test(a_process_without_its_main_thread_is_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
