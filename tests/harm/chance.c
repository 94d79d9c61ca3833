/* Sessions that open and stop, threads that begin and end, children that are forked, files
 * that grow and fold: in an order that the seed decides. Whatever happens, a zone that was
 * begun and ended while one session was open is recorded or counted as lost.
 * usage: chance SEED. Prints how many zones must be found, and how many there can be. */
#include "strobe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 5, STEPS = 12, HUNG_S = 100 };

/* Shared with children. */
static struct tally {
	atomic_ulong certain; /* one session was open from begin to end */
	atomic_ulong tried;
} * tally;

static atomic_uint session; /* odd: open */

struct worker {
	pthread_t id;
	unsigned random;
	bool runs;
	atomic_bool quit;
};
static struct worker workers[THREADS_MAX];

static unsigned next(unsigned *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 16;
}

static void zones(unsigned count)
{
	unsigned long certain = 0;

	atomic_fetch_add(&tally->tried, count);
	for (unsigned i = 0; i < count; i++) {
		unsigned before = atomic_load(&session);

		STROBE_ZONE_BEGIN("zone");
		STROBE_ZONE_END();
		certain += (before & 1) && atomic_load(&session) == before;
	}
	atomic_fetch_add(&tally->certain, certain);
}

/* Mostly few zones; at times so many that chunks are filled and the file grows. */
static unsigned burst(unsigned *random)
{
	return next(random) % 8 ? next(random) % 40 : next(random) % 4000;
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (int i = 0; i < 50 && !atomic_load(&w->quit); i++)
		zones(burst(&w->random));
	return NULL;
}

static void begin_worker(struct worker *w, unsigned random)
{
	w->random = random;
	atomic_store(&w->quit, false);
	w->runs = !pthread_create(&w->id, NULL, work, w);
}

static void end_worker(struct worker *w)
{
	if (!w->runs)
		return;
	atomic_store(&w->quit, true);
	pthread_join(w->id, NULL);
	w->runs = false;
}

static void open_session(void)
{
	if (atomic_load(&session) & 1)
		return;
	if (strobe_start(NULL)) {
		printf("strobe_start: %s\n", strobe_error());
		exit(1);
	}
	atomic_fetch_add(&session, 1);
}

static void stop_session(void)
{
	if (!(atomic_load(&session) & 1))
		return;
	atomic_fetch_add(&session, 1);
	strobe_stop();
}

/* Only the forking thread is here: it records alone or with threads of its own, and ends
 * with and without the library's knowledge. */
static void live_as_child(unsigned random)
{
	alarm(HUNG_S);
	for (int i = 0; i < THREADS_MAX; i++)
		workers[i].runs = false;
	for (unsigned i = 0; i < next(&random) % 3; i++)
		begin_worker(&workers[i], next(&random));
	zones(burst(&random));
	for (int i = 0; i < THREADS_MAX; i++)
		end_worker(&workers[i]);
	if (next(&random) % 2)
		_exit(0);
	exit(0);
}

static void fork_child(unsigned random)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		live_as_child(random);
	if (child < 0 || waitpid(child, &status, 0) != child || status) {
		printf("a child ended with %#x\n", status);
		exit(1);
	}
}

static void step(unsigned *random)
{
	struct worker *w = &workers[next(random) % THREADS_MAX];

	switch (next(random) % 6) {
	case 0: stop_session(); break;
	case 1: fork_child(next(random)); break;
	case 2: end_worker(w); break;
	default: open_session(); break;
	}
	if (!w->runs && next(random) % 2)
		begin_worker(w, next(random));
	zones(burst(random));
}

int main(int count, char **arguments)
{
	unsigned random = (count > 1 ? (unsigned)atoi(arguments[1]) : 1u) * 2654435761u;

	alarm(HUNG_S);
	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setenv("STROBE_MONITOR", next(&random) % 4 ? "0" : "1", 1);
	if (next(&random) % 2) /* soon full: old chunks are folded */
		setenv("STROBE_MAX_TRACE_BYTES", "1MiB", 1);
	open_session();
	for (int i = 0; i < STEPS; i++)
		step(&random);
	for (int i = 0; i < THREADS_MAX; i++)
		end_worker(&workers[i]);
	stop_session();
	printf("%lu %lu\n", atomic_load(&tally->certain), atomic_load(&tally->tried));
	return 0;
}
