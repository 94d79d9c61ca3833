/* What a GPU zone costs in C over a stand-in for the CUDA driver, as a ratio to an
 * ordinary zone and in driver calls. usage: gpu_zone_bench [FAKE_LIBRARY] */
#include "fake/fake_cuda.h"
#include "row.h"

#include <strobe.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 24, STEPS = 10, ROUNDS = 60, RECORD_NS = 1000, LAUNCH_NS = 3000 };
#define ZONES (STEPS * (BLOCKS + 1))

static const struct fake_cuda *gpu;
static void *const stream = (void *)0x20;
static uint32_t step_name, block_name;

static void launch(void)
{
	double end = wall_s() + LAUNCH_NS * 1e-9;

	while (wall_s() < end)
		;
}

static void gpu_step(void)
{
	strobe_gpu_zone_begin_id(step_name, stream);
	launch();
	for (int i = 0; i < BLOCKS; i++) {
		strobe_gpu_zone_begin_id(block_name, stream);
		launch();
		strobe_gpu_zone_end_id(block_name, stream);
	}
	launch();
	strobe_gpu_zone_end_id(step_name, stream);
}

static void cpu_step(void)
{
	strobe_zone_begin_id(step_name);
	launch();
	for (int i = 0; i < BLOCKS; i++) {
		strobe_zone_begin_id(block_name);
		launch();
		strobe_zone_end_id(block_name);
	}
	launch();
	strobe_zone_end_id(step_name);
}

static void bare_step(void)
{
	for (int i = 0; i < BLOCKS + 2; i++)
		launch();
}

/* Nanoseconds per zone. */
static double timed(void (*step)(void))
{
	double began = wall_s();

	for (int i = 0; i < STEPS; i++)
		step();
	return (wall_s() - began) * 1e9 / ZONES;
}

static void least(double *best, double value)
{
	if (*best <= 0 || value < *best)
		*best = value;
}

/* What the stand-in itself takes for each event: it is not ours. */
static double driver_ns(void *library)
{
	int (*create)(void **, unsigned) = (int (*)(void **, unsigned))dlsym(library, "cuEventCreate");
	int (*record)(void *, void *) = (int (*)(void *, void *))dlsym(library, "cuEventRecord");
	int (*capturing)(void *, int *) = (int (*)(void *, int *))dlsym(library, "cuStreamIsCapturing");
	double best = 0;
	void *event;
	int state;

	create(&event, 0);
	for (int i = 0; i < ROUNDS; i++) {
		double began = wall_s();

		for (int j = 0; j < ZONES; j++) {
			capturing(stream, &state);
			record(event, stream);
		}
		least(&best, (wall_s() - began) * 1e9 / ZONES);
	}
	return best;
}

static const struct fake_cuda *open_fake(void *library)
{
	fake_cuda_function f = library ? (fake_cuda_function)dlsym(library, "fake_cuda") : NULL;

	return f ? f() : NULL;
}

int main(int argc, char **argv)
{
	static const char *const calls[] = { "cuEventRecord", "cuCtxGetCurrent", "cuStreamIsCapturing" };
	const char *path = argc > 1 ? argv[1] : FAKE_CUDA;
	void *library = dlopen(path, RTLD_NOW);
	double with_gpu = 0, without = 0, bare = 0, event_ns;
	char what[64];

	gpu = open_fake(library);
	if (!gpu) {
		row_head("GPU zones in C: left out, there is no stand-in for the driver");
		return 0;
	}
	setenv("STROBE_CUDA_PATH", path, 1);
	setenv("STROBE_MONITOR", "false", 1);
	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	gpu->reset();
	gpu->make_current((void *)0x1000, 0);
	gpu->record_takes(RECORD_NS);
	event_ns = driver_ns(library);
	gpu->reset();
	gpu->make_current((void *)0x1000, 0);
	gpu->record_takes(RECORD_NS);
	if (strobe_start(NULL))
		return 1;
	step_name = strobe_name("step", NULL);
	block_name = strobe_name("block", NULL);
	for (int i = 0; i < ROUNDS; i++) {
		double records = (double)gpu->calls("cuEventRecord"), ns = timed(gpu_step);

		records = ((double)gpu->calls("cuEventRecord") - records) / ZONES;
		least(&with_gpu, ns - records * event_ns);
		least(&without, timed(cpu_step));
		least(&bare, timed(bare_step));
	}
	strobe_stop();
	row_head("A GPU zone in C, over a stand-in for the driver (steps of 24 blocks back to back)");
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		snprintf(what, sizeof what, "%s calls per zone", calls[i]);
		row_most(what, (double)gpu->calls(calls[i]) / (ROUNDS * ZONES), "", i ? 0 : 1.15);
	}
	row_most("GPU zone, without the driver's time", with_gpu - bare, "ns", 0);
	row_most("ordinary zone", without - bare, "ns", 0);
	row_most("GPU zone over an ordinary one", (with_gpu - bare) / (without - bare), "x", 0);
	return 0;
}
