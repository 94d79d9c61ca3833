/* The environment of the command: recording on, the settings, the Python
 * start-up hook, and NVTX and CUDA injection where there is a GPU. */
#include "run_attach.h"

#include "monitor/monitor.h"
#include "record/put.h"
#include "record/rank.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VARIABLES_MAX = 96 };

struct variables {
	char **list;
	size_t count, capacity;
};

static bool beside_tool(const char *const *places, const char *file, char *out, size_t size)
{
	char folder[PATH_MAX], path[PATH_MAX + 128];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
	char *slash;

	if (n <= 0)
		return false;
	folder[n] = 0;
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = 0;
	for (; *places; places++) {
		char real[PATH_MAX];

		snprintf(path, sizeof path, "%s/%s%s%s", folder, *places, *file ? "/" : "", file);
		if (access(path, R_OK) || !realpath(path, real))
			continue;
		if (*file)
			*strrchr(real, '/') = 0;
		if ((size_t)snprintf(out, size, "%s", real) < size)
			return true;
	}
	return false;
}

bool run_attach_find_library(char *out, size_t size)
{
#if defined(__aarch64__)
#define MULTIARCH "../lib/aarch64-linux-gnu/libstrobe.so"
#else
#define MULTIARCH "../lib/x86_64-linux-gnu/libstrobe.so"
#endif
	static const char *const places[] = { "libstrobe.so", "../lib/libstrobe.so", "../lib64/libstrobe.so",
		MULTIARCH, "../libstrobe.so", NULL };

	return beside_tool(places, "", out, size);
}

bool run_attach_find_hook(char *out, size_t size)
{
	static const char *const places[] = { "python/strobe/hook", "../hook",
		"../lib/strobe/python/strobe/hook", "../share/strobe/python/strobe/hook", NULL };
	const char *given = getenv("STROBE_HOOK_DIR");

	if (given && *given)
		return (size_t)snprintf(out, size, "%s", given) < size;
	return beside_tool(places, "sitecustomize.py", out, size);
}

/* ---- variables ------------------------------------------------------------------ */

static void put(struct variables *v, const char *name, const char *value)
{
	size_t size = strlen(name);
	char *text = malloc(size + strlen(value) + 2);

	if (!text)
		return;
	sprintf(text, "%s=%s", name, value);
	for (size_t i = 0; i < v->count; i++)
		if (!strncmp(v->list[i], text, size + 1)) {
			free(v->list[i]);
			v->list[i] = text;
			return;
		}
	if (v->count + 1 < v->capacity)
		v->list[v->count++] = text;
	else
		free(text);
}

static bool is_dropped(const char *variable)
{
	/* Their effect is in the single settings already. */
	return !strncmp(variable, "STROBE_CONFIG=", 14) || !strncmp(variable, "STROBE_PRESET=", 14);
}

static bool copy_environment(struct variables *v)
{
	size_t count = 0;

	while (environ[count])
		count++;
	v->capacity = count + VARIABLES_MAX;
	v->list = calloc(v->capacity, sizeof *v->list);
	for (size_t i = 0; v->list && i < count; i++)
		if (!is_dropped(environ[i])) {
			char *copy = strdup(environ[i]);

			if (copy)
				v->list[v->count++] = copy;
		}
	return v->list != NULL;
}

/* Ranks of a launcher below sample themselves; ours is sampled by us. */
static void put_rank(struct variables *v)
{
	struct sb_rank rank;
	char text[32];

	sb_rank_detect(&rank);
	snprintf(text, sizeof text, "%d/%d", rank.rank, rank.world_size);
	put(v, SB_MONITOR_RANKS, text);
}

/* What the user of `run` has said. Where nothing was said, the program's own
 * configuration decides. */
static void put_settings(struct variables *v, const struct run_attach *a)
{
	for (size_t i = 0; i < sb_setting_count; i++) {
		const struct sb_setting *t = &sb_setting_table[i];
		struct sb_buf text = { 0 };
		char name[64];

		if (a->origin->source[i] == SB_FROM_DEFAULT || t->type == SB_SETTING_TAGS)
			continue;
		sb_settings_text(a->settings, t, &text);
		sb_setting_env_name(t, name, sizeof name);
		put(v, name, sb_buf_text(&text));
		sb_buf_done(&text);
	}
	put(v, "STROBE_ENABLED", a->settings->enabled ? "1" : "0");
	put(v, "STROBE_RUN_DIR", a->run_dir);
	if (a->stages_seen[0])
		put(v, "STROBE_STAGES_SEEN", a->stages_seen);
	put(v, "STROBE_MONITOR", "0");
	if (a->settings->monitor)
		put_rank(v);
	if (a->display_asked[0])
		put(v, SB_MONITOR_DISPLAY_ASKED, a->display_asked);
	else
		put(v, "STROBE_REAL_TIME_DISPLAY", "0");
}

