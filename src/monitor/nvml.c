/* NVIDIA GPUs through NVML. Never makes a CUDA context; costs microseconds. */
#include "monitor/gpus.h"

#include "monitor/driver_files.h"
#include "monitor/gpm.h"
#include "monitor/nvml_abi.h"
#include "monitor/nvml_links.h"
#include "monitor/nvml_others.h"
#include "monitor/procfile.h"
#include "monitor/tree.h"
#include "monitor/visible.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 64 };
#define SECOND_NS 1000000000ull
#define MIB 1048576.0
#define LINKS_FIRST_NS (SECOND_NS / 5) /* a rate needs two readings */
#define LINKS_SPACING_NS SECOND_NS
enum { MOVED_COST_FACTOR = 200 }; /* asking whose memory moved takes at most 0.5 % of a core */

/* Who has memory on the GPU, and how much of it was used when that was asked. */
struct processes {
	struct sb_pace pace;
	uint64_t asked_ns;
	double device_mb;
	double memory_mb;
	double others;
};

static struct {
	void *library;
	struct nvml_api api;
	bool started;
	struct sb_driver_files files;
	struct processes processes[SB_GPUS_DEVICES_MAX];
	struct sb_nvml_others others[SB_GPUS_DEVICES_MAX];
	struct sb_nvml_links links[SB_GPUS_DEVICES_MAX];
	struct sb_gpm gpm[SB_GPUS_DEVICES_MAX];
} nvml;

static struct {
	char path[512]; /* of the library */
	struct sb_visible_text visible;
} environment;

static void load_functions(void)
{
#define LOAD_(member, symbol, parameters) *(void **)&nvml.api.member = dlsym(nvml.library, #symbol);
	NVML_FUNCTIONS(LOAD_)
#undef LOAD_
}

static void read_environment(void)
{
	static const char *const variables[] = { "CUDA_VISIBLE_DEVICES", NULL };
	const char *path = secure_getenv("STROBE_NVML_PATH");

	snprintf(environment.path, sizeof environment.path, "%s", path && *path ? path : "libnvidia-ml.so.1");
	sb_visible_read(variables, &environment.visible);
}

static bool load(void)
{
	return dlopen(environment.path, RTLD_NOW | RTLD_LOCAL) != NULL;
}

static bool load_library(void)
{
	nvml.library = dlopen(environment.path, RTLD_NOW | RTLD_LOCAL);
	if (!nvml.library)
		return false;
	load_functions();
	return nvml.api.init && nvml.api.count && nvml.api.by_index;
}

static void describe(struct sb_gpus_device *d)
{
	unsigned index;

	d->sensors = d->handle;
	if (!nvml.api.name || nvml.api.name(d->handle, d->name, sizeof d->name))
		snprintf(d->name, sizeof d->name, "NVIDIA GPU");
	if (!nvml.api.uuid || nvml.api.uuid(d->handle, d->uuid, sizeof d->uuid))
		d->uuid[0] = 0;
	if (!strncmp(d->uuid, "MIG-", 4) && nvml.api.parent)
		nvml.api.parent(d->handle, &d->sensors);
	if (nvml.api.index && !nvml.api.index(d->sensors, &index))
		d->index = (int)index;
}

static bool find_by_prefix(const char *uuid, nvml_device *out)
{
	unsigned count = 0;
	char text[96];

	nvml.api.count(&count);
	for (unsigned i = 0; i < count; i++)
		if (!nvml.api.by_index(i, out) && nvml.api.uuid && !nvml.api.uuid(*out, text, sizeof text) &&
			!strncmp(text, uuid, strlen(uuid)))
			return true;
	return false;
}

static bool find_device(const struct sb_visible_entry *entry, nvml_device *out)
{
	if (entry->index >= 0)
		return !nvml.api.by_index((unsigned)entry->index, out);
	if (nvml.api.by_uuid && !nvml.api.by_uuid(entry->uuid, out))
		return true;
	return !strncmp(entry->uuid, "GPU-", 4) && find_by_prefix(entry->uuid, out);
}

/* The list as the program sees it: number 0 is its cuda:0. */
static int list_devices(struct sb_gpus_device *devices, int limit)
{
	struct sb_visible visible;
	unsigned count = 0;
	int found = 0;

	sb_visible_parse(environment.visible.set ? environment.visible.text : NULL, &visible);
	nvml.api.count(&count);
	if (visible.restricted)
		count = visible.count;
	for (unsigned i = 0; i < count && found < limit; i++) {
		struct sb_visible_entry by_index = { .index = (int)i };
		struct sb_gpus_device *d = &devices[found];

		memset(d, 0, sizeof *d);
		if (!find_device(visible.restricted ? &visible.entries[i] : &by_index, &d->handle))
			continue;
		d->number = (int)i;
		describe(d);
		found++;
	}
	return found;
}

