/*
 * The part of CUPTI's PM sampling interface that strobe uses, from CUDA 12.6 on. Each call
 * takes one struct that begins with its own size, and fields were only ever added at the end.
 * tests/unit/cupti_layout_test.c compares it with the real headers where there are any.
 */
#ifndef SB_GPU_PM_CUPTI_H
#define SB_GPU_PM_CUPTI_H

#include <stddef.h>
#include <stdint.h>

enum {
	CUPTI_INVALID_OPERATION = 7,
	CUPTI_OUT_OF_MEMORY = 8, /* of a decode: the hardware's buffer overflowed */
	CUPTI_HARDWARE_BUSY = 26,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_VIRTUALIZED_NO_PRIVILEGES = 40
};

enum { CUPTI_PROFILER_PM_SAMPLING = 1 };
enum { CUPTI_PM_TRIGGER_CYCLES = 0, CUPTI_PM_TRIGGER_NS = 1 };
enum { CUPTI_PM_KEEP_OLDEST = 0 };
enum { CUPTI_PM_DECODE_FULL = 1, CUPTI_PM_DECODE_END = 2 };

struct cupti_profiler_initialize {
	size_t size;
	void *private_data;
};

struct cupti_chip_name {
	size_t size;
	void *private_data;
	size_t device;
	const char *name;
};

struct cupti_pm_availability {
	size_t size;
	void *private_data;
	size_t device;
	size_t image_bytes;
	uint8_t *image; /* NULL: only the size is asked for */
};

struct cupti_host_initialize {
	size_t size;
	void *private_data;
	int kind;
	const char *chip;
	const uint8_t *availability;
	void *host;
};

struct cupti_host_deinitialize {
	size_t size;
	void *private_data;
	void *host;
};

struct cupti_host_add_metrics {
	size_t size;
	void *private_data;
	void *host;
	const char **names;
	size_t name_count;
};

struct cupti_host_config_size {
	size_t size;
	void *private_data;
	void *host;
	size_t image_bytes;
};

struct cupti_host_config {
	size_t size;
	void *private_data;
	void *host;
	size_t image_bytes;
	uint8_t *image;
};

struct cupti_host_passes {
	size_t size;
	void *private_data;
	size_t image_bytes;
	uint8_t *image;
	size_t pass_count;
};

struct cupti_host_evaluate {
	size_t size;
	void *private_data;
	void *host;
	const uint8_t *image;
	size_t image_bytes;
	size_t index;
	const char **names;
	size_t name_count;
	double *values;
};

struct cupti_pm_enable {
	size_t size;
	void *private_data;
	size_t device;
	void *object;
};

/* Start, stop and disable. */
struct cupti_pm_object {
	size_t size;
	void *private_data;
	void *object;
};

struct cupti_pm_configure {
	size_t size;
	void *private_data;
	void *object;
	size_t config_bytes;
	const uint8_t *config;
	size_t hardware_bytes;
	uint64_t interval;
	int trigger;
	int append_mode; /* from 12.8 on */
};
#define CUPTI_PM_CONFIGURE_BYTES_12_6 offsetof(struct cupti_pm_configure, append_mode)

struct cupti_pm_data_size {
	size_t size;
	void *private_data;
	void *object;
	const char **names;
	size_t name_count;
	uint32_t sample_limit;
	size_t data_bytes;
};

struct cupti_pm_data_initialize {
	size_t size;
	void *private_data;
	void *object;
	size_t data_bytes;
	uint8_t *data;
};

struct cupti_pm_decode {
	size_t size;
	void *private_data;
	void *object;
	uint8_t *data;
	size_t data_bytes;
	int stop_reason;
	uint8_t overflow;
};

struct cupti_pm_data_info {
	size_t size;
	void *private_data;
	const uint8_t *data;
	size_t data_bytes;
	size_t total_count;
	size_t populated_count;
	size_t completed_count;
};

struct cupti_pm_sample_info {
	size_t size;
	void *private_data;
	void *object;
	const uint8_t *data;
	size_t data_bytes;
	size_t index;
	uint64_t start;
	uint64_t end;
};

/* What a call expects as its struct's size: up to the end of the last field, without padding. */
#define CUPTI_BYTES(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

#endif
