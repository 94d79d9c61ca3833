/* Which counters are sampled, under the names that this chip has for them. */
#ifndef SB_GPU_PM_METRICS_H
#define SB_GPU_PM_METRICS_H

#include "gpu/pm_library.h"

/* The columns of a sample, in the order of the recording. */
enum sb_pm_column {
	SB_PM_SM_ACTIVE,
	SB_PM_TENSOR_ACTIVE,
	SB_PM_DRAM_READ, /* percent: made of the bytes and the memory's bandwidth */
	SB_PM_DRAM_WRITE,
	SB_PM_DRAM_ACTIVE, /* both */
	SB_PM_DRAM_READ_BYTES,
	SB_PM_DRAM_WRITE_BYTES,
	SB_PM_PCIE_READ_BYTES,
	SB_PM_PCIE_WRITE_BYTES,
	SB_PM_FP32_ACTIVE,
	SB_PM_OCCUPANCY,
	SB_PM_SM_CLOCK,
	SB_PM_ENGINE_ACTIVE, /* a kernel was there: what the driver calls utilisation */
	SB_PM_COLUMNS
};
extern const char *const sb_pm_column_names[SB_PM_COLUMNS];

struct sb_pm_metrics {
	const char *names[SB_PM_COLUMNS]; /* the chip's */
	enum sb_pm_column columns[SB_PM_COLUMNS];
	size_t count;
};

/* Makes a host object that evaluates as many of the columns as fit in one pass, and the image that
 * configures the hardware for them (the caller frees it). Returns 0, or CUPTI's error with *out_host and
 * *out_config NULL. */
int sb_pm_metrics_choose(const struct sb_pm_cupti *pm, const char *chip, const uint8_t *availability,
	struct sb_pm_metrics *out_metrics, void **out_host, uint8_t **out_config, size_t *out_config_bytes);

/* What CUPTI evaluated, by column; NaN: not sampled here. */
void sb_pm_metrics_row(const struct sb_pm_metrics *metrics, const double *values, double *out_row);

/* Turns bytes and cycles into rates, DRAM's also into shares of its peak (0: not known). */
void sb_pm_metrics_rates(double *row, double width_s, double dram_peak_bytes_per_s);

#endif