static void explain_init(int code, const char **out_why, const char **out_how)
{
	*out_how = "see 'nvidia-smi'; in a container, pass the GPU in";
	*out_why = "NVML does not start";
	if (code == NVML_DRIVER_NOT_LOADED)
		*out_why = "the NVIDIA driver is not loaded";
	if (code == NVML_NO_PERMISSION)
		*out_why = "no permission to use the NVIDIA driver";
	if (code == NVML_VERSION_MISMATCH) {
		*out_why = "the NVIDIA driver and its library differ in version";
		*out_how = "restart the machine, or reload the driver: it was updated meanwhile";
	}
}

static int open_nvml(struct sb_gpus_device *devices, int limit, const char **out_why, const char **out_how)
{
	int code, count;

	memset(&nvml, 0, sizeof nvml);
	*out_how = "";
	if (!load_library()) {
		*out_why = "there is no NVIDIA driver here (libnvidia-ml.so.1)";
		return -1;
	}
	code = nvml.api.init();
	if (code) {
		explain_init(code, out_why, out_how);
		return -1;
	}
	nvml.started = true;
	count = list_devices(devices, limit);
	sb_driver_files_note(&nvml.files, "/dev/nvidia");
	if (count == 0) {
		*out_why = environment.visible.set ? "CUDA_VISIBLE_DEVICES leaves no GPU visible"
						   : "the NVIDIA driver knows no GPU";
		return -1;
	}
	return count;
}

static bool nvml_is_intact(void)
{
	return sb_driver_files_are_intact(&nvml.files);
}

static void close_nvml(void)
{
	for (int i = 0; nvml.started && i < SB_GPUS_DEVICES_MAX; i++)
		sb_gpm_close(&nvml.gpm[i], &nvml.api);
	if (nvml.started && nvml.api.shutdown)
		nvml.api.shutdown();
	nvml.started = false;
	/* The library stays loaded: the program may use it too. */
}

static void driver(char *out, int size)
{
	if (!nvml.started || !nvml.api.driver_version || nvml.api.driver_version(out, (unsigned)size))
		out[0] = 0;
}

/* ---- one sample ---------------------------------------------------------------- */

/* Judges a call's code: true when the value counts. */
static bool usable(int code, uint32_t *wanted, uint32_t bits, enum sb_gpus_state *state)
{
	if (code == NVML_OK)
		return true;
	if (code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED)
		*state = SB_GPUS_GONE;
	else if (code == NVML_NOT_SUPPORTED || code == NVML_NO_PERMISSION || code == NVML_FUNCTION_NOT_FOUND)
		*wanted &= ~bits;
	return false;
}

static int no_function(void)
{
	return NVML_FUNCTION_NOT_FOUND;
}

static enum sb_gpus_state read_memory(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	struct nvml_memory_v2 second = { .version = NVML_MEMORY_V2 };
	struct nvml_memory first = { 0 };
	enum sb_gpus_state state = SB_GPUS_READ;
	uint32_t bits = SB_GPUS_BIT(SB_GPUS_MEMORY_USED) | SB_GPUS_BIT(SB_GPUS_MEMORY_TOTAL);

	if (!(*wanted & bits))
		return state;
	/* Version 2 knows what the driver keeps for itself, as nvidia-smi shows it. */
	if (nvml.api.memory_v2 && !nvml.api.memory_v2(d->handle, &second)) {
		v[SB_GPUS_MEMORY_USED] = (double)second.used / MIB;
		v[SB_GPUS_MEMORY_TOTAL] = (double)second.total / MIB;
	} else if (usable(nvml.api.memory ? nvml.api.memory(d->handle, &first) : no_function(), wanted, bits,
			   &state)) {
		v[SB_GPUS_MEMORY_USED] = (double)first.used / MIB;
		v[SB_GPUS_MEMORY_TOTAL] = (double)first.total / MIB;
	}
	return state;
}

static enum sb_gpus_state read_utilization(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	struct nvml_utilization rates = { 0, 0 };
	enum sb_gpus_state state = SB_GPUS_READ;
	uint32_t bits = SB_GPUS_BIT(SB_GPUS_UTILIZATION) | SB_GPUS_BIT(SB_GPUS_MEMORY_UTILIZATION);

	if (*wanted & bits &&
		usable(nvml.api.utilization ? nvml.api.utilization(d->handle, &rates) : no_function(), wanted,
			bits, &state)) {
		v[SB_GPUS_UTILIZATION] = rates.gpu;
		v[SB_GPUS_MEMORY_UTILIZATION] = rates.memory;
	}
	return state;
}

