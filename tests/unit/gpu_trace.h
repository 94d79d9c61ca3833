/* A kernel trace with a CUPTI that does what the test says. */
#ifndef SB_TESTS_GPU_TRACE_H
#define SB_TESTS_GPU_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "format/gpu_shape.h"
#include "gpu/kernel_shape.h"
#include "base/error.h"
#include "fake/fake_cupti.h"
#include "fake/written.h"
#include "gpu/activity.h"
#include "gpu/kernel_name.h"
#include "gpu/stamps.h"
#include "gpu/trace.h"
#include "record/clock.h"
#include "strobe.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKE STROBE_BINARY_DIR "/tests/fake/libfake_cupti.so"

static const struct fake_cupti *fake;

static const struct sb_cupti *cupti;

static inline int setup(void **state)
{
	(void)state;
	setenv("STROBE_CUPTI_PATH", FAKE, 1);
	sb_clock_init();
	fake = ((fake_cupti_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_cupti"))();
	fake->reset();
	written_reset();
	assert_int_equal(sb_cupti_load(&cupti), 0);
	return 0;
}

static inline void start(void)
{
	const char *unattributed = "not set";

	assert_int_equal(sb_activity_start(cupti, false, NULL, &unattributed), 0);
	assert_null(unattributed);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

#endif
