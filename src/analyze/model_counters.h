/* The report model, what parts of the GPU did: of a device, a stage, a generation. */
#ifndef SB_ANALYZE_MODEL_COUNTERS_H
#define SB_ANALYZE_MODEL_COUNTERS_H

#include "analyze/model_roofline.h"
#include "stats/fields.h"

#include <stddef.h>
#include <stdint.h>

/* Means in percent; NAN: not counted. */
enum sb_gpu_counter {
	SB_COUNTER_SM,
	SB_COUNTER_OCCUPANCY,
	SB_COUNTER_TENSOR,
	SB_COUNTER_TENSOR_FLOAT,
	SB_COUNTER_TENSOR_INTEGER,
	SB_COUNTER_FP32,
	SB_COUNTER_FP64,
	SB_COUNTER_FP16,
	SB_COUNTER_INTEGER,
	SB_COUNTER_DRAM,
	SB_COUNTER_DRAM_READ,
	SB_COUNTER_DRAM_WRITE,
	SB_COUNTER_NVDEC,
	SB_COUNTERS
};
extern const char *const sb_gpu_counter_columns[SB_COUNTERS]; /* of the series */

/* What is read beside them. */
enum sb_gpu_beside {
	SB_BESIDE_UTILIZATION, /* percent */
	SB_BESIDE_PCIE_RX, /* GB/s, as the others */
	SB_BESIDE_PCIE_TX,
	SB_BESIDE_NVLINK_RX,
	SB_BESIDE_NVLINK_TX,
	SB_BESIDE_DRAM, /* read and written, as sampled */
	SB_BESIDES
};
extern const char *const sb_gpu_beside_columns[SB_BESIDES];

#define SB_SMS_WORK 40 /* percent: fewer do not hold up a GPU */
#define SB_PERCENT_MOST 105 /* what is more is none: a damaged file may say anything */

struct sb_gpu_counters {
	double percent[SB_COUNTERS];
	double beside[SB_BESIDES];
	double covered_s; /* time of the readings they come from; 0: none */
	double covered_ratio; /* of the time of the stage, the generation, the run; NAN: none */
	const char *source; /* "gpm" or "pm sampling"; NULL: none */
	double bound_s[SB_BOUNDS]; /* of covered_s, what held the GPU up; see sb_stage_work */
};

enum sb_counter_source {
	SB_COUNTED_GPM, /* the driver's means, all the time */
	SB_COUNTED_PM, /* sampled, where that was asked for */
	SB_COUNTER_SOURCES
};
extern const char *const sb_counter_source_names[SB_COUNTER_SOURCES];

enum sb_counter_lot { SB_COUNTER_ALL, SB_COUNTER_WARM, SB_COUNTER_FIRST, SB_COUNTER_LOTS }; /* of calls */

/* What the readings add up to in which the GPU was at a path, and at nothing else. */
struct sb_path_counters {
	struct sb_counter_sums {
		double covered_s, weighted[SB_COUNTERS], known_s[SB_COUNTERS], bound_s[SB_BOUNDS];
		double beside[SB_BESIDES], beside_s[SB_BESIDES]; /* weighted, known, too */
	} * of[SB_COUNTER_SOURCES][SB_COUNTER_LOTS]; /* by path; NULL: none */
	uint32_t path_count;
};

void sb_counter_sums_add(struct sb_counter_sums *to, const struct sb_counter_sums *more);
/* Prefers samples if they cover at least half as much time as the readings that are always on. */
enum sb_counter_source sb_counter_source_better(const struct sb_counter_sums sums[SB_COUNTER_SOURCES]);

void sb_gpu_counters_from_sums(
	const struct sb_counter_sums *sums, double whole_s, const char *source, struct sb_gpu_counters *out);

extern const struct sb_fields sb_gpu_counters_fields;

#endif
