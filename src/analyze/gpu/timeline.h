/* The GPU's timeline: kernels, copies and sets sorted per device, how long it
 * was busy, and the gaps. In bounded memory. */
#ifndef SB_ANALYZE_GPU_TIMELINE_H
#define SB_ANALYZE_GPU_TIMELINE_H

#include "run/events.h"
#include "base/extsort.h"
#include "base/vec.h"

#define SB_GPU_DEVICES_MAX 64u

struct sb_gpu_work { /* one record; key: device, start, stream */
	uint64_t key[SB_EXTSORT_KEY_WORDS];
	int64_t duration_ns;
	int64_t launch_ns; /* INT64_MIN: unknown */
	int64_t bytes; /* -1: none */
	int64_t alone_ns; /* of its time, what no earlier work covers */
	uint32_t name; /* run name */
	uint32_t launch_track; /* UINT32_MAX: unknown */
	uint32_t kind, device;
	uint32_t flags;
	uint32_t unused;
};

struct sb_gpu_idle { /* a gap */
	int64_t begin_ns, end_ns;
	uint32_t device;
	uint32_t path; /* what the CPU did for most of it */
	int64_t path_ns;
};

struct sb_gpu_device_times {
	uint32_t device;
	int64_t first_ns, last_ns, busy_ns;
	int64_t window_ns; /* last - first, without what lies between two traces */
};

/* Sums over devices; a device's window is from its first work to its last. */
struct sb_gpu_times {
	int64_t busy_ns, kernel_busy_ns, compute_busy_ns, communication_ns, window_ns;
	int64_t first_ns, last_ns;
	int64_t gap_count; /* of all lengths */
	int64_t long_gaps_ns; /* of those longer than SB_GPU_LONG_GAP_NS */
};

struct sb_gpu_timeline {
	struct sb_extsort *works;
	struct sb_gpu_idle *gaps; /* by device and time; the short ones of many are left out */
	size_t gap_count, gap_room;
	int64_t gap_least_ns;
	struct sb_gpu_times times;
	struct sb_gpu_device_times *devices; /* by device */
	size_t device_count, device_room;
	const struct sb_vec *traces; /* of the run, struct sb_gpu_trace; the caller's */
	uint32_t process;
	bool *is_communication; /* by run name */
	uint32_t name_count;
};

int sb_gpu_timeline_init(struct sb_gpu_timeline *t, const struct sb_vec *traces, uint32_t process);
void sb_gpu_timeline_done(struct sb_gpu_timeline *t); /* t may be zeroed */
int sb_gpu_timeline_add(struct sb_gpu_timeline *t, const struct sb_event *e);
/* Sorts and sweeps once; take sees every work in order with alone_ns filled in. */
int sb_gpu_timeline_sweep(struct sb_gpu_timeline *t, struct sb_run *run,
	int (*take)(void *self, const struct sb_gpu_work *work), void *self);

#endif
