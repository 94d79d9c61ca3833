/*
 * The part of CUPTI's binary interface that strobe uses. It is declared here, so
 * that a build needs no CUDA toolkit. Only the leading part of each record is described:
 * it has been the same from CUDA 12.0 to 13.x; newer records are longer.
 * tests/unit/cupti_layout_test.c compares it with the real header where there is one.
 */
#ifndef SB_GPU_CUPTI_H
#define SB_GPU_CUPTI_H

#include <stddef.h>
#include <stdint.h>

enum {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_NO_PRIVILEGES = 35,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39
};

enum {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_MEMCPY2 = 22
};

enum {
	CUPTI_ATTR_DEVICE_BUFFER_SIZE = 0,
	CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
	CUPTI_ATTR_ZEROED_OUT_BUFFER = 5
};

enum { CUPTI_FLUSH_FORCED = 1 };

enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2 };
enum { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 };

enum {
	CUPTI_COPY_HTOD = 1,
	CUPTI_COPY_DTOH = 2,
	CUPTI_COPY_DTOD = 8,
	CUPTI_COPY_HTOH = 9,
	CUPTI_COPY_PTOP = 10
};
enum {
	CUPTI_MEMORY_PAGEABLE = 1,
	CUPTI_MEMORY_PINNED = 2,
	CUPTI_MEMORY_DEVICE = 3,
	CUPTI_MEMORY_MANAGED = 5
};

struct cupti_record {
	uint32_t kind;
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config[2];
	uint16_t registers_per_thread;
	uint32_t partitioned_cache[2];
	uint64_t start;
	uint64_t end;
	uint64_t completed;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	int32_t grid[3];
	int32_t block[3];
	int32_t static_shared_bytes;
	int32_t dynamic_shared_bytes;
	uint32_t local_bytes_per_thread;
	uint32_t local_bytes;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued;
	uint64_t submitted;
	uint8_t launch[8];
	uint64_t graph_node; /* 0: not from a graph */
};

struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind;
	uint8_t source_kind;
	uint8_t target_kind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;
	uint32_t runtime_correlation;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
};

/* Peer to peer: as above up to stream. */
struct cupti_memcpy2 {
	uint32_t kind;
	uint8_t copy_kind;
	uint8_t source_kind;
	uint8_t target_kind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t source_device;
	uint32_t source_context;
	uint32_t target_device;
	uint32_t target_context;
	uint32_t correlation;
};

struct cupti_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;
	uint16_t flags;
	uint16_t memory_kind;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
};

struct cupti_callback_data {
	uint32_t site;
	const char *function;
	const void *params;
	void *return_value;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation;
};

struct cupti_subscriber_params {
	size_t size;
	const char *name;
	char *other_name;
	size_t other_name_size;
};

typedef void (*cupti_callback)(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *record_count);
typedef void (*cupti_buffer_completed)(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);

/* The calls that start device work. Ids of functions that a version does not
 * know are refused by cuptiEnableCallback and skipped. */
#define CUPTI_RUNTIME_LAUNCHES                                                                              \
	{                                                                                                   \
		211, 214, 430, 431, 505, 506, 269, 270, 13, 213, /* kernels */                              \
			311, 312, /* graphs */                                                              \
			31, 215, 41, 225, 32, 44, 228, 144, 145, 246, 160, 161, 163, 482, 509, /* copies */ \
			49, 51, 235, 50, 52, 236 /* memsets */                                              \
	}
#define CUPTI_DRIVER_LAUNCHES                                                                                \
	{                                                                                                    \
		307, 442, 652, 653, 477, 478, /* kernels */                                                  \
			514, 515, /* graphs */                                                               \
			276, 277, 278, 279, 280, 281, 305, 306, 418, 421, 422, 423, 289, 291, 319, 796, 216, \
			218, 220, 428, 429, 430 /* copies, memsets */                                        \
	}

/* The calls that take memory of a device. */
enum { CUPTI_DRIVER_ALLOCATE_PITCH = 244, CUPTI_DRIVER_CREATE = 549 };
#define CUPTI_DRIVER_ALLOCATIONS                                                               \
	{                                                                                      \
		243, CUPTI_DRIVER_ALLOCATE_PITCH, 371, CUPTI_DRIVER_CREATE, 598, 599, 611, 612 \
	}

/* The calls that wait for device work. */
#define CUPTI_RUNTIME_WAITS             \
	{                               \
		131, 239, 137, 165, 126 \
	} /* stream, event, device */
#define CUPTI_DRIVER_WAITS             \
	{                              \
		126, 440, 121, 17, 800 \
	} /* the same */

#endif
