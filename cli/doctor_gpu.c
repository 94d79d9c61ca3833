/* Checks of GPUs and what hooks into them. Loads libraries, initialises only
 * NVML: no CUDA context is made. */
#include "doctor.h"
#include "run_attach.h"

#include "gpu/cupti_versions.h"
#include "monitor/gpus.h"
#include "monitor/procfile.h"
#include "monitor/thread.h"

#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 5000000000ull

/* ---- NVML, in a thread: a sick driver must not hang the doctor ---- */

static struct nvml_visit {
	struct sb_thread thread;
	struct sb_gpus_device devices[SB_GPUS_DEVICES_MAX];
	int count;
	const char *why, *how;
	char driver[96];
	uint32_t lost;
	double values[SB_GPUS_COLUMNS];
	int counting; /* devices that count what their parts do */
	bool answered;
} nvml;

/* The first reading comes with the second call: that it is to come is enough, unless this one was refused. */
static bool counts(struct sb_gpus_device *device)
{
	double values[SB_GPUS_COUNTERS];
	uint32_t wanted = SB_GPUS_COUNTERS_USUAL;

	return sb_gpus_nvml.count(device, &wanted, values) != SB_GPUS_UNCOUNTED && wanted &&
	       !*device->uncounted;
}

static void visit(struct sb_thread *thread)
{
	uint32_t all = SB_GPUS_BIT(SB_GPUS_COLUMNS) - 1, wanted = all;

	for (int i = 0; i < SB_GPUS_COLUMNS; i++)
		nvml.values[i] = NAN;
	nvml.count = sb_gpus_nvml.open(nvml.devices, SB_GPUS_DEVICES_MAX, &nvml.why, &nvml.how);
	if (nvml.count > 0) {
		sb_gpus_nvml.driver(nvml.driver, sizeof nvml.driver);
		sb_gpus_nvml.read(&nvml.devices[0], &wanted, nvml.values);
	}
	nvml.lost = all & ~wanted;
	for (int i = 0; i < nvml.count; i++)
		nvml.counting += counts(&nvml.devices[i]);
	sb_gpus_nvml.close();
}

static bool visit_nvml(void)
{
	static bool done;

	if (!done) {
		done = true;
		nvml.why = nvml.how = "";
		sb_gpus_read_environment();
		nvml.answered = sb_thread_start(&nvml.thread, "strobe-doctor", visit, NULL) &&
				sb_thread_stop(&nvml.thread, PATIENCE_NS);
	}
	return nvml.answered;
}

static void look_nvml(struct doctor_finding *f)
{
	if (!visit_nvml())
		doctor_say(f, DOCTOR_MISSING, "see 'dmesg'; the machine may need a reset",
			"the NVIDIA driver does not answer");
	else if (nvml.count <= 0)
		doctor_say(f, DOCTOR_MISSING,
			*nvml.how ? nvml.how : "install the NVIDIA driver, if there is an NVIDIA GPU", "%s",
			nvml.why);
	else
		doctor_say(f, DOCTOR_OK, "", "driver %s, %d GPU%s visible: %s", nvml.driver, nvml.count,
			nvml.count == 1 ? "" : "s", nvml.devices[0].name);
}

static void look_sensors(struct doctor_finding *f)
{
	static const struct {
		enum sb_gpus_column column;
		const char *name;
	} sensors[] = { { SB_GPUS_MEMORY_USED, "memory" }, { SB_GPUS_UTILIZATION, "utilisation" },
		{ SB_GPUS_TEMPERATURE, "temperature" }, { SB_GPUS_POWER, "power" },
		{ SB_GPUS_SM_CLOCK, "clocks" }, { SB_GPUS_THROTTLE, "throttling" },
		{ SB_GPUS_PROCESS_MEMORY, "processes" } };
	char missing[160] = "";
	int used = 0;

	if (!visit_nvml() || nvml.count <= 0) {
		doctor_say(f, DOCTOR_MISSING, "see NVML above", "no NVIDIA GPU to ask");
		return;
	}
	for (size_t i = 0; i < sizeof sensors / sizeof sensors[0]; i++)
		if (nvml.lost & SB_GPUS_BIT(sensors[i].column))
			used += snprintf(missing + used, sizeof missing - (size_t)used, "%s%s",
				used ? ", " : "", sensors[i].name);
	if (used)
		doctor_say(f, DOCTOR_LIMITED, "nothing to do on this GPU; a newer driver may offer more",
			"this GPU or driver does not offer: %s", missing);
	else
		doctor_say(f, DOCTOR_OK, "",
			"memory %.0f of %.0f MB, utilisation %.0f %%, %.0f \xc2\xb0"
			"C, %.0f W",
			nvml.values[SB_GPUS_MEMORY_USED], nvml.values[SB_GPUS_MEMORY_TOTAL],
			nvml.values[SB_GPUS_UTILIZATION], nvml.values[SB_GPUS_TEMPERATURE],
			nvml.values[SB_GPUS_POWER]);
}

