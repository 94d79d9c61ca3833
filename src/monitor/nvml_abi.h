/* The part of NVML's binary interface that is used, in our own words; the library
 * is found at run time. Numbers are the library's. */
#ifndef SB_MONITOR_NVML_ABI_H
#define SB_MONITOR_NVML_ABI_H

#include <stdint.h>

enum nvml_code {
	NVML_OK = 0,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_VERSION_MISMATCH = 18, /* of the library and the kernel's part */
	NVML_NOT_READY = 27,
	NVML_UNKNOWN = 999
};

typedef void *nvml_device;

struct nvml_memory { /* version 1 */
	unsigned long long total, free, used;
};
struct nvml_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 (unsigned)(sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_utilization {
	unsigned gpu, memory;
};
struct nvml_process { /* of the _v3 calls */
	unsigned pid;
	unsigned long long used_bytes; /* all ones: not known */
	unsigned gpu_instance, compute_instance;
};
struct nvml_process_use { /* of one process, on average since the time that was given */
	unsigned pid;
	unsigned long long time_us;
	unsigned sm_percent, memory_percent, encoder_percent, decoder_percent;
};
struct nvml_field {
	unsigned id, scope; /* of NVLink: which link, all ones: all */
	long long timestamp_us, latency_us;
	int type, code;
	union {
		double d;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
	} value;
};
enum { NVML_FIELD_DOUBLE = 0, NVML_FIELD_UNSIGNED = 1, NVML_FIELD_LONG = 2, NVML_FIELD_LONG_LONG = 3 };
enum { /* running totals; NVLink's in KiB */
	NVML_NVLINK_TX_KIB = 138,
	NVML_NVLINK_RX_KIB = 139,
	NVML_PCIE_TX_BYTES = 197,
	NVML_PCIE_RX_BYTES = 198
};
/* GPM: what parts of the chip did between two samples. */
enum nvml_gpm_id {
	NVML_GPM_SM = 2,
	NVML_GPM_OCCUPANCY = 3,
	NVML_GPM_INTEGER = 4,
	NVML_GPM_TENSOR = 5,
	NVML_GPM_HMMA = 7,
	NVML_GPM_IMMA = 9,
	NVML_GPM_DRAM = 10,
	NVML_GPM_FP64 = 11,
	NVML_GPM_FP32 = 12,
	NVML_GPM_FP16 = 13,
	NVML_GPM_PCIE_TX = 20, /* MiB/s */
	NVML_GPM_PCIE_RX = 21,
	NVML_GPM_NVDEC = 30 /* the first of eight */
};
enum { NVML_GPM_NVDECS = 8 };
enum { NVML_GPM_VERSION = 1, NVML_GPM_METRICS_MAX = 333 };
struct nvml_gpm_support {
	unsigned version, supported;
};
struct nvml_gpm_get {
	unsigned version, count;
	void *before, *after;
	struct nvml_gpm_metric {
		unsigned id;
		int code;
		double value;
		const char *names[3]; /* short, long, unit */
	} metrics[NVML_GPM_METRICS_MAX];
};
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

/* X(member, symbol, parameters) */
#define NVML_FUNCTIONS(X)                                                                                   \
	X(init, nvmlInit_v2, (void))                                                                        \
	X(shutdown, nvmlShutdown, (void))                                                                   \
	X(driver_version, nvmlSystemGetDriverVersion, (char *, unsigned))                                   \
	X(count, nvmlDeviceGetCount_v2, (unsigned *))                                                       \
	X(by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned, nvml_device *))                               \
	X(by_uuid, nvmlDeviceGetHandleByUUID, (const char *, nvml_device *))                                \
	X(parent, nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (nvml_device, nvml_device *))               \
	X(instance, nvmlDeviceGetGpuInstanceId, (nvml_device, unsigned *))                                  \
	X(name, nvmlDeviceGetName, (nvml_device, char *, unsigned))                                         \
	X(uuid, nvmlDeviceGetUUID, (nvml_device, char *, unsigned))                                         \
	X(index, nvmlDeviceGetIndex, (nvml_device, unsigned *))                                             \
	X(memory, nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *))                             \
	X(memory_v2, nvmlDeviceGetMemoryInfo_v2, (nvml_device, struct nvml_memory_v2 *))                    \
	X(utilization, nvmlDeviceGetUtilizationRates, (nvml_device, struct nvml_utilization *))             \
	X(temperature, nvmlDeviceGetTemperature, (nvml_device, int, unsigned *))                            \
	X(power, nvmlDeviceGetPowerUsage, (nvml_device, unsigned *))                                        \
	X(clock, nvmlDeviceGetClockInfo, (nvml_device, int, unsigned *))                                    \
	X(event_reasons, nvmlDeviceGetCurrentClocksEventReasons, (nvml_device, unsigned long long *))       \
	X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device, unsigned long long *)) \
	X(encoder, nvmlDeviceGetEncoderUtilization, (nvml_device, unsigned *, unsigned *))                  \
	X(decoder, nvmlDeviceGetDecoderUtilization, (nvml_device, unsigned *, unsigned *))                  \
	X(processes, nvmlDeviceGetComputeRunningProcesses_v3,                                               \
		(nvml_device, unsigned *, struct nvml_process *))                                           \
	X(process_use, nvmlDeviceGetProcessUtilization,                                                     \
		(nvml_device, struct nvml_process_use *, unsigned *, unsigned long long))                   \
	X(fields, nvmlDeviceGetFieldValues, (nvml_device, int, struct nvml_field *))                        \
	X(gpm_support, nvmlGpmQueryDeviceSupport, (nvml_device, struct nvml_gpm_support *))                 \
	X(gpm_alloc, nvmlGpmSampleAlloc, (void **))                                                         \
	X(gpm_free, nvmlGpmSampleFree, (void *))                                                            \
	X(gpm_sample, nvmlGpmSampleGet, (nvml_device, void *))                                              \
	X(gpm_slice_sample, nvmlGpmMigSampleGet, (nvml_device, unsigned, void *))                           \
	X(gpm_get, nvmlGpmMetricsGet, (struct nvml_gpm_get *))

struct nvml_api {
#define NVML_MEMBER_(member, symbol, parameters) int(*member) parameters;
	NVML_FUNCTIONS(NVML_MEMBER_)
#undef NVML_MEMBER_
};

#endif
