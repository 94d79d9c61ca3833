/* A program that uses the stand-in for the CUDA driver, on clocks that stand still
 * until told otherwise. Include once, in a test linked with --wrap (tests/cmake/gpu.cmake). */
#ifndef FAKE_GPU_PROGRAM_H
#define FAKE_GPU_PROGRAM_H

#include "fake/fake_cuda.h"
#include "fake/written.h"
#include "gpu/resolve.h"
#include "gpu/zone.h"
#include "record/clock.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define FAKE STROBE_BINARY_DIR "/tests/fake/libfake_cuda.so"
#define MS 1000000ull
#define TEST(f) cmocka_unit_test_setup(f, setup)

static const struct fake_cuda *gpu;
static char context_a, stream_1[16];
__attribute__((unused)) static char stream_2[16];
static uint64_t clock_ticks;

/* The CPU's clock: putting an event takes 1 µs, launching something 3, and
 * everything else no time at all. */
static uint64_t clock_now(void)
{
	return clock_ticks;
}

static void pass_us(uint64_t us)
{
	clock_ticks += us * sb_clock_hz() / 1000000u;
}

static void put_takes_time(void)
{
	pass_us(1);
}

static void launch(void *stream, uint64_t ns)
{
	pass_us(3);
	gpu->work(stream, ns);
}

static struct sb_gpu_arrival from_c(void)
{
	return (struct sb_gpu_arrival){ sb_clock_ticks(), SB_GPU_PUTS_FROM_C };
}

static void begin(uint32_t name, void *stream)
{
	sb_gpu_zone_begin(name, stream, from_c(), sb_clock_ticks());
}

static uint32_t end(uint32_t name, void *stream)
{
	return sb_gpu_zone_end(name, stream, from_c());
}

static void zone(uint32_t name, void *stream, uint64_t ns)
{
	begin(name, stream);
	launch(stream, ns);
	end(name, stream);
}

static int setup(void **state)
{
	(void)state;
	setenv("STROBE_CUDA_PATH", FAKE, 1);
	sb_clock_init();
	sb_clock_kind = SB_CLOCK_MONOTONIC;
	sb_clock_source = clock_now;
	clock_ticks += 10 * sb_clock_hz();
	sb_gpu_zones_forget();
	sb_gpu_resolve_forget();
	sb_gpu_contexts_forget();
	sb_cuda_forget();
	sb_gpu_zones_threadless(true);
	gpu = ((fake_cuda_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_cuda"))();
	gpu->reset();
	gpu->on_record(put_takes_time);
	gpu->make_current(&context_a, 0);
	written_reset();
	return 0;
}

static inline uint64_t ms_of(uint64_t ticks)
{
	return (uint64_t)((double)ticks * 1e3 / (double)sb_clock_hz() + 0.5);
}

#endif
