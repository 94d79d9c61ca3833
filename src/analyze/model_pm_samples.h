/* The report model, what --gpu-counters sampled: when, how much of it, and of which kernels. */
#ifndef SB_ANALYZE_MODEL_PM_SAMPLES_H
#define SB_ANALYZE_MODEL_PM_SAMPLES_H

#include "analyze/model_counters.h"
#include "stats/fields.h"

#include <stddef.h>
#include <stdint.h>

struct sb_pm_samples_panel {
	double t_s, duration_s; /* from the first begin to the last end; NAN: not sampled */
	double sampled_s; /* of it, while it sampled */
	int64_t sample_count, lost_count;
	double interval_s; /* mean width of a sample */
	struct sb_gpu_counters counters;
	double pcie_read_bytes_per_s, pcie_write_bytes_per_s; /* NAN: not sampled */
	double sm_clock_mhz; /* while it sampled and the SMs had work; NAN: not sampled */
	double sm_clock_elsewhere_mhz; /* while it did not and the GPU was busy; NAN: never */
	const char *clocks; /* "as usual" or "held"; NULL: cannot be told */
	struct sb_pm_family {
		const char *family, *kind, *precision; /* as of struct sb_kernel_share */
		double total_s; /* of its kernels while traced */
		struct sb_gpu_counters counters; /* covered_ratio: of total_s */
	} * families; /* those that have samples, the longest first */
	size_t family_count;
	bool present;
};

extern const struct sb_fields sb_pm_samples_fields;

#endif
