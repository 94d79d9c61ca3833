/* What a zone costs, as ratios to the floor measured in the same run: two
 * counter reads and 16 bytes stored. usage: zone_bench [--quick|--peer] */
#include "peer.h"
#include "row.h"

#include <strobe.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 400, ROUNDS = 3000 };
static long million = 1000000;
static _Thread_local uint64_t sink[2 * BATCH];

#define NOINLINE __attribute__((noinline))

static NOINLINE void floor_batch(long n)
{
	for (long i = 0; i < n; i++) {
		__atomic_store_n(&sink[(2 * i) % (2 * BATCH)], counter(), __ATOMIC_RELEASE);
		__atomic_store_n(&sink[(2 * i + 1) % (2 * BATCH)], counter(), __ATOMIC_RELEASE);
	}
}

/* ---- the least that a recorder behind two calls does ----------------------- */

struct least_cursor {
	uint64_t *at, *end, base;
};

static uint64_t least_records[2 * BATCH];
static _Thread_local struct least_cursor least_cursor;
static volatile int least_on = 1;

/* Asks for room and for a time that fits, puts name and time into eight bytes, moves on. */
static NOINLINE void least_put(uint64_t name)
{
	struct least_cursor *c = &least_cursor;
	uint64_t since = counter() - c->base;

	if (c->at >= c->end || since >> 40)
		return;
	*c->at = since << 24 | name;
	__atomic_store_n(&c->at, c->at + 1, __ATOMIC_RELEASE);
}

static NOINLINE void least_batch(long n)
{
	least_cursor = (struct least_cursor){ least_records, least_records + 2 * BATCH, counter() };
	for (long i = 0; i < n; i++) {
		if (least_on)
			least_put(17);
		if (least_on)
			least_put(2);
	}
}

static NOINLINE void plain(long n)
{
	for (long i = 0; i < n; i++) {
		STROBE_ZONE_BEGIN("plain");
		STROBE_ZONE_END();
	}
}

static NOINLINE void scoped(long n)
{
	for (long i = 0; i < n; i++) {
		STROBE_ZONE("scoped");
	}
}

static NOINLINE void nested(long n)
{
	for (long i = 0; i < n / 2; i++) {
		STROBE_ZONE_BEGIN("outer");
		STROBE_ZONE_BEGIN("inner");
		STROBE_ZONE_END();
		STROBE_ZONE_END();
	}
}

static NOINLINE void with_attribute(long n)
{
	static uint32_t key;

	if (!key)
		key = strobe_name("frames", NULL);
	for (long i = 0; i < n; i++) {
		STROBE_ZONE_BEGIN("with_attribute");
		strobe_attr_int_id(key, i);
		STROBE_ZONE_END();
	}
}

static NOINLINE void dynamic(long n)
{
	for (long i = 0; i < n; i++) {
		strobe_zone_begin("dynamic_name");
		strobe_zone_end();
	}
}

static NOINLINE void peer(long n)
{
	for (long i = 0; i < n; i++)
		peer_zone();
}

/* ---- warm: the best of many short batches, interleaved with the floor ------ */

/* By the clock on the wall: the best of many batches of some 10 us is one that nothing interrupted. A virtual
 * machine takes the time that others had of its core off a thread's CPU time, now and then from a batch that had
 * lost none: then a zone cost half of its floor. */
static double batch_s(void (*batch)(long))
{
	double from = wall_s();

	batch(BATCH);
	return wall_s() - from;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double best_ns(void (*batch)(long))
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		floor_batch(BATCH / 8); /* keeps conditions alike */
		best = smaller(best, batch_s(batch));
	}
	return best / BATCH * 1e9;
}

/* In turns: a core's clock may have changed since the floor was measured for another row. */
static double best_to_floor(void (*batch)(long))
{
	double best = 1e9, best_floor = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		best_floor = smaller(best_floor, batch_s(floor_batch));
		best = smaller(best, batch_s(batch));
	}
	return best / best_floor;
}

