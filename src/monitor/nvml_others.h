/* How busy processes that are not the run's keep a GPU, as the driver counts each process. */
#ifndef SB_MONITOR_NVML_OTHERS_H
#define SB_MONITOR_NVML_OTHERS_H

#include "monitor/nvml_abi.h"
#include "monitor/source.h"

struct sb_nvml_others {
	struct sb_pace pace;
	unsigned long long last_us; /* the driver's time of the newest sample; 0: none was read */
	double percent; /* NAN: not known */
};

/* Since the reading before, which the first one has not: into percent, 0 where no other process did anything. Returns
 * NVML's code. In a container that sees the host's process ids it is not known whose they are. */
int sb_nvml_others_read(struct sb_nvml_others *others, const struct nvml_api *api, nvml_device device);

#endif
