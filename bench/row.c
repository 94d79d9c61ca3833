/* Prints benchmark rows. */
#include "row.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void row_head(const char *title)
{
	printf("\n%s\n", title);
	fflush(stdout);
}

static void row(const char *what, double value, const char *unit, double bar, const char *relation, int ok)
{
	const char *path = getenv("STROBE_BENCH_ROWS");
	FILE *out = path ? fopen(path, "a") : NULL;

	printf("  %-58s %9.3f %-8s", what, value, unit);
	if (bar > 0)
		printf(" %s %-7g %s", relation, bar, ok ? "ok" : "MISSED");
	printf("\n");
	fflush(stdout);
	if (!out)
		return;
	fprintf(out, "{\"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"", what, value, unit);
	if (bar > 0)
		fprintf(out, ", \"bar\": %g, \"relation\": \"%s\", \"ok\": %s", bar, relation,
			ok ? "true" : "false");
	fprintf(out, "}\n");
	fclose(out);
}

void row_most(const char *what, double value, const char *unit, double bar)
{
	row(what, value, unit, bar, "<=", value <= bar);
}

void row_least(const char *what, double value, const char *unit, double bar)
{
	row(what, value, unit, bar, ">=", value >= bar);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double wall_s(void)
{
	return seconds(CLOCK_MONOTONIC);
}

double thread_cpu_s(void)
{
	return seconds(CLOCK_THREAD_CPUTIME_ID);
}