static void warm(void)
{
	row_head("Zone begin + end, recording, warm chunks (ratio to the floor)");
	row_most("floor: two counter reads + 16 bytes stored", best_ns(floor_batch), "ns", 0);
	row_most(
		"two calls that do this with a cursor, if there is room", best_to_floor(least_batch), "x", 0);
	row_most("begin/end", best_to_floor(plain), "x", 1.10);
	row_most("scope", best_to_floor(scoped), "x", 1.10);
	row_most("nested, per zone", best_to_floor(nested), "x", 1.10);
	row_most("with one attribute", best_to_floor(with_attribute), "x", 0);
	row_most("dynamic name", best_to_floor(dynamic), "x", 0);
}

/* Run by tools/bench inside a tracing session of the peer's own. */
static void measure_peer(void)
{
	char what[80];

	row_head("The packaged peer, recording, warm");
	snprintf(what, sizeof what, "%s, two tracepoints", peer_name);
	row_least(what, best_to_floor(peer), "x", 0);
}

/* ---- in context: around some 23 ns of work --------------------------------- */

static volatile double work_input = 1.25;

static inline double work(double x)
{
	for (int i = 0; i < 14; i++)
		x = x * 1.0000001 + 0.5;
	return x;
}

static double work_sum;

static NOINLINE void work_only(long n)
{
	double x = work_input;

	for (long i = 0; i < n; i++)
		x = work(x);
	work_sum += x;
}

static NOINLINE void work_counted(long n)
{
	double x = work_input;

	for (long i = 0; i < n; i++) {
		uint64_t from = counter();

		x = work(x);
		sink[i & 1] = counter() - from;
	}
	work_sum += x;
}

static NOINLINE void work_zoned(long n)
{
	double x = work_input;

	for (long i = 0; i < n; i++) {
		STROBE_ZONE_BEGIN("work");
		x = work(x);
		STROBE_ZONE_END();
	}
	work_sum += x;
}

static void in_context(void)
{
	double only = best_ns(work_only), counted = best_ns(work_counted), zoned = best_ns(work_zoned);

	row_head("What a zone adds around real work, through the shared library");
	row_most("the work alone", only, "ns", 0);
	row_most("two counter reads in context add", counted - only, "ns", 0);
	row_most("a zone adds, beyond those reads", zoned - counted, "ns",
#if defined(__x86_64__)
		12
#else
		7
#endif
	);
}

/* ---- off -------------------------------------------------------------------- */

static NOINLINE void empty(long n)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("" ::: "memory");
}

static volatile int switched_off;

/* The floor of a begin and an end that are off but can be switched on: two loads and two branches. */
static NOINLINE void two_branches(long n)
{
	for (long i = 0; i < n; i++) {
		if (__builtin_expect(switched_off, 0))
			sink[0]++;
		if (__builtin_expect(switched_off, 0))
			sink[1]++;
	}
}

static double best_long_ns(void (*batch)(long))
{
	double best = 1e9;

	for (int i = 0; i < 20; i++) {
		double from = thread_cpu_s(), took;

		batch(million);
		took = thread_cpu_s() - from;
		best = took < best ? took : best;
	}
	return best / (double)million * 1e9;
}

static void off(void)
{
	double empty_ns = best_long_ns(empty), floor_ns = best_long_ns(two_branches);
	double pair_ns = best_long_ns(plain);

	row_head("Recording off, over an empty loop");
	row_most("two loads and two branches, the floor", floor_ns - empty_ns, "ns", 0);
	row_most("begin/end, recording off", pair_ns - empty_ns, "ns", 0.8);
	row_most("begin/end, recording off, loop and all, over the floor", pair_ns / floor_ns, "x", 1.05);
	row_most("scope, recording off", best_long_ns(scoped) - empty_ns, "ns", 0.8);
}

/* ---- ten million zones, all included ---------------------------------------- */

static long rss_kib(const char *field)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, field, strlen(field)))
			kib = atol(line + strlen(field) + 1);
	if (f)
		fclose(f);
	return kib;
}

static void start(const char *name)
{
	struct strobe_options options = { .size = sizeof options, .name = name };

	if (strobe_start(&options)) {
		fprintf(stderr, "%s\n", strobe_error());
		exit(1);
	}
}

static double file_bytes(void)
{
	char path[1200];
	struct stat s;

	snprintf(path, sizeof path, "%s/run.strobe", strobe_run_dir());
	return stat(path, &s) ? 0 : (double)s.st_size;
}

