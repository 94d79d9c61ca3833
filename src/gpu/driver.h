/*
 * The CUDA driver as strobe uses it: only what the watched program has already
 * loaded, found with dlopen. Nothing here initialises CUDA, makes a context or
 * synchronizes; there is no entry for any of that, so it cannot be called.
 */
#ifndef SB_GPU_DRIVER_H
#define SB_GPU_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *sb_cu_context;
typedef void *sb_cu_stream;
typedef void *sb_cu_event;

enum {
	SB_CU_OK = 0,
	SB_CU_OUT_OF_MEMORY = 2,
	SB_CU_DEINITIALIZED = 4,
	SB_CU_INVALID_CONTEXT = 201,
	SB_CU_NOT_READY = 600,
	SB_CU_ILLEGAL_ADDRESS = 700, /* from here on: the context is beyond use */
	SB_CU_CAPTURE_UNSUPPORTED = 900, /* from here on: a capture forbids it */
	SB_CU_CAPTURE_LAST = 908
};
enum { SB_CU_MEMORY_CLOCK_KHZ = 36, SB_CU_MEMORY_BUS_BITS = 37 };
enum { SB_CU_STREAM_NON_BLOCKING = 1, SB_CU_CAPTURE_RELAXED = 2 };

struct sb_cuda {
	/* First, and in one cache line: what a GPU zone calls. */
	_Alignas(64) int (*event_record)(sb_cu_event, sb_cu_stream);
	int (*stream_capturing)(sb_cu_stream, int *);
	int (*context_current)(sb_cu_context *);
	int (*context_push)(sb_cu_context);
	int (*context_pop)(sb_cu_context *);
	int (*context_device)(int *);
	int (*context_id)(sb_cu_context, unsigned long long *); /* NULL before CUDA 12.0 */
	int (*event_create)(sb_cu_event *, unsigned);
	int (*event_destroy)(sb_cu_event);
	int (*event_query)(sb_cu_event);
	int (*event_elapsed_ms)(float *, sb_cu_event, sb_cu_event);
	int (*stream_create)(sb_cu_stream *, unsigned, int);
	int (*stream_id)(sb_cu_stream, unsigned long long *); /* NULL before CUDA 12.0 */
	int (*capture_mode)(int *); /* exchanges the thread's mode */
	int (*device_name)(char *, int, int);
	int (*device_uuid)(unsigned char *, int);
	int (*device_count)(int *);
	int (*primary_state)(int device, unsigned *flags, int *active);
	int (*device_attribute)(int *out, int attribute, int device);
	int (*memory_info)(size_t *out_free, size_t *out_total); /* of the current context's device */
};

extern _Atomic(const struct sb_cuda *) sb_cuda_found; /* NULL: none so far */

/* The driver if it was found already. */
static inline const struct sb_cuda *sb_cuda_known(void)
{
	return atomic_load_explicit(&sb_cuda_found, memory_order_acquire);
}

/* The driver if this process has loaded it by now, else NULL. Cheap: while
 * there is none it looks again at most ten times a second. */
const struct sb_cuda *sb_cuda_get(void);
/* The same. NULL and *out_decided false: another thread is looking right now, and may find one. */
const struct sb_cuda *sb_cuda_get_if_decided(bool *out_decided);

/* True if the error means that the context cannot be used any more. */
static inline bool sb_cuda_context_gone(int err)
{
	return err == SB_CU_DEINITIALIZED || err == SB_CU_INVALID_CONTEXT ||
	       (err >= SB_CU_ILLEGAL_ADDRESS && err < 720);
}

/* True if it means that a stream is being captured in a way that forbids the call. */
static inline bool sb_cuda_capture_forbids(int err)
{
	return err >= SB_CU_CAPTURE_UNSUPPORTED && err <= SB_CU_CAPTURE_LAST;
}

/* True: this process has initialised CUDA. Never in the forked child of one that was seen to have: the driver serves it no more,
 * and what lies on it (CUPTI) may crash there. */
bool sb_cuda_initialised(void);

/* The devices that this process uses, lowest number first; how many, at most limit. */
uint32_t sb_cuda_devices_used(int *out_devices, uint32_t limit);

/* The peak bandwidth of a device's memory in bytes per second, by its clock and bus; 0: not known. */
double sb_cuda_dram_peak(int device);

/* Allows the calling thread what a capture on another thread would forbid. Returns the mode before, for
 * sb_cuda_capture_restore(); -1: there is no driver. */
int sb_cuda_capture_relax(void);
void sb_cuda_capture_restore(int mode); /* takes -1 */
/* The same for as long as the calling thread lives, from when CUDA is there; it may come after the thread. *relaxed: false at first. */
void sb_cuda_capture_relax_thread(bool *relaxed);

void sb_cuda_look_now(void); /* makes the next sb_cuda_get() look, however recent the last look is */
void sb_cuda_look_again(void); /* in a new session: reports again what is wrong with the driver */
/* For tests: look again from the start. */
void sb_cuda_forget(void);
void sb_cuda_forked(void); /* the same in a forked child */

#endif
