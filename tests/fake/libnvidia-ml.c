/* A stand-in for libnvidia-ml.so.1. The file named by FAKE_NVML says what to do,
 * read at every call, so that a test can change it while a run goes on:
 *   gpus 8            how many (default 1)
 *   driver missing    init answers DRIVER_NOT_LOADED
 *   memory_used_mb 8420, memory_total_mb 24564, utilization 85, memory_utilization 40,
 *   temperature 72, power_mw 300000, sm_clock 1980, memory_clock 2619,
 *   throttle 4, encoder 3, decoder 7
 *   unsupported power utilization …
 *   lost 1            GPU 1 is gone
 *   hang power        that call never returns; "hang init" too
 *   hang load         loading takes until another file has taken this one's name, some seconds at most; then
 *                     FAKE_NVML.loaded is made
 *   mismatch          init answers LIB_RM_VERSION_MISMATCH
 *   mig 2             GPU 0 has two slices: MIG-00000000-… and MIG-00000001-…
 *   pcie_bytes 1000, nvlink_kib 1000   what each reading adds (default: not supported)
 *   pcie_wide         PCIe's counters have 64 bits
 *   gpm 40            counters: SM active 40 %, and for each further id one more (default: not supported)
 *   gpm_gpus 1        only these GPUs have counters
 *   gpm10 -3          another value of the counter with this id, nan too; gpm_spans: each is how many samples lie between the two
 *   gpm_alloc 1       how many samples there is memory for
 *   gpm_sample 999, gpm_get 999, gpm_metric 999   what a call or each counter answers
 *   process PID MB    may be repeated
 *   uses PID PERCENT  since the reading before, may be repeated; "unsupported uses": not told
 * Values get "+ i" for GPU i where that makes sense (memory used, temperature). */
#include "monitor/nvml_abi.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICE(i) ((nvml_device)(uintptr_t)(0x1000 + (i)))
#define INDEX(d) ((unsigned)((uintptr_t)(d)-0x1000))
#define SLICE(i) ((nvml_device)(uintptr_t)(0x2000 + (i)))
#define IS_SLICE(d) ((uintptr_t)(d) >= 0x2000)
#define SLICE_INDEX(d) ((unsigned)((uintptr_t)(d)-0x2000))

static char script[8192];

static const char *read_script(void)
{
	const char *path = getenv("FAKE_NVML");
	FILE *file = path ? fopen(path, "r") : NULL;
	size_t n = file ? fread(script, 1, sizeof script - 1, file) : 0;

	if (file)
		fclose(file);
	script[n] = 0;
	return script;
}

