/* Finds the functions in the libcupti that is loaded already. */
#include "gpu/pm_library.h"

#include "base/dynlib.h"
#include "base/error.h"
#include "gpu/cupti_versions.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NEEDED(field, name) SB_DYNLIB_NEEDED(struct sb_pm_cupti, field, name)

static const struct sb_dynlib_entry entries[] = {
	NEEDED(initialize, "cuptiProfilerInitialize"),
	NEEDED(deinitialize, "cuptiProfilerDeInitialize"),
	NEEDED(chip_name, "cuptiDeviceGetChipName"),
	NEEDED(availability, "cuptiPmSamplingGetCounterAvailability"),
	NEEDED(host_initialize, "cuptiProfilerHostInitialize"),
	NEEDED(host_deinitialize, "cuptiProfilerHostDeinitialize"),
	NEEDED(add_metrics, "cuptiProfilerHostConfigAddMetrics"),
	NEEDED(config_size, "cuptiProfilerHostGetConfigImageSize"),
	NEEDED(config, "cuptiProfilerHostGetConfigImage"),
	NEEDED(passes, "cuptiProfilerHostGetNumOfPasses"),
	NEEDED(evaluate, "cuptiProfilerHostEvaluateToGpuValues"),
	NEEDED(enable, "cuptiPmSamplingEnable"),
	NEEDED(disable, "cuptiPmSamplingDisable"),
	NEEDED(configure, "cuptiPmSamplingSetConfig"),
	NEEDED(start, "cuptiPmSamplingStart"),
	NEEDED(stop, "cuptiPmSamplingStop"),
	NEEDED(data_size, "cuptiPmSamplingGetCounterDataSize"),
	NEEDED(data_initialize, "cuptiPmSamplingCounterDataImageInitialize"),
	NEEDED(decode, "cuptiPmSamplingDecodeData"),
	NEEDED(data_info, "cuptiPmSamplingGetCounterDataInfo"),
	NEEDED(sample_info, "cuptiPmSamplingCounterDataGetSampleInfo"),
};

/* libcupti asks for these by their bare names and has no search path of its own: in a wheel they
 * are found only if they are loaded already. */
static void load_beside(const char *cupti_path)
{
	static const char *const names[] = { "libnvperf_host.so", "libnvperf_target.so" };
	const char *slash = strrchr(cupti_path, '/');
	char path[640];

	for (size_t i = 0; slash && i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%.*s%s", (int)(slash + 1 - cupti_path), cupti_path, names[i]);
		dlopen(path, RTLD_NOW);
	}
}

int sb_pm_cupti_load(const struct sb_cupti *cupti, const struct sb_pm_cupti **out_pm)
{
	static struct sb_pm_cupti pm;
	static bool loaded;
	const char *lacking;
	void *library;

	if (!sb_cupti_samples_counters(cupti->version))
		return sb_fail(STROBE_ENOTSUP,
			"the CUPTI of this program samples no counters: that came with CUDA 12.6");
	if (!loaded) {
		library = dlopen(cupti->path, RTLD_NOW | RTLD_NOLOAD);
		lacking = library ? sb_dynlib_resolve(
					    library, entries, sizeof entries / sizeof entries[0], &pm)
				  : cupti->path;
		if (lacking)
			return sb_fail(STROBE_ENOTSUP,
				"this libcupti samples no counters (no %s): that came with CUDA 12.6",
				lacking);
		load_beside(cupti->path);
		loaded = true;
	}
	*out_pm = &pm;
	return 0;
}