/* Single numbers: which call gives which column. */
static int call_number(const struct sb_gpus_device *d, enum sb_gpus_column column, double *out)
{
	unsigned value = 0, period = 0;
	int code = NVML_FUNCTION_NOT_FOUND;
	double scale = 1;

	switch (column) {
	case SB_GPUS_TEMPERATURE:
		code = nvml.api.temperature ? nvml.api.temperature(d->sensors, NVML_TEMPERATURE_GPU, &value)
					    : code;
		break;
	case SB_GPUS_POWER:
		code = nvml.api.power ? nvml.api.power(d->sensors, &value) : code;
		scale = 1e-3;
		break;
	case SB_GPUS_SM_CLOCK:
		code = nvml.api.clock ? nvml.api.clock(d->sensors, NVML_CLOCK_SM, &value) : code;
		break;
	case SB_GPUS_MEMORY_CLOCK:
		code = nvml.api.clock ? nvml.api.clock(d->sensors, NVML_CLOCK_MEMORY, &value) : code;
		break;
	case SB_GPUS_ENCODER:
		code = nvml.api.encoder ? nvml.api.encoder(d->handle, &value, &period) : code;
		break;
	case SB_GPUS_DECODER:
		code = nvml.api.decoder ? nvml.api.decoder(d->handle, &value, &period) : code;
		break;
	default: break;
	}
	if (code == NVML_OK)
		*out = value * scale;
	return code;
}

static enum sb_gpus_state read_numbers(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	static const enum sb_gpus_column columns[] = { SB_GPUS_TEMPERATURE, SB_GPUS_POWER, SB_GPUS_SM_CLOCK,
		SB_GPUS_MEMORY_CLOCK, SB_GPUS_ENCODER, SB_GPUS_DECODER };
	enum sb_gpus_state state = SB_GPUS_READ;

	for (size_t i = 0; i < sizeof columns / sizeof columns[0] && state == SB_GPUS_READ; i++)
		if (*wanted & SB_GPUS_BIT(columns[i]))
			usable(call_number(d, columns[i], &v[columns[i]]), wanted, SB_GPUS_BIT(columns[i]),
				&state);
	return state;
}

static enum sb_gpus_state read_throttle(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	unsigned long long bits = 0;
	enum sb_gpus_state state = SB_GPUS_READ;
	int code = NVML_FUNCTION_NOT_FOUND;

	if (!(*wanted & SB_GPUS_BIT(SB_GPUS_THROTTLE)))
		return state;
	if (nvml.api.event_reasons)
		code = nvml.api.event_reasons(d->sensors, &bits);
	else if (nvml.api.throttle_reasons)
		code = nvml.api.throttle_reasons(d->sensors, &bits);
	if (usable(code, wanted, SB_GPUS_BIT(SB_GPUS_THROTTLE), &state))
		v[SB_GPUS_THROTTLE] = (double)bits;
	return state;
}

/* In a container the list may hold the host's pids: who matches nothing of ours
 * and is unknown here is neither ours nor provably another program's. */
static void count_processes(
	const struct nvml_process *list, unsigned count, double *out_memory_mb, double *out_others)
{
	unsigned ours = 0, here = 0;
	double memory_mb = 0;

	for (unsigned i = 0; i < count; i++) {
		char text[8];

		if (sb_tree_contains((pid_t)list[i].pid)) {
			ours++;
			if (list[i].used_bytes != ~0ull)
				memory_mb += (double)list[i].used_bytes / MIB;
		} else if (sb_procfile_proc_text(text, sizeof text, "%u/stat", list[i].pid) > 0) {
			here++;
		}
	}
	*out_memory_mb = ours ? memory_mb : NAN;
	if (ours || !count)
		*out_others = count - ours;
	else
		*out_others = here ? here : NAN;
}

/* Whose memory it is can have changed only when there is more or less of it. */
static bool memory_moved(const struct processes *p, double device_mb)
{
	return !isnan(device_mb) && !isnan(p->device_mb) && fabs(device_mb - p->device_mb) >= 1;
}

static bool processes_due(const struct processes *p, bool moved, uint64_t now_ns)
{
	return sb_pace_due(&p->pace, now_ns) ||
	       (moved && now_ns - p->asked_ns >= p->pace.cost_ns * MOVED_COST_FACTOR);
}

static enum sb_gpus_state read_processes(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	struct nvml_process list[PROCESSES_MAX];
	struct processes *p = &nvml.processes[(unsigned)d->number % SB_GPUS_DEVICES_MAX];
	uint32_t bits = SB_GPUS_BIT(SB_GPUS_PROCESS_MEMORY) | SB_GPUS_BIT(SB_GPUS_OTHER_PROCESSES);
	enum sb_gpus_state state = SB_GPUS_READ;
	unsigned count = PROCESSES_MAX;
	uint64_t now_ns = sb_mono_ns();
	bool moved = memory_moved(p, v[SB_GPUS_MEMORY_USED]);

	if (!(*wanted & bits))
		return state;
	if (d->last || processes_due(p, moved, now_ns)) {
		p->memory_mb = p->others = NAN;
		if (usable(nvml.api.processes ? nvml.api.processes(d->handle, &count, list) : no_function(),
			    wanted, bits, &state))
			count_processes(list, count, &p->memory_mb, &p->others);
		p->device_mb = v[SB_GPUS_MEMORY_USED];
		p->asked_ns = now_ns;
		sb_pace_done(&p->pace, now_ns, sb_mono_ns() - now_ns, SECOND_NS);
		moved = false;
	}
	v[SB_GPUS_PROCESS_MEMORY] = moved ? NAN : p->memory_mb; /* what it was is no longer so */
	v[SB_GPUS_OTHER_PROCESSES] = p->others;
	return state;
}