static void look_gpm(struct doctor_finding *f)
{
	if (!visit_nvml() || nvml.count <= 0)
		doctor_say(f, DOCTOR_MISSING, "see NVML above", "no NVIDIA GPU to ask");
	else if (nvml.counting == nvml.count)
		doctor_say(f, DOCTOR_OK, "", "SM, tensor core and DRAM activity, always on");
	else if (nvml.counting)
		doctor_say(f, DOCTOR_LIMITED, "--gpu-trace shows what kernels do on the others",
			"%d of %d GPUs count SM, tensor core and DRAM activity", nvml.counting, nvml.count);
	else
		doctor_say(f, DOCTOR_LIMITED, "--gpu-trace shows what kernels do",
			*nvml.devices[0].uncounted
				? "SM, tensor core and DRAM activity: %s"
				: "this GPU or driver does not count SM, tensor core and DRAM "
				  "activity (NVIDIA Hopper and newer do)%s",
			nvml.devices[0].uncounted);
}

static void look_amd(struct doctor_finding *f)
{
	struct sb_gpus_device devices[SB_GPUS_DEVICES_MAX];
	const char *why, *how;
	int count = sb_gpus_amd.open(devices, SB_GPUS_DEVICES_MAX, &why, &how);

	if (count > 0)
		doctor_say(f, DOCTOR_OK, "", "%d GPU%s: %s", count, count == 1 ? "" : "s", devices[0].name);
	else if (visit_nvml() && nvml.count > 0)
		doctor_say(f, DOCTOR_OK, "", "not needed: the GPUs here are NVIDIA's");
	else
		doctor_say(f, DOCTOR_MISSING,
			"load the amdgpu driver, and show /sys/class/drm to the container, if there is one",
			"%s", why);
}

/* What the recorder takes instead of looking for it. */
static const char *named(const char *variable)
{
	const char *path = getenv(variable);

	return path && *path ? path : NULL;
}

static void look_cuda(struct doctor_finding *f)
{
	const char *path = named("STROBE_CUDA_PATH");
	void *cuda = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*version)(int *) = NULL;
	int number = 0;

	if (!cuda && path) {
		doctor_say(f, DOCTOR_MISSING, "unset it, or name a libcuda.so.1",
			"STROBE_CUDA_PATH names %.150s, which cannot be loaded", path);
		return;
	}
	if (!cuda) {
		doctor_say(f, DOCTOR_MISSING, "install the NVIDIA driver, if there is an NVIDIA GPU",
			"no libcuda.so.1: GPU zones are plain zones");
		return;
	}
	*(void **)&version = dlsym(cuda, "cuDriverGetVersion"); /* allowed before cuInit */
	if (version && !version(&number))
		doctor_say(f, DOCTOR_OK, "", "CUDA %d.%d%s: GPU zones by stream events", number / 1000,
			number % 1000 / 10, path ? " (STROBE_CUDA_PATH)" : "");
	else
		doctor_say(f, DOCTOR_LIMITED, "reinstall the NVIDIA driver",
			"%.150s does not tell its version", path ? path : "libcuda.so.1");
}

