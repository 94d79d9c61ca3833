/* NVML's GPM: activity of SMs, tensor cores and DRAM between two readings. Hopper and newer; takes
 * no profiling lock. */
#ifndef SB_MONITOR_GPM_H
#define SB_MONITOR_GPM_H

#include "monitor/gpus.h"
#include "monitor/nvml_abi.h"

struct sb_gpm {
	void *samples[2]; /* the driver's; NULL: none yet */
	int newest; /* index of the reading before the next; -1: none */
	struct nvml_gpm_get *get;
	double pcie_gb_per_s[2]; /* sent and received by the GPU, as of the last reading; NAN: not counted */
};

/* Fills the wanted counters with their means since the call before that did; clears those that this device
 * does not have. A slice of a GPU is read as a part of it. */
enum sb_gpus_counting sb_gpm_read(struct sb_gpm *gpm, const struct nvml_api *api,
	struct sb_gpus_device *device, uint32_t *wanted, double *values);
void sb_gpm_close(struct sb_gpm *gpm, const struct nvml_api *api); /* gpm may be zeroed */

#endif