/* The rest of the line that starts with key. */
static const char *line_of(const char *text, const char *key)
{
	size_t size = strlen(key);

	while (text && *text) {
		if (!strncmp(text, key, size) && (text[size] == ' ' || text[size] == '\n' || !text[size]))
			return text + size;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return NULL;
}

static long number(const char *key, long fallback)
{
	const char *line = line_of(read_script(), key);

	return line ? strtol(line, NULL, 10) : fallback;
}

static int names(const char *key, const char *what)
{
	const char *line = line_of(read_script(), key);
	char copy[512], *word, *rest = NULL;

	if (!line)
		return 0;
	snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (!strcmp(word, what))
			return 1;
	return 0;
}

__attribute__((constructor)) static void load(void)
{
	const char *path = getenv("FAKE_NVML");
	char loaded[4096];
	struct pollfd renamed = { .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN };
	FILE *file;

	if (path && inotify_add_watch(renamed.fd, path, IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB) >= 0 &&
		names("hang", "load"))
		poll(&renamed, 1, 10000);
	else
		path = NULL;
	close(renamed.fd);
	if (!path)
		return;
	snprintf(loaded, sizeof loaded, "%s.loaded", path);
	file = fopen(loaded, "w");
	if (file)
		fclose(file);
}

static int state(nvml_device device, const char *what)
{
	char index[16];

	while (names("hang", what))
		pause();
	snprintf(index, sizeof index, "%u", IS_SLICE(device) ? 0 : INDEX(device));
	if (names("lost", index))
		return NVML_GPU_IS_LOST;
	if (IS_SLICE(device) && strcmp(what, "memory") && strcmp(what, "processes"))
		return NVML_NOT_SUPPORTED; /* a slice has no sensors of its own */
	return names("unsupported", what) ? NVML_NOT_SUPPORTED : NVML_OK;
}

static int answer(nvml_device device, const char *what, long fallback, unsigned *out)
{
	int code = state(device, what);

	if (!code)
		*out = (unsigned)number(what, fallback);
	return code;
}

EXPORT int nvmlInit_v2(void)
{
	while (names("hang", "init"))
		pause();
	if (line_of(read_script(), "mismatch"))
		return NVML_VERSION_MISMATCH;
	return names("driver", "missing") ? NVML_DRIVER_NOT_LOADED : NVML_OK;
}

EXPORT int nvmlShutdown(void)
{
	return NVML_OK;
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
	snprintf(out, size, "580.65.06");
	return NVML_OK;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *out)
{
	*out = (unsigned)number("gpus", 1);
	return NVML_OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *out)
{
	if (index >= (unsigned)number("gpus", 1))
		return 2;
	*out = DEVICE(index);
	return NVML_OK;
}

EXPORT int nvmlDeviceGetUUID(nvml_device device, char *out, unsigned size)
{
	if (IS_SLICE(device))
		snprintf(out, size, "MIG-%08x-0000-0000-0000-000000000000", SLICE_INDEX(device));
	else
		snprintf(out, size, "GPU-%08x-0000-0000-0000-000000000000", 0xabc0 + INDEX(device));
	return NVML_OK;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *out)
{
	char text[96];

	for (unsigned i = 0; i < (unsigned)number("gpus", 1); i++) {
		nvmlDeviceGetUUID(DEVICE(i), text, sizeof text);
		if (!strcmp(text, uuid)) {
			*out = DEVICE(i);
			return NVML_OK;
		}
	}
	for (unsigned i = 0; i < (unsigned)number("mig", 0); i++) {
		nvmlDeviceGetUUID(SLICE(i), text, sizeof text);
		if (!strcmp(text, uuid)) {
			*out = SLICE(i);
			return NVML_OK;
		}
	}
	return NVML_NOT_FOUND;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml_device slice, nvml_device *out)
{
	if (!IS_SLICE(slice))
		return 2;
	*out = DEVICE(0);
	return NVML_OK;
}

EXPORT int nvmlDeviceGetName(nvml_device device, char *out, unsigned size)
{
	snprintf(out, size, IS_SLICE(device) ? "Fake GPU 9000 MIG 1g.10gb" : "Fake GPU 9000");
	return NVML_OK;
}

EXPORT int nvmlDeviceGetIndex(nvml_device device, unsigned *out)
{
	*out = INDEX(device);
	return NVML_OK;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *out)
{
	int code = state(device, "memory");

	if (code)
		return code;
	out->total = (unsigned long long)(IS_SLICE(device) ? 9984 : number("memory_total_mb", 24564)) << 20;
	out->used = (unsigned long long)(IS_SLICE(device)
						 ? 1000 + SLICE_INDEX(device)
						 : (unsigned)number("memory_used_mb", 8420) + INDEX(device))
		    << 20;
	out->reserved = 0;
	out->free = out->total - out->used;
	return NVML_OK;
}

EXPORT int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *out)
{
	struct nvml_memory_v2 second = { 0 };
	int code = nvmlDeviceGetMemoryInfo_v2(device, &second);

	*out = (struct nvml_memory){ second.total, second.free, second.used };
	return code;
}

EXPORT int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *out)
{
	int code = answer(device, "utilization", 85, &out->gpu);

	return code ? code : answer(device, "memory_utilization", 40, &out->memory);
}

EXPORT int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *out)
{
	int code = answer(device, "temperature", 72, out);

	(void)sensor;
	if (!code)
		*out += INDEX(device);
	return code;
}

EXPORT int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *out)
{
	int code = state(device, "power");

	return code ? code : answer(device, "power_mw", 300000, out);
}