static void remove_run(void)
{
	char path[1200];

	snprintf(path, sizeof path, "%s/run.strobe", strobe_run_dir());
	unlink(path);
	rmdir(strobe_run_dir());
}

static double million_s(void (*batch)(long), long n)
{
	double from = wall_s();

	batch(n);
	return wall_s() - from;
}

static double cpu_of(void (*batch)(long), long n)
{
	double from = thread_cpu_s();

	batch(n);
	return thread_cpu_s() - from;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void ten_million(long n)
{
	double ratios[10];
	long anon = 0, file = 0;
	double bytes = 0;

	row_head("Ten million zones, everything included: the median and the worst of ten");
	for (size_t i = 0; i < 10; i++) {
		double floor_s = million_s(floor_batch, n);

		anon = rss_kib("RssAnon");
		file = rss_kib("RssFile");
		start("bench-ten-million");
		ratios[i] = million_s(plain, n) / floor_s;
		anon = rss_kib("RssAnon") - anon;
		file = rss_kib("RssFile") - file;
		strobe_stop();
		bytes = file_bytes();
		remove_run();
	}
	qsort(ratios, 10, sizeof *ratios, by_value);
	row_most("one thread, to the floor", (ratios[4] + ratios[5]) / 2, "x", 1.25);
	row_most("one thread, to the floor, worst", ratios[9], "x", 1.2);
	row_most("bytes per zone in the recording", bytes / (double)n, "bytes", 16.1);
	row_most("RssAnon added", (double)anon / 1024, "MiB", 16);
	row_most("RssFile added", (double)file / 1024, "MiB", 24);
}

/* Past its budget a thread folds its oldest zones as it records: about a floor each. */
static void past_budget(long n)
{
	static const struct {
		const char *what;
		void (*batch)(long);
		double most;
	} cases[] = { { "one after the other", plain, 2.25 }, { "nested, per zone", nested, 2.25 } };

	row_head("Zone past max_trace_bytes (ratio to the floor): the median and the worst of five");
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		double ratios[5];
		char worst[80];

		setenv("STROBE_MAX_TRACE_BYTES", "8MiB", 1);
		start("bench-past-budget");
		unsetenv("STROBE_MAX_TRACE_BYTES");
		cases[c].batch(million);
		for (size_t i = 0; i < 5; i++) {
			double floor_s = cpu_of(floor_batch, n / 10);

			ratios[i] = cpu_of(cases[c].batch, n / 10) / floor_s;
		}
		strobe_stop();
		remove_run();
		qsort(ratios, 5, sizeof *ratios, by_value);
		row_most(cases[c].what, ratios[2], "x", cases[c].most);
		snprintf(worst, sizeof worst, "%s, worst", cases[c].what);
		row_most(worst, ratios[4], "x", 0);
	}
}

static long per_thread;

static void *plain_thread(void *unused)
{
	plain(per_thread);
	return NULL;
}

static void *floor_thread(void *unused)
{
	floor_batch(per_thread);
	return NULL;
}

static double threads_s(void *(*body)(void *), int count)
{
	pthread_t threads[64];
	double from = wall_s();

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, body, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return wall_s() - from;
}

static void every_core(long n)
{
	int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
	double best = 1e9;
	char what[64];

	cores = cores > 8 ? 8 : cores;
	per_thread = n / cores;
	for (int i = 0; i < 6; i++) {
		double floor_s = threads_s(floor_thread, cores), zones_s;

		start("bench-every-core");
		zones_s = threads_s(plain_thread, cores);
		strobe_stop();
		remove_run();
		best = zones_s / floor_s < best ? zones_s / floor_s : best;
	}
	snprintf(what, sizeof what, "%d threads, every core writing, to the floor", cores);
	row_most(what, best, "x", 1.5);
}

int main(int argc, char **argv)
{
	long n = 10 * million;

	if (argc > 1 && !strcmp(argv[1], "--quick"))
		n = million;
	if (argc > 1 && !strcmp(argv[1], "--peer")) {
		if (peer_name)
			measure_peer();
		return 0;
	}
	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	setenv("STROBE_MONITOR", "0", 0);
	off();
	start("bench-warm");
	warm();
	in_context();
	strobe_stop();
	remove_run();
	ten_million(n);
	every_core(n);
	past_budget(n);
	return 0;
}
