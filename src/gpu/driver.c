/* Finds the CUDA driver that is already in the process. */
#include "gpu/driver.h"

#include "record/clock.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static struct sb_cuda table;
static _Atomic(const struct sb_cuda *) found;
static atomic_flag looking = ATOMIC_FLAG_INIT;
static _Atomic uint64_t next_look_ticks;

struct entry {
	size_t offset;
	const char *name;
	bool optional;
};
#define ENTRY(field, name)                                   \
	{                                                    \
		offsetof(struct sb_cuda, field), name, false \
	}
#define OPTIONAL(field, name)                               \
	{                                                   \
		offsetof(struct sb_cuda, field), name, true \
	}

static const struct entry entries[] = {
	ENTRY(context_current, "cuCtxGetCurrent"),
	ENTRY(context_push, "cuCtxPushCurrent_v2"),
	ENTRY(context_pop, "cuCtxPopCurrent_v2"),
	ENTRY(context_device, "cuCtxGetDevice"),
	OPTIONAL(context_id, "cuCtxGetId"),
	ENTRY(event_create, "cuEventCreate"),
	ENTRY(event_destroy, "cuEventDestroy_v2"),
	ENTRY(event_record, "cuEventRecord"),
	ENTRY(event_query, "cuEventQuery"),
	ENTRY(event_elapsed_ms, "cuEventElapsedTime"),
	ENTRY(stream_create, "cuStreamCreateWithPriority"),
	ENTRY(stream_capturing, "cuStreamIsCapturing"),
	OPTIONAL(stream_id, "cuStreamGetId"),
	ENTRY(capture_mode, "cuThreadExchangeStreamCaptureMode"),
	OPTIONAL(device_name, "cuDeviceGetName"),
	OPTIONAL(device_uuid, "cuDeviceGetUuid_v2"),
};

static bool resolve(void *library)
{
	for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
		void *symbol = dlsym(library, entries[i].name);

		if (!symbol && !entries[i].optional)
			return false;
		*(void **)((char *)&table + entries[i].offset) = symbol;
	}
	return true;
}

/* RTLD_NOLOAD: a program that does not use CUDA never gets it from us. */
static void *open_loaded(void)
{
	const char *path = getenv("STROBE_CUDA_PATH");

	return path && *path ? dlopen(path, RTLD_NOW) : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
}

static void look(void)
{
	void *library;

	if (atomic_flag_test_and_set(&looking))
		return;
	if (!atomic_load(&found)) {
		library = open_loaded();
		if (library && resolve(library))
			atomic_store(&found, &table);
		atomic_store(&next_look_ticks, sb_clock_ticks() + sb_clock_hz() / 10);
	}
	atomic_flag_clear(&looking);
}

const struct sb_cuda *sb_cuda_get(void)
{
	const struct sb_cuda *cuda = atomic_load_explicit(&found, memory_order_acquire);

	if (__builtin_expect(cuda != NULL, 1))
		return cuda;
	if (sb_clock_ticks() < atomic_load_explicit(&next_look_ticks, memory_order_relaxed))
		return NULL;
	look();
	return atomic_load(&found);
}

void sb_cuda_forget(void)
{
	atomic_store(&found, NULL);
	atomic_store(&next_look_ticks, 0);
	atomic_flag_clear(&looking);
}
