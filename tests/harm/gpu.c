/* Threads over a stand-in for the GPU driver, in which every call is a cancellation point:
 * cancelled anywhere, forked at any moment, they leave nothing held. Prints how many GPU
 * zones the main thread closed. STROBE_CUDA_PATH and STROBE_CUPTI_PATH name the stand-ins.
 * "collect" is for the thread sanitizer: all of strobe's GPU threads at work beside the program's.
 * usage: gpu cancel ROUNDS | fork ROUNDS | collect ROUNDS */
#include "fake/fake_cuda.h"
#include "fake/fake_cupti.h"
#include "fake/fake_pm.h"
#include "strobe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTEXTS = 12, THREADS = 3, HUNG_S = 60 };

static const struct fake_cuda *gpu;
static const struct fake_cupti *cupti;
static const struct fake_pm *pm;
static char contexts[CONTEXTS], stream[16];
static unsigned long closed;
static atomic_bool over;

static void *symbol_of(const char *variable, const char *name)
{
	const char *path = getenv(variable);
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	void *symbol = library ? dlsym(library, name) : NULL;

	if (symbol)
		return symbol;
	printf("%s names no stand-in\n", variable);
	exit(2);
}

static unsigned next(unsigned *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 16;
}

static void zone_on(unsigned context)
{
	gpu->make_current(&contexts[context % CONTEXTS], (int)(context % CONTEXTS));
	strobe_gpu_zone_begin("gpu zone", stream);
	strobe_gpu_zone_end(stream);
}

/* What a program does with strobe and a GPU, in any order. */
static void act(unsigned *random)
{
	switch (next(random) % 4) {
	case 0: strobe_gpu_trace_start("seconds:60"); break;
	case 1: strobe_gpu_trace_stop(); break;
	default: zone_on(next(random)); break;
	}
}

static void *act_until_cancelled(void *seed)
{
	unsigned random = *(unsigned *)seed;

	for (;;) {
		act(&random);
		pthread_testcancel();
	}
	return NULL;
}

static void *act_until_over(void *seed)
{
	unsigned random = *(unsigned *)seed;

	while (!atomic_load(&over))
		act(&random);
	return NULL;
}

/* Would hang on anything that a thread before it has kept. */
static void use_everything(void)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		zone_on(i);
	closed += CONTEXTS;
	strobe_gpu_trace_start("seconds:60");
	strobe_gpu_trace_stop();
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	printf("%s: %s\n", what, strobe_error());
	exit(1);
}

static void go_cancelled(int rounds)
{
	unsigned random = 7;

	for (int i = 0; i < rounds; i++) {
		pthread_t thread;
		unsigned seed = next(&random);

		must(strobe_start(NULL), "strobe_start");
		pthread_create(&thread, NULL, act_until_cancelled, &seed);
		for (unsigned n = next(&random) % 64; n > 0; n--)
			sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		use_everything();
		must(strobe_stop(), "strobe_stop");
	}
}

static void live_as_child(void)
{
	strobe_gpu_trace_stop(); /* first: before any event has told that this is a child */
	zone_on(0);
	exit(0); /* the library closes */
}

static void go_forked(int rounds)
{
	static unsigned seeds[THREADS] = { 1, 2, 3 };
	pthread_t threads[THREADS];

	must(strobe_start(NULL), "strobe_start");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, act_until_over, &seeds[i]);
	for (int i = 0; i < rounds; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			alarm(HUNG_S);
			live_as_child();
		}
		if (waitpid(child, &status, 0) != child || status) {
			printf("a child ended with %#x\n", status);
			exit(1);
		}
	}
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	use_everything();
	must(strobe_stop(), "strobe_stop");
}

/* A kernel as CUPTI tells of it. */
static void launch_kernel(void)
{
	uint64_t t = cupti->now();

	cupti->kernel(cupti->launch(), t, t + 1000, "gemm");
}

static void *launch_until_over(void *seed)
{
	unsigned random = *(unsigned *)seed;

	while (!atomic_load(&over)) {
		launch_kernel();
		if (next(&random) % 8 == 0)
			zone_on(next(&random));
	}
	return NULL;
}

/* CUDA comes after the session: the threads of trace and counters find CUPTI side by side. */
static void find_late(void)
{
	setenv("STROBE_GPU_TRACE", "slow:1.5,100", 1);
	setenv("STROBE_GPU_COUNTERS", "slow", 1);
	must(strobe_start(NULL), "strobe_start");
	gpu->make_current(&contexts[0], 0);
	while (!cupti->subscribed() || !pm->sampling(0)) {
		strobe_gpu_trace_keep("now");
		sched_yield();
	}
	must(strobe_stop(), "strobe_stop");
	unsetenv("STROBE_GPU_TRACE");
	unsetenv("STROBE_GPU_COUNTERS");
}

/* Sessions begin and end while threads launch; traces and counters begin and end inside of them. */
static void go_collected(int rounds)
{
	static unsigned seeds[THREADS] = { 1, 2, 3 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch_until_over, &seeds[i]);
	for (int i = 0; i < rounds * 50;
		i++) { /* each thread's first zone comes at any moment of one, also at its end */
		must(strobe_start(NULL), "strobe_start");
		must(strobe_stop(), "strobe_stop");
	}
	for (int i = 0; i < rounds; i++) {
		must(strobe_start(NULL), "strobe_start");
		must(strobe_gpu_counters_start("seconds:60"), "strobe_gpu_counters_start");
		while (!pm->sampling(0)) /* the collector's thread begins it; alarm() ends a wait in vain */
			sched_yield();
		for (int k = 0; k < 4; k++) {
			strobe_gpu_trace_start("seconds:60");
			launch_kernel();
			use_everything();
		}
		strobe_gpu_counters_stop();
		must(strobe_stop(), "strobe_stop");
	}
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (cupti->subscribed() || pm->held() || !cupti->calls("cuptiActivityRegisterCallbacks")) {
		printf("no trace began, or CUPTI is still held\n");
		exit(1);
	}
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	int rounds = count > 2 ? atoi(arguments[2]) : 0;

	gpu = ((fake_cuda_function)symbol_of("STROBE_CUDA_PATH", "fake_cuda"))();
	cupti = ((fake_cupti_function)symbol_of("STROBE_CUPTI_PATH", "fake_cupti"))();
	gpu->reset();
	cupti->reset();
	pm = ((fake_pm_function)symbol_of("STROBE_CUPTI_PATH", "fake_pm"))();
	pm->reset();
	alarm(HUNG_S);
	if (!strcmp(what, "collect"))
		find_late();
	for (int i = CONTEXTS - 1; i >= 0; i--)
		gpu->make_current(&contexts[i], i);
	gpu->work(stream, 1);
	gpu->advance(1000);
	if (!strcmp(what, "cancel"))
		go_cancelled(rounds);
	else if (!strcmp(what, "fork"))
		go_forked(rounds);
	else if (!strcmp(what, "collect"))
		go_collected(rounds);
	else
		return 2;
	printf("%lu\n", closed);
	return 0;
}
