/* A fuzzer's bytes as a run. What would end the reading at once is mended first. */
#ifndef TESTS_FUZZ_RECORDING_INPUT_H
#define TESTS_FUZZ_RECORDING_INPUT_H

#include "format/wire.h"
#include "report/build.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INPUT_BYTES_MAX (1u << 18)

/* Version 1, a header of 4096 bytes, chunks of 4096 or 16384. */
static inline int input_write(int fd, const uint8_t *data, size_t size)
{
	uint32_t sizes[3] = { 1, 4096, 4096 };

	if (size > INPUT_BYTES_MAX || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return -1;
	if (size < 24 || memcmp(data, SB_MAGIC, 8))
		return 0;
	if (data[17] == 0x40)
		sizes[2] = 16384;
	return pwrite(fd, sizes, sizeof sizes, 8) == sizeof sizes ? 0 : -1;
}

/* Slot 0 or 1: a name of the file for each. NULL: it is no run. */
static inline struct sb_run *input_run(int slot, const uint8_t *data, size_t size)
{
	static int fds[2] = { -1, -1 };
	struct sb_run *run;
	char path[64];

	if (fds[slot] < 0)
		fds[slot] = memfd_create("recording", 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fds[slot]);
	if (input_write(fds[slot], data, size) || sb_run_open(path, NULL, &run))
		return NULL;
	return run;
}

static inline struct sb_model *input_model(struct sb_run *run)
{
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_model *model;

	return run && !sb_report_build(run, &options, &model) ? model : NULL;
}

#endif