/* Of the environment that is active, else of the python3 on the PATH; "": there is none. */
static void python_prefix(char out[PATH_MAX])
{
	const char *at = getenv("VIRTUAL_ENV") ? getenv("VIRTUAL_ENV") : getenv("CONDA_PREFIX");
	char python[PATH_MAX];

	snprintf(out, PATH_MAX, "%s", at ? at : "");
	for (at = at ? NULL : getenv("PATH"); at && *at; at += strspn(at, ":")) {
		int length = (int)strcspn(at, ":");

		snprintf(python, sizeof python, "%.*s/python3", length, at);
		if (length > 4 && !strncmp(at + length - 4, "/bin", 4) && !access(python, X_OK)) {
			snprintf(out, PATH_MAX, "%.*s", length - 4, at);
			return;
		}
		at += length;
	}
}

/* The same places the recorder looks into: by name, the toolkit, Python wheels. */
static bool find_cupti(char *out, size_t size)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
	static const char *const patterns[] = { "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*",
		"/usr/local/cuda*/lib64/libcupti.so*", "/usr/lib/*/libcupti.so*",
		"/usr/local/lib/python3*/dist-packages/nvidia/*/lib/libcupti.so*",
		"/usr/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*",
		"/opt/*/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*" };
	char venv[2 * PATH_MAX], prefix[PATH_MAX];
	bool found = false;

	python_prefix(prefix);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);

		if (library) {
			dlclose(library);
			snprintf(out, size, "%s", names[i]);
			return true;
		}
	}
	for (size_t i = 0; i <= sizeof patterns / sizeof patterns[0] && !found; i++) {
		const char *pattern = i ? patterns[i - 1] : venv;
		glob_t hits;

		if (!i)
			snprintf(venv, sizeof venv, "%s/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*",
				prefix);
		if (glob(pattern, 0, NULL, &hits))
			continue;
		snprintf(out, size, "%s", hits.gl_pathv[0]);
		globfree(&hits);
		found = true;
	}
	return found;
}

static void look_cupti(struct doctor_finding *f)
{
	const char *theirs = named("STROBE_CUPTI_PATH");
	void *library = theirs ? dlopen(theirs, RTLD_LAZY | RTLD_LOCAL) : NULL;
	char path[PATH_MAX];

	if (library)
		doctor_say(f, DOCTOR_OK, "", "%.180s (STROBE_CUPTI_PATH)", theirs);
	else if (theirs)
		doctor_say(f, DOCTOR_MISSING, "unset it, or name a libcupti.so",
			"STROBE_CUPTI_PATH names %.150s, which cannot be loaded", theirs);
	else if (find_cupti(path, sizeof path))
		doctor_say(f, DOCTOR_OK, "", "%.200s", path);
	else
		doctor_say(f, DOCTOR_MISSING, "a CUDA torch wheel brings it; or install the CUDA toolkit",
			"no libcupti: --gpu-trace cannot work");
}

static bool for_root_alone(void)
{
	char text[8192];
	uint64_t admin_only = 0;

	return sb_procfile_proc_text(text, sizeof text, "driver/nvidia/params") > 0 &&
	       sb_procfile_field(text, "RmProfilingAdminOnly:", &admin_only) && admin_only && geteuid();
}

static void look_permission(struct doctor_finding *f)
{
	char text[8192];

	if (sb_procfile_proc_text(text, sizeof text, "driver/nvidia/params") <= 0)
		doctor_say(f, DOCTOR_MISSING, "load the NVIDIA kernel module, if there is an NVIDIA GPU",
			"no NVIDIA kernel module here");
	else if (for_root_alone())
		doctor_say(f, DOCTOR_LIMITED, "modprobe option NVreg_RestrictProfilingToAdminUsers=0",
			"hardware counters are for root; kernel traces may be too");
	else
		doctor_say(f, DOCTOR_OK, "", "kernel traces are allowed");
}

/* CUPTI's version, in a thread: with a sick driver its calls may hang. */
static struct cupti_visit {
	struct sb_thread thread;
	void *library;
	uint32_t version;
} cupti;

