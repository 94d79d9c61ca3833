/* A recording of so many zones, of one shape; prints its run folder.
 * usage: make_recording ZONES [steps|deep|names|threads] */
#include <strobe.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 2000 /* as a traced Python program has functions */
#define DEPTH 64
#define THREADS 16

/* Work of uneven length, so that no duration is like the one before. */
static void work(void)
{
	static _Thread_local uint32_t state = 1;

	state = state * 1664525u + 1013904223u;
	for (uint32_t i = 0; i < state >> 25; i++)
		__asm__ volatile("" : : "r"(i));
}

/* Four names, two deep: the shape of a denoising loop. */
static void steps(long zones)
{
	for (long i = 0; i < zones / 4; i++) {
		STROBE_ZONE("step");
		STROBE_ZONE_BEGIN("transformer");
		work();
		STROBE_ZONE_END();
		STROBE_ZONE_BEGIN("scheduler");
		work();
		STROBE_ZONE_END();
		STROBE_ZONE_BEGIN("cache");
		work();
		STROBE_ZONE_END();
	}
}

static uint32_t names[NAMES];

static void name_them(void)
{
	for (int i = 0; i < NAMES; i++) {
		char name[32];

		snprintf(name, sizeof name, "function_%d", i);
		names[i] = strobe_name(name, NULL);
	}
}

static void nest(int depth)
{
	strobe_zone_begin_id(names[depth]);
	if (depth + 1 < DEPTH)
		nest(depth + 1);
	work();
	strobe_zone_end();
}

static void deep(long zones)
{
	name_them();
	for (long i = 0; i < zones / DEPTH; i++)
		nest(0);
}

/* One after the other, in an order that repeats late. */
static void many_names(long zones)
{
	uint32_t at = 1;

	name_them();
	for (long i = 0; i < zones; i++) {
		at = at * 1664525u + 1013904223u;
		strobe_zone_begin_id(names[(at >> 8) % NAMES]);
		work();
		strobe_zone_end();
	}
}

static void *one_thread(void *zones)
{
	steps(*(long *)zones);
	return NULL;
}

static void threads(long zones)
{
	pthread_t all[THREADS];
	long each = zones / THREADS;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&all[i], NULL, one_thread, &each))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
}

static const struct {
	const char *name;
	void (*record)(long zones);
} shapes[] = { { "steps", steps }, { "deep", deep }, { "names", many_names }, { "threads", threads } };

int main(int argc, char **argv)
{
	long zones = argc > 1 ? atol(argv[1]) : 1000000;
	const char *shape = argc > 2 ? argv[2] : "steps";
	size_t at = 0;

	while (at < sizeof shapes / sizeof *shapes && strcmp(shapes[at].name, shape) != 0)
		at++;
	if (at == sizeof shapes / sizeof *shapes)
		return 2;
	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	setenv("STROBE_MONITOR", "0", 1);
	if (strobe_start(NULL))
		return 1;
	shapes[at].record(zones);
	strobe_stop();
	puts(strobe_run_dir());
	return 0;
}
