/* How busy processes that are not the run's keep a GPU. */
#include "monitor/nvml_others.h"

#include "monitor/procfile.h"
#include "monitor/tree.h"

#include <math.h>
#include <stdbool.h>

enum { SAMPLES_MAX = 256 };

static bool exists(unsigned pid)
{
	char text[8];

	return sb_procfile_proc_text(text, sizeof text, "%u/stat", pid) > 0;
}

/* NAN: there are processes of which neither is known here. */
static double add_up(const struct nvml_process_use *samples, unsigned count)
{
	bool ours = false, unknown = false;
	double sum = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!samples[i].pid)
			continue;
		if (sb_tree_contains((pid_t)samples[i].pid)) {
			ours = true;
			continue;
		}
		unknown |= !exists(samples[i].pid);
		sum += samples[i].sm_percent;
	}
	return unknown && !ours ? NAN : fmin(100, sum);
}

int sb_nvml_others_read(struct sb_nvml_others *others, const struct nvml_api *api, nvml_device device)
{
	static struct nvml_process_use samples[SAMPLES_MAX]; /* of the GPU thread alone */
	unsigned count = SAMPLES_MAX;
	bool first = !others->last_us;
	int code;

	others->percent = NAN;
	if (!api->process_use)
		return NVML_FUNCTION_NOT_FOUND;
	code = api->process_use(device, samples, &count, others->last_us);
	if (code == NVML_NOT_FOUND) { /* nothing ran since */
		others->percent = 0;
		return NVML_OK;
	}
	if (code)
		return code;
	for (unsigned i = 0; i < count; i++)
		if (samples[i].time_us > others->last_us)
			others->last_us = samples[i].time_us;
	if (!first) /* which reaches back to before the run */
		others->percent = add_up(samples, count);
	return NVML_OK;
}