static void ask_version(struct sb_thread *thread)
{
	int (*version)(uint32_t *) = NULL;

	(void)thread;
	*(void **)&version = dlsym(cupti.library, "cuptiGetVersion");
	if (version && dlsym(cupti.library, "cuptiPmSamplingEnable"))
		version(&cupti.version);
}

static bool open_cupti(void)
{
	const char *theirs = named("STROBE_CUPTI_PATH");
	char path[PATH_MAX];

	if (theirs || find_cupti(path, sizeof path))
		cupti.library = dlopen(theirs ? theirs : path, RTLD_LAZY | RTLD_LOCAL);
	return cupti.library;
}

static bool has_driver(void)
{
	const char *theirs = named("STROBE_CUDA_PATH");

	return dlopen(theirs ? theirs : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

/* libcuda.so.1 alone is no driver: containers and build machines have one without a kernel module, and there CUPTI crashes. */
static bool drives_a_gpu(void)
{
	return named("STROBE_CUDA_PATH") || (visit_nvml() && nvml.count > 0);
}

/* Whether the GPU itself can is known when its hardware is asked for, which no other tool may have then. */
static void look_sampling(struct doctor_finding *f)
{
	if (!has_driver())
		doctor_say(f, DOCTOR_MISSING, "see CUDA driver above",
			"no libcuda.so.1: --gpu-counters cannot sample");
	else if (!drives_a_gpu())
		doctor_say(f, DOCTOR_MISSING, "see NVML above", "no GPU is seen: CUPTI is not asked");
	else if (!open_cupti())
		doctor_say(f, DOCTOR_MISSING, "see CUPTI above", "no libcupti: --gpu-counters cannot sample");
	else if (!sb_thread_start(&cupti.thread, "strobe-doctor", ask_version, NULL) ||
		 !sb_thread_stop(&cupti.thread, PATIENCE_NS))
		doctor_say(f, DOCTOR_MISSING, "see 'dmesg'; the machine may need a reset",
			"CUPTI does not answer");
	else if (!sb_cupti_samples_counters(cupti.version))
		doctor_say(f, DOCTOR_LIMITED,
			"a torch wheel or toolkit of CUDA 12.6 to 13; "
			"STROBE_CUPTI_PATH may name its libcupti",
			"--gpu-counters needs CUPTI of CUDA 12.6 to 13, this is another one");
	else if (for_root_alone())
		doctor_say(f, DOCTOR_LIMITED, "modprobe option NVreg_RestrictProfilingToAdminUsers=0",
			"--gpu-counters is for root");
	else
		doctor_say(f, DOCTOR_OK, "", "--gpu-counters may sample, by CUPTI version %u", cupti.version);
}

static void look_injection(struct doctor_finding *f)
{
	const char *theirs = getenv("NVTX_INJECTION64_PATH");
	char path[PATH_MAX];
	void *library;

	if (!run_attach_find_library(path, sizeof path)) {
		doctor_say(f, DOCTOR_MISSING, "install libstrobe.so beside the strobe command",
			"libstrobe.so was not found");
		return;
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library || !dlsym(library, "InitializeInjectionNvtx2"))
		doctor_say(f, DOCTOR_MISSING,
			"install the libstrobe.so of this version beside the strobe command",
			"%.180s does not take NVTX ranges", path);
	else if (theirs && *theirs && strcmp(theirs, path))
		doctor_say(f, DOCTOR_LIMITED, "unset NVTX_INJECTION64_PATH to let strobe record NVTX ranges",
			"NVTX_INJECTION64_PATH belongs to %.150s", theirs);
	else
		doctor_say(f, DOCTOR_OK, "", "%.200s", path);
}

const struct doctor_check doctor_gpu_checks[] = {
	{ "GPU", "NVML", look_nvml },
	{ "GPU", "sensors", look_sensors },
	{ "GPU", "counters", look_gpm },
	{ "GPU", "AMD sysfs", look_amd },
	{ "GPU", "CUDA driver", look_cuda },
	{ "GPU", "CUPTI", look_cupti },
	{ "GPU", "trace permission", look_permission },
	{ "GPU", "sampled counters", look_sampling },
	{ "GPU", "NVTX injection", look_injection },
	{ 0 },
};