/* Where no other process has a context, none runs anything: the driver is not asked. */
static enum sb_gpus_state read_others(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	struct sb_nvml_others *o = &nvml.others[(unsigned)d->number % SB_GPUS_DEVICES_MAX];
	bool alone = *wanted & SB_GPUS_BIT(SB_GPUS_OTHER_PROCESSES) && v[SB_GPUS_OTHER_PROCESSES] == 0;
	enum sb_gpus_state state = SB_GPUS_READ;
	uint64_t now_ns = sb_mono_ns();

	if (!(*wanted & SB_GPUS_BIT(SB_GPUS_OTHERS_UTILIZATION)))
		return state;
	if (!alone && (d->last || sb_pace_due(&o->pace, now_ns))) {
		usable(sb_nvml_others_read(o, &nvml.api, d->handle), wanted,
			SB_GPUS_BIT(SB_GPUS_OTHERS_UTILIZATION), &state);
		sb_pace_done(&o->pace, now_ns, sb_mono_ns() - now_ns, SECOND_NS);
	}
	v[SB_GPUS_OTHERS_UTILIZATION] = alone ? 0 : o->percent;
	return state;
}

/* ---- PCIe and NVLink ------------------------------------------------------------ */

/* Where the GPU counts them beside SMs and DRAM, those are the rates. */
static void use_counted_pcie(const struct sb_gpm *gpm, double *v)
{
	static const enum sb_gpus_column columns[] = { SB_GPUS_PCIE_TX, SB_GPUS_PCIE_RX };

	for (int i = 0; gpm->get && i < 2; i++)
		if (!isnan(gpm->pcie_gb_per_s[i]))
			v[columns[i]] = gpm->pcie_gb_per_s[i];
}

/* Running totals, a fraction of a millisecond each: pace, and as rates. */
static enum sb_gpus_state read_links(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	struct sb_nvml_links *links = &nvml.links[(unsigned)d->number % SB_GPUS_DEVICES_MAX];
	struct nvml_field fields[SB_NVML_LINK_FIELDS] = { 0 };
	enum sb_gpus_state state = SB_GPUS_READ;
	uint64_t now_ns = sb_mono_ns();
	uint32_t bits = sb_nvml_links_ask(fields);

	if (!(*wanted & bits))
		return state;
	if (d->last || sb_pace_due(&links->pace, now_ns)) {
		bool first = !links->last_ns;

		if (usable(nvml.api.fields ? nvml.api.fields(d->sensors, SB_NVML_LINK_FIELDS, fields)
					   : no_function(),
			    wanted, bits, &state))
			sb_nvml_links_note(
				links, fields, wanted, first ? 0 : (double)(now_ns - links->last_ns) * 1e-9);
		links->last_ns = now_ns;
		sb_pace_done(&links->pace, now_ns, sb_mono_ns() - now_ns,
			first ? LINKS_FIRST_NS : LINKS_SPACING_NS);
	}
	sb_nvml_links_put(links, v);
	use_counted_pcie(&nvml.gpm[(unsigned)d->number % SB_GPUS_DEVICES_MAX], v);
	return state;
}

static enum sb_gpus_state read_nvml(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	static enum sb_gpus_state (*const parts[])(
		struct sb_gpus_device *, uint32_t *, double *) = { read_memory, read_utilization,
		read_numbers, read_throttle, read_processes, read_others, read_links };

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (parts[i](d, wanted, v) == SB_GPUS_GONE)
			return SB_GPUS_GONE;
	return SB_GPUS_READ;
}

static enum sb_gpus_counting count_nvml(struct sb_gpus_device *d, uint32_t *wanted, double *values)
{
	return sb_gpm_read(
		&nvml.gpm[(unsigned)d->number % SB_GPUS_DEVICES_MAX], &nvml.api, d, wanted, values);
}

const struct sb_gpus_vendor sb_gpus_nvml = { .name = "NVML",
	.environment = read_environment,
	.load = load,
	.open = open_nvml,
	.read = read_nvml,
	.count = count_nvml,
	.close = close_nvml,
	.intact = nvml_is_intact,
	.driver = driver };
