/* Threads that begin together, are cancelled, and fork: every zone must be recorded or
 * counted as lost. Prints how many zones it closed.
 * usage: threads armed THREADS | fork CHILDREN THREADS | clone CHILDREN |
 *                cancel ROUNDS | cancel-first | sessions ROUNDS THREADS */
#include "strobe.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef RECORDER_TEST_SMALL /* a build of the recorder alone: no monitors, no GPU */
#include "record/module.h"
const struct sb_module *const sb_modules[] = { NULL };
#endif

enum { THREADS_MAX = 64, ZONES = 500 };

static pthread_barrier_t together;
static atomic_ulong *done; /* shared with children */

static void record(int zones)
{
	for (int i = 0; i < zones; i++) {
		STROBE_ZONE_BEGIN("zone");
		STROBE_ZONE_END();
	}
	atomic_fetch_add(done, (unsigned long)zones);
}

static void *record_together(void *unused)
{
	pthread_barrier_wait(&together);
	record(ZONES);
	return NULL;
}

static void go_together(int threads)
{
	pthread_t ids[THREADS_MAX];

	pthread_barrier_init(&together, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, record_together, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&together);
}

static void must_start(void)
{
	if (!strobe_start(NULL))
		return;
	printf("strobe_start: %s\n", strobe_error());
	exit(1);
}

static void must_end_well(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status) {
		printf("a child ended with %#x\n", status);
		exit(1);
	}
}

static void go_forks(int children, int threads)
{
	must_start();
	record(1);
	for (int i = 0; i < children; i++) {
		pid_t child = fork();

		if (!child) {
			go_together(threads);
			exit(0); /* the library closes */
		}
		must_end_well(child);
	}
	record(1);
	strobe_stop();
}

/* Forks that the C library does not know of. */
static void go_clones(int children)
{
	must_start();
	record(1);
	for (int i = 0; i < children; i++) {
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (!child) {
			record(ZONES);
			exit(0);
		}
		must_end_well(child);
	}
	record(1);
	strobe_stop();
}

static void *record_until_cancelled(void *unused)
{
	for (;;) {
		STROBE_ZONE_BEGIN("endless");
		STROBE_ZONE_END();
		pthread_testcancel();
	}
	return NULL;
}

static void go_cancelled(int rounds)
{
	unsigned random = 1;

	must_start();
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, record_until_cancelled, NULL);
		random = random * 1664525u + 1013904223u;
		for (unsigned n = random >> 27; n > 0; n--)
			sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		record(10);
	}
	if (strobe_stop()) {
		printf("strobe_stop: %s\n", strobe_error());
		exit(1);
	}
}

static atomic_bool may_go;

static void *open_while_cancelled(void *unused)
{
	while (!atomic_load(&may_go))
		sched_yield();
	record(1); /* opens the armed session */
	pthread_testcancel();
	return NULL;
}

/* The thread that opens the session is cancelled before it begins. */
static void go_cancelled_first(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, open_while_cancelled, NULL);
	pthread_cancel(thread);
	atomic_store(&may_go, true);
	pthread_join(thread, NULL);
	record(1000);
	if (!strobe_recording()) {
		printf("nothing records\n");
		exit(1);
	}
}

static atomic_bool over;

static void *record_until_over(void *unused)
{
	while (!atomic_load(&over)) {
		STROBE_ZONE_BEGIN("between");
		STROBE_ZONE_END();
	}
	return NULL;
}

/* Sessions come and go under threads that record: what is counted is what the thread
 * that opens them records itself. */
static void go_sessions(int rounds, int threads)
{
	pthread_t ids[THREADS_MAX];

	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, record_until_over, NULL);
	for (int i = 0; i < rounds; i++) {
		must_start();
		record(100);
		strobe_stop();
	}
	atomic_store(&over, true);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	int first = count > 2 ? atoi(arguments[2]) : 0, second = count > 3 ? atoi(arguments[3]) : 0;

	done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(what, "armed"))
		go_together(first);
	else if (!strcmp(what, "fork"))
		go_forks(first, second);
	else if (!strcmp(what, "clone"))
		go_clones(first);
	else if (!strcmp(what, "cancel"))
		go_cancelled(first);
	else if (!strcmp(what, "cancel-first"))
		go_cancelled_first();
	else if (!strcmp(what, "sessions"))
		go_sessions(first, second);
	else
		return 2;
	printf("%lu\n", atomic_load(done));
	return 0;
}