/* False: it is not installed beside the command. */
static bool put_hook(struct variables *v)
{
	char folder[PATH_MAX], *path;
	const char *old = getenv("PYTHONPATH");

	if (!run_attach_find_hook(folder, sizeof folder))
		return false;
	path = malloc(strlen(folder) + (old ? strlen(old) : 0) + 2);
	if (!path)
		return true;
	sprintf(path, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "");
	put(v, "PYTHONPATH", path);
	free(path);
	return true;
}

static void put_injection(struct variables *v, const char *variable, const char *library, const char *what)
{
	const char *theirs = getenv(variable);
	char why[128];

	if (!theirs || !*theirs) {
		put(v, variable, library);
		return;
	}
	if (!strcmp(theirs, library))
		return;
	snprintf(why, sizeof why, "%s is set to something else already", variable);
	sb_keep_missing(what, why, "unset it to let strobe record them");
}

static bool has_cuda_driver(void)
{
	const char *path = getenv("STROBE_CUDA_PATH");
	void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (library)
		dlclose(library);
	return library != NULL;
}

/* Before what the program preloads itself: an allocator of its own is still the one that allocates. */
static void put_allocations(struct variables *v)
{
	static const char *const places[] = { "python/strobe/_allocations.so", "../_allocations.so",
		"../lib/strobe/python/strobe/_allocations.so",
		"../share/strobe/python/strobe/_allocations.so", NULL };
	const char *old = getenv("LD_PRELOAD");
	char library[PATH_MAX], *path;

	if (!getenv("STROBE_HOST_HISTORY"))
		return;
	if (!beside_tool(places, "", library, sizeof library)) {
		sb_keep_missing("allocations of the host",
			"_allocations.so is not installed beside the strobe command",
			"build or install the Python package");
		return;
	}
	path = malloc(strlen(library) + (old ? strlen(old) : 0) + 2);
	if (!path)
		return;
	sprintf(path, "%s%s%s", library, old && *old ? ":" : "", old ? old : "");
	put(v, "LD_PRELOAD", path);
	free(path);
}

static void put_injections(struct variables *v, const struct run_attach *a)
{
	char library[PATH_MAX];

	if (!run_attach_find_library(library, sizeof library))
		return;
	put_injection(v, "NVTX_INJECTION64_PATH", library, "NVTX ranges");
	if (!a->settings->gpu_trace[0] && !a->settings->gpu_counters[0])
		return;
	put_injection(v, "CUDA_INJECTION64_PATH", library, "GPU kernels");
	if (has_cuda_driver())
		return;
	if (a->settings->gpu_trace[0])
		sb_keep_missing("kernels", "there is no NVIDIA driver here (libcuda.so.1)",
			"trace on a machine with an NVIDIA GPU; see 'strobe doctor'");
	if (a->settings->gpu_counters[0])
		sb_keep_missing("sampled counters", "there is no NVIDIA driver here (libcuda.so.1)",
			"sample on a machine with an NVIDIA GPU; see 'strobe doctor'");
}

char **run_attach_environment(const struct run_attach *a)
{
	struct variables v = { 0 };

	if (!copy_environment(&v))
		return NULL;
	put_settings(&v, a);
	if (a->settings->enabled && a->python_hook && !put_hook(&v))
		sb_keep_missing("Python start-up hook", "it is not installed beside the strobe command",
			"build or install the Python package");
	if (a->settings->enabled && a->python_hook)
		put_allocations(&v);
	if (a->settings->enabled)
		put_injections(&v, a);
	return v.list;
}

char **run_attach_nothing(bool python_hook)
{
	struct variables v = { 0 };

	if (!copy_environment(&v))
		return NULL;
	put(&v, "STROBE_ENABLED", "0");
	if (python_hook)
		put_hook(&v);
	return v.list;
}

void run_attach_free(char **environment)
{
	for (char **p = environment; p && *p; p++)
		free(*p);
	free(environment);
}
