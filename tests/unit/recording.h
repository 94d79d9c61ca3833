/* What the recorder's tests share: a folder of their own, a session in it, a
 * second opinion on what was written. */
#ifndef SB_TEST_RECORDING_H
#define SB_TEST_RECORDING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recount.c"

#include "strobe.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Under a sanitizer everything is ten times slower: the same paths, fewer times. */
#ifdef STROBE_SANITIZED
enum { SHRINK = 20 };
#else
enum { SHRINK = 1 };
#endif

static char folder[64];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/strobe-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static void remove_tree(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char inner[512];

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
		if (unlink(inner))
			remove_tree(inner);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static int remove_folder(void **state)
{
	remove_tree(folder);
	return 0;
}

static void start(uint64_t max_trace_bytes)
{
	struct strobe_options options = { .size = sizeof options,
		.name = "test",
		.output_dir = folder,
		.max_trace_bytes = max_trace_bytes };

	assert_int_equal(strobe_start(&options), 0);
}

static const char *file(const char *name)
{
	static char path[600];

	snprintf(path, sizeof path, "%s/%s", strobe_run_dir(), name);
	return path;
}

static struct recount count_in(const char *file_name, const char *zone)
{
	struct recount r;

	recount_file(file(file_name), zone, &r);
	return r;
}

static off_t size_of(const char *path)
{
	struct stat s;

	return stat(path, &s) ? -1 : s.st_size;
}

static void zones(long n)
{
	for (long i = 0; i < n; i++) {
		STROBE_ZONE_BEGIN("outer");
		STROBE_ZONE_BEGIN("inner");
		STROBE_ZONE_END();
		STROBE_ZONE_END();
	}
}

/* A test with the folder made before and removed after it. */
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

static void record_without_company(void)
{
	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	setenv("STROBE_MONITOR", "0", 1);
}

#endif
