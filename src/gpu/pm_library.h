/* The part of CUPTI that samples the GPU's counters, and the libraries beside it that it needs. */
#ifndef SB_GPU_PM_LIBRARY_H
#define SB_GPU_PM_LIBRARY_H

#include "gpu/cupti_library.h"
#include "gpu/pm_cupti.h"

struct sb_pm_cupti {
	int (*initialize)(struct cupti_profiler_initialize *);
	int (*deinitialize)(struct cupti_profiler_initialize *);
	int (*chip_name)(struct cupti_chip_name *);
	int (*availability)(struct cupti_pm_availability *);
	int (*host_initialize)(struct cupti_host_initialize *);
	int (*host_deinitialize)(struct cupti_host_deinitialize *);
	int (*add_metrics)(struct cupti_host_add_metrics *);
	int (*config_size)(struct cupti_host_config_size *);
	int (*config)(struct cupti_host_config *);
	int (*passes)(struct cupti_host_passes *);
	int (*evaluate)(struct cupti_host_evaluate *);
	int (*enable)(struct cupti_pm_enable *);
	int (*disable)(struct cupti_pm_object *);
	int (*configure)(struct cupti_pm_configure *);
	int (*start)(struct cupti_pm_object *);
	int (*stop)(struct cupti_pm_object *);
	int (*data_size)(struct cupti_pm_data_size *);
	int (*data_initialize)(struct cupti_pm_data_initialize *);
	int (*decode)(struct cupti_pm_decode *);
	int (*data_info)(struct cupti_pm_data_info *);
	int (*sample_info)(struct cupti_pm_sample_info *);
};

/* Finds the functions. Fails where this CUPTI cannot sample: before CUDA 12.6. */
int sb_pm_cupti_load(const struct sb_cupti *cupti, const struct sb_pm_cupti **out_pm);

#endif
