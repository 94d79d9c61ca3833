/* Finds the CUDA driver that is already in the process. */
#include "gpu/driver.h"

#include "base/hot.h"
#include "base/dynlib.h"
#include "record/clock.h"
#include "record/put.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static SB_HOT_LINES struct sb_cuda table;
SB_HOT_DATA _Atomic(const struct sb_cuda *) sb_cuda_found;
static atomic_flag looking = ATOMIC_FLAG_INIT;
static _Atomic uint64_t next_look_ticks;
static _Atomic bool initialised; /* seen in this process */
static _Atomic bool inherited; /* seen in the one that it was forked from */

#define NEEDED(field, name) SB_DYNLIB_NEEDED(struct sb_cuda, field, name)
#define OPTIONAL(field, name) SB_DYNLIB_OPTIONAL(struct sb_cuda, field, name)

static const struct sb_dynlib_entry entries[] = {
	NEEDED(context_current, "cuCtxGetCurrent"),
	NEEDED(context_push, "cuCtxPushCurrent_v2"),
	NEEDED(context_pop, "cuCtxPopCurrent_v2"),
	NEEDED(context_device, "cuCtxGetDevice"),
	OPTIONAL(context_id, "cuCtxGetId"),
	NEEDED(event_create, "cuEventCreate"),
	NEEDED(event_destroy, "cuEventDestroy_v2"),
	NEEDED(event_record, "cuEventRecord"),
	NEEDED(event_query, "cuEventQuery"),
	NEEDED(event_elapsed_ms, "cuEventElapsedTime"),
	NEEDED(stream_create, "cuStreamCreateWithPriority"),
	NEEDED(stream_capturing, "cuStreamIsCapturing"),
	OPTIONAL(stream_id, "cuStreamGetId"),
	NEEDED(capture_mode, "cuThreadExchangeStreamCaptureMode"),
	OPTIONAL(device_name, "cuDeviceGetName"),
	OPTIONAL(device_uuid, "cuDeviceGetUuid_v2"),
	OPTIONAL(device_count, "cuDeviceGetCount"),
	OPTIONAL(primary_state, "cuDevicePrimaryCtxGetState"),
	OPTIONAL(device_attribute, "cuDeviceGetAttribute"),
	OPTIONAL(memory_info, "cuMemGetInfo_v2"),
};

static void say_not_loaded(void)
{
	char why[512];

	snprintf(why, sizeof why, "STROBE_CUDA_PATH names '%.400s', which cannot be loaded",
		secure_getenv("STROBE_CUDA_PATH"));
	sb_keep_missing("GPU time", why, "unset it, or name a libcuda.so.1");
}

/* A driver that is named is there or is not; the program's own may come later. */
static void *open_loaded(uint64_t *next_look)
{
	bool named;
	void *library = sb_dynlib_from_environment("STROBE_CUDA_PATH", &named);

	if (!named) /* a program that does not use CUDA never gets it from us */
		return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!library) {
		say_not_loaded();
		*next_look = UINT64_MAX;
	}
	return library;
}

static void say_too_old(const char *lacking)
{
	char why[96];

	snprintf(why, sizeof why, "this CUDA driver has no %s", lacking);
	sb_keep_missing("GPU time", why, "a driver of CUDA 10.1 or later");
}

/* A driver that lacks something stays as it is: that is said once. False: another thread is looking. Waiting for it
 * could take for ever: it may wait for the loader's lock, which this thread's caller may hold. */
static bool look(void)
{
	uint64_t next_ticks = sb_clock_ticks() + sb_clock_hz() / 10;
	const char *lacking;
	void *library;

	if (atomic_flag_test_and_set(&looking))
		return false;
	library = atomic_load(&sb_cuda_found) ? NULL : open_loaded(&next_ticks);
	if (library) {
		lacking = sb_dynlib_resolve(library, entries, sizeof entries / sizeof entries[0], &table);
		if (!lacking)
			atomic_store(&sb_cuda_found, &table);
		else
			say_too_old(lacking);
		next_ticks = UINT64_MAX;
	}
	atomic_store(&next_look_ticks, next_ticks);
	atomic_flag_clear(&looking);
	return true;
}

const struct sb_cuda *sb_cuda_get_if_decided(bool *out_decided)
{
	const struct sb_cuda *cuda = sb_cuda_known();

	*out_decided = true;
	if (__builtin_expect(cuda != NULL, 1))
		return cuda;
	if (sb_clock_ticks() < atomic_load_explicit(&next_look_ticks, memory_order_relaxed))
		return NULL;
	*out_decided = look();
	return atomic_load(&sb_cuda_found);
}

const struct sb_cuda *sb_cuda_get(void)
{
	bool decided;

	return sb_cuda_get_if_decided(&decided);
}

bool sb_cuda_initialised(void)
{
	const struct sb_cuda *cuda = sb_cuda_get();
	sb_cu_context ignored;

	if (!cuda || atomic_load(&inherited) || cuda->context_current(&ignored))
		return false;
	atomic_store(&initialised, true);
	return true;
}

uint32_t sb_cuda_devices_used(int *out_devices, uint32_t limit)
{
	const struct sb_cuda *cuda = sb_cuda_get();
	uint32_t used = 0;
	unsigned flags;
	int count = 0, active;

	if (!sb_cuda_initialised() || !cuda->device_count || !cuda->primary_state ||
		cuda->device_count(&count))
		return 0;
	for (int i = 0; i < count && used < limit; i++) {
		active = 0;
		if (!cuda->primary_state(i, &flags, &active) && active)
			out_devices[used++] = i;
	}
	return used;
}

double sb_cuda_dram_peak(int device)
{
	const struct sb_cuda *cuda = sb_cuda_get();
	int khz = 0, bits = 0;

	if (!cuda || !cuda->device_attribute ||
		cuda->device_attribute(&khz, SB_CU_MEMORY_CLOCK_KHZ, device) ||
		cuda->device_attribute(&bits, SB_CU_MEMORY_BUS_BITS, device))
		return 0;
	return 2.0 * 1e3 * khz * bits / 8; /* two transfers per clock */
}

int sb_cuda_capture_relax(void)
{
	const struct sb_cuda *cuda = sb_cuda_get();
	int mode = SB_CU_CAPTURE_RELAXED;

	return cuda && !cuda->capture_mode(&mode) ? mode : -1;
}

void sb_cuda_capture_restore(int mode)
{
	const struct sb_cuda *cuda = mode < 0 ? NULL : sb_cuda_get();

	if (cuda)
		cuda->capture_mode(&mode);
}

void sb_cuda_capture_relax_thread(bool *relaxed)
{
	if (!*relaxed && sb_cuda_initialised())
		*relaxed = sb_cuda_capture_relax() >= 0;
}

void sb_cuda_look_again(void)
{
	atomic_store(&next_look_ticks, 0);
}

void sb_cuda_look_now(void)
{
	if (atomic_load(&next_look_ticks) != UINT64_MAX)
		atomic_store(&next_look_ticks, 0);
}

void sb_cuda_forget(void)
{
	atomic_store(&sb_cuda_found, NULL);
	atomic_store(&next_look_ticks, 0);
	atomic_flag_clear(&looking);
}

void sb_cuda_forked(void)
{
	if (atomic_load(&initialised))
		atomic_store(&inherited, true);
	sb_cuda_forget();
}