EXPORT int nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned *out)
{
	return type == NVML_CLOCK_SM ? answer(device, "sm_clock", 1980, out)
				     : answer(device, "memory_clock", 2619, out);
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(nvml_device device, unsigned long long *out)
{
	unsigned value = 0;
	int code = answer(device, "throttle", 0, &value);

	*out = value;
	return code;
}

EXPORT int nvmlDeviceGetEncoderUtilization(nvml_device device, unsigned *out, unsigned *period)
{
	*period = 100000;
	return answer(device, "encoder", 3, out);
}

EXPORT int nvmlDeviceGetDecoderUtilization(nvml_device device, unsigned *out, unsigned *period)
{
	*period = 100000;
	return answer(device, "decoder", 7, out);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(
	nvml_device device, unsigned *count, struct nvml_process *out)
{
	int code = state(device, "processes");
	unsigned limit = *count;

	*count = 0;
	if (code)
		return code;
	for (const char *line = line_of(read_script(), "process"); line && *count < limit;
		line = line_of(line, "process")) {
		unsigned pid;
		unsigned long long mb;

		if (sscanf(line, "%u %llu", &pid, &mb) == 2)
			out[(*count)++] = (struct nvml_process){ pid, mb << 20, 0, 0 };
	}
	return NVML_OK;
}

/* A later reading than the last one seen; the very first has what was there before. */
EXPORT int nvmlDeviceGetProcessUtilization(
	nvml_device device, struct nvml_process_use *out, unsigned *count, unsigned long long last_us)
{
	int code = state(device, "uses");
	unsigned limit = *count;

	*count = 0;
	if (code)
		return code;
	for (const char *line = line_of(read_script(), "uses"); line && *count < limit;
		line = line_of(line, "uses")) {
		unsigned pid, percent;

		if (sscanf(line, "%u %u", &pid, &percent) == 2)
			out[(*count)++] = (struct nvml_process_use){ .pid = pid,
				.time_us = last_us ? last_us + 1 : 1600000000000000,
				.sm_percent = last_us ? percent : 99 };
	}
	return *count ? NVML_OK : NVML_NOT_FOUND;
}

/* Counters that grow by the scripted amount at every reading. */
EXPORT int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
	static unsigned pcie;
	static unsigned long long nvlink;
	int code = state(device, "fields");

	if (code)
		return code;
	pcie += (unsigned)number("pcie_bytes", 0);
	nvlink += (unsigned long long)number("nvlink_kib", 0);
	for (int i = 0; i < count; i++) {
		struct nvml_field *f = &fields[i];
		int is_pcie = f->id == NVML_PCIE_TX_BYTES || f->id == NVML_PCIE_RX_BYTES;

		f->code = line_of(script, is_pcie ? "pcie_bytes" : "nvlink_kib") &&
					  (is_pcie || f->scope == ~0u)
				  ? NVML_OK
				  : NVML_NOT_SUPPORTED;
		f->type = is_pcie && !line_of(script, "pcie_wide") ? NVML_FIELD_UNSIGNED
								   : NVML_FIELD_LONG_LONG;
		if (f->type == NVML_FIELD_UNSIGNED)
			f->value.u = pcie;
		else if (is_pcie)
			f->value.ull = pcie;
		else
			f->value.ull = nvlink;
	}
	return NVML_OK;
}

/* ---- GPM: a sample is its number; what lies between two is scripted ---- */

EXPORT int nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *out)
{
	char index[16];

	snprintf(index, sizeof index, "%u", INDEX(device));
	out->supported = line_of(read_script(), "gpm") != NULL &&
			 (!line_of(script, "gpm_gpus") || names("gpm_gpus", index));
	return IS_SLICE(device) ? NVML_NOT_SUPPORTED : state(device, "gpm");
}

EXPORT int nvmlGpmSampleAlloc(void **out)
{
	static long made;

	if (made >= number("gpm_alloc", 1000))
		return 20;
	made += line_of(script, "gpm_alloc") != NULL;
	*out = calloc(1, sizeof(int));
	return NVML_OK;
}

EXPORT int nvmlGpmSampleFree(void *sample)
{
	free(sample);
	return NVML_OK;
}

static int taken;

EXPORT int nvmlGpmSampleGet(nvml_device device, void *sample)
{
	int code = IS_SLICE(device) ? NVML_NOT_SUPPORTED : (int)number("gpm_sample", NVML_OK);

	if (!code)
		*(int *)sample = ++taken;
	return code ? code : state(device, "gpm_sample");
}

EXPORT int nvmlDeviceGetGpuInstanceId(nvml_device slice, unsigned *out)
{
	*out = 7 + SLICE_INDEX(slice);
	return IS_SLICE(slice) ? NVML_OK : NVML_NOT_SUPPORTED;
}

EXPORT int nvmlGpmMigSampleGet(nvml_device device, unsigned instance, void *sample)
{
	if (IS_SLICE(device) || instance < 7 || instance >= 7 + (unsigned)number("mig", 0))
		return NVML_INVALID_ARGUMENT;
	return nvmlGpmSampleGet(device, sample);
}

static double metric(unsigned id, int span)
{
	char what[16];
	const char *line;

	snprintf(what, sizeof what, "gpm%u", id);
	line = line_of(script, what);
	if (line_of(script, "gpm_spans"))
		return span;
	return line ? strtod(line, NULL) : (double)number("gpm", 0) + id - NVML_GPM_SM;
}

EXPORT int nvmlGpmMetricsGet(struct nvml_gpm_get *get)
{
	int code = (int)number("gpm_get", NVML_OK), span = *(int *)get->after - *(int *)get->before;

	if (get->version != NVML_GPM_VERSION || span <= 0)
		return NVML_INVALID_ARGUMENT;
	for (unsigned i = 0; !code && i < get->count; i++) {
		char what[16];

		snprintf(what, sizeof what, "gpm%u", get->metrics[i].id);
		get->metrics[i].code = names("unsupported", what) ? NVML_NOT_SUPPORTED
								  : (int)number("gpm_metric", NVML_OK);
		get->metrics[i].value = metric(get->metrics[i].id, span);
	}
	return code;
}
