/* Where CUPTI lies, and whether it is of a version that is known. */
#include "gpu/cupti_library.h"

#include "base/dynlib.h"
#include "base/error.h"
#include "gpu/cupti_versions.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sonames[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
static const char *const toolkits[] = { "/usr/local/cuda/lib64/libcupti.so",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/opt/cuda/extras/CUPTI/lib64/libcupti.so" };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void *open_mapped(void)
{
	void *library = NULL;

	for (size_t i = 0; i < COUNT(sonames) && !library; i++)
		library = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
	return library;
}

/* The folder of the program's libcudart, as "folder/": wheels keep CUPTI in
 * the same folder (CUDA 13) or in nvidia/cuda_cupti/lib (CUDA 12). */
static int find_runtime(struct dl_phdr_info *info, size_t size, void *out)
{
	const char *name = strrchr(info->dlpi_name, '/');
	char *folder = out;

	(void)size;
	if (!name || strncmp(name + 1, "libcudart.so", 12))
		return 0;
	snprintf(folder, 400, "%.*s", (int)(name + 1 - info->dlpi_name), info->dlpi_name);
	return 1;
}

static void *open_beside_runtime(void)
{
	static const char *const places[] = { "libcupti.so.13", "libcupti.so.12",
		"../../cuda_cupti/lib/libcupti.so.12", "../extras/CUPTI/lib64/libcupti.so" };
	char folder[400] = "", path[512];
	void *library = NULL;

	if (!dl_iterate_phdr(find_runtime, folder))
		return NULL;
	for (size_t i = 0; i < COUNT(places) && !library; i++) {
		snprintf(path, sizeof path, "%s%s", folder, places[i]);
		library = dlopen(path, RTLD_NOW);
	}
	return library;
}

static void *open_installed(void)
{
	void *library = NULL;

	for (size_t i = 0; i < COUNT(sonames) && !library; i++)
		library = dlopen(sonames[i], RTLD_NOW);
	for (size_t i = 0; i < COUNT(toolkits) && !library; i++)
		library = dlopen(toolkits[i], RTLD_NOW);
	return library;
}

static void *open_library(bool *out_named)
{
	void *library = sb_dynlib_from_environment("STROBE_CUPTI_PATH", out_named);

	if (*out_named)
		return library;
	library = open_mapped();
	if (!library)
		library = open_beside_runtime();
	return library ? library : open_installed();
}

#define NEEDED(field, name) SB_DYNLIB_NEEDED(struct sb_cupti, field, name)
#define OPTIONAL(field, name) SB_DYNLIB_OPTIONAL(struct sb_cupti, field, name)

static const struct sb_dynlib_entry entries[] = {
	NEEDED(get_version, "cuptiGetVersion"),
	NEEDED(get_timestamp, "cuptiGetTimestamp"),
	NEEDED(register_callbacks, "cuptiActivityRegisterCallbacks"),
	NEEDED(enable, "cuptiActivityEnable"),
	NEEDED(disable, "cuptiActivityDisable"),
	NEEDED(flush_all, "cuptiActivityFlushAll"),
	NEEDED(next_record, "cuptiActivityGetNextRecord"),
	NEEDED(dropped, "cuptiActivityGetNumDroppedRecords"),
	OPTIONAL(set_attribute, "cuptiActivitySetAttribute"),
	NEEDED(subscribe, "cuptiSubscribe"),
	OPTIONAL(subscribe_v2, "cuptiSubscribe_v2"),
	NEEDED(unsubscribe, "cuptiUnsubscribe"),
	NEEDED(enable_callback, "cuptiEnableCallback"),
	OPTIONAL(device_of, "cuptiGetDeviceId"),
	OPTIONAL(stream_number, "cuptiGetStreamIdEx"),
};

static int resolve(struct sb_cupti *c, void *library)
{
	const char *lacking = sb_dynlib_resolve(library, entries, COUNT(entries), c);
	struct link_map *map;

	if (lacking)
		return sb_fail(STROBE_ENOTSUP, "this libcupti has no %s", lacking);
	if (!dlinfo(library, RTLD_DI_LINKMAP, &map))
		snprintf(c->path, sizeof c->path, "%s", map->l_name);
	if (c->get_version(&c->version))
		return sb_fail(STROBE_ENOTSUP, "'%s' does not say its version", c->path);
	if (!sb_cupti_is_known(c->version))
		return sb_fail(STROBE_ENOTSUP,
			"CUPTI version %u of '%s' is not one that strobe knows (CUDA 12 and 13)", c->version,
			c->path);
	return 0;
}

static int find(struct sb_cupti *c)
{
	bool named;
	void *library = open_library(&named);

	if (!library && named)
		return sb_fail(STROBE_ENOENT, "STROBE_CUPTI_PATH names '%s', which cannot be loaded",
			secure_getenv("STROBE_CUPTI_PATH"));
	if (!library)
		return sb_fail(STROBE_ENOENT, "no libcupti found: it comes with PyTorch's CUDA "
					      "wheels and the CUDA toolkit");
	return resolve(c, library);
}

/* The threads of trace and counters may look for it at the same time: what the first one found is used. */
int sb_cupti_load(const struct sb_cupti **out_cupti)
{
	static struct sb_cupti *_Atomic loaded;
	struct sb_cupti *cupti = atomic_load(&loaded), *first = NULL;
	int err;

	if (!cupti) {
		cupti = calloc(1, sizeof *cupti);
		err = cupti ? find(cupti) : sb_fail(STROBE_ENOMEM, "no memory for CUPTI's functions");
		if (err || !atomic_compare_exchange_strong(&loaded, &first, cupti)) {
			free(cupti);
			cupti = first;
		}
		if (err)
			return err;
	}
	*out_cupti = cupti;
	return 0;
}

/* CUPTI's own words, kept here: where there is no driver, cuptiGetResultString of CUDA 13 calls itself until
 * the stack is used up and the program with it. */
static const struct {
	int result;
	const char *name;
} errors[] = {
	{ 1, "CUPTI_ERROR_INVALID_PARAMETER" },
	{ 2, "CUPTI_ERROR_INVALID_DEVICE" },
	{ 3, "CUPTI_ERROR_INVALID_CONTEXT" },
	{ 7, "CUPTI_ERROR_INVALID_OPERATION" },
	{ 8, "CUPTI_ERROR_OUT_OF_MEMORY" },
	{ 9, "CUPTI_ERROR_HARDWARE" },
	{ 10, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT" },
	{ 11, "CUPTI_ERROR_API_NOT_IMPLEMENTED" },
	{ 12, "CUPTI_ERROR_MAX_LIMIT_REACHED" },
	{ 13, "CUPTI_ERROR_NOT_READY" },
	{ 14, "CUPTI_ERROR_NOT_COMPATIBLE" },
	{ 15, "CUPTI_ERROR_NOT_INITIALIZED" },
	{ 19, "CUPTI_ERROR_INVALID_HANDLE" },
	{ 20, "CUPTI_ERROR_INVALID_STREAM" },
	{ 21, "CUPTI_ERROR_INVALID_KIND" },
	{ 23, "CUPTI_ERROR_DISABLED" },
	{ 26, "CUPTI_ERROR_HARDWARE_BUSY" },
	{ 27, "CUPTI_ERROR_NOT_SUPPORTED" },
	{ 33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" },
	{ 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" },
	{ 36, "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED" },
	{ 38, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED" },
	{ 39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
	{ 40, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES" },
	{ 41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED" },
	{ 42, "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED" },
	{ 43, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED" },
	{ 45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED" },
	{ 999, "CUPTI_ERROR_UNKNOWN" },
};

const char *sb_cupti_error(int result)
{
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (errors[i].result == result)
			return errors[i].name;
	return "unknown error";
}
