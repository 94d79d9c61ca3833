/* A machine whose NVIDIA driver is a stand-in: what it is told with say() is what it answers. */
#ifndef TESTS_FAKE_NVML_H
#define TESTS_FAKE_NVML_H

#include "monitor/tree.h"
#include "record/settings.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char script[64];
static struct sb_settings settings;

static void say(const char *text)
{
	FILE *file;

	snprintf(script, sizeof script, "/tmp/strobe-fake-nvml-%d", (int)getpid());
	file = fopen(script, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	setenv("FAKE_NVML", script, 1);
}

static int begin(void **state)
{
	setenv("STROBE_NVML_PATH", STROBE_BINARY_DIR "/tests/fake/libnvidia-ml.so", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("RANK");
	unsetenv("LOCAL_RANK");
	unsetenv("WORLD_SIZE");
	sb_settings_default(&settings);
	settings.gpu_monitor_interval_s = 0.01;
	settings.gpu_counters_interval_s = 0;
	capture_begin();
	sb_tree_open(getpid(), false);
	say("");
	return 0;
}

static int end(void **state)
{
	sb_tree_close();
	unlink(script);
	return 0;
}

/* Until a condition holds; the limit only matters when the test fails. */
#define WAIT_FOR(condition)                            \
	do {                                           \
		int left_ms_ = 20000;                  \
		while (!(condition) && left_ms_ > 0) { \
			poll(NULL, 0, 2);              \
			left_ms_ -= 2;                 \
		}                                      \
		assert_true(condition);                \
	} while (0)

#endif
