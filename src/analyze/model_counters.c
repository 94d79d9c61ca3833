/* Counters, key by key. */
#include "analyze/model_counters.h"

#include <math.h>

const char *const sb_gpu_counter_columns[SB_COUNTERS] = { "sm_active_percent", "occupancy_percent",
	"tensor_active_percent", "tensor_float_percent", "tensor_integer_percent", "fp32_active_percent",
	"fp64_active_percent", "fp16_active_percent", "integer_active_percent", "dram_active_percent",
	"dram_read_percent", "dram_write_percent", "nvdec_active_percent" };

const char *const sb_gpu_beside_columns[SB_BESIDES] = { "utilization_percent", "pcie_rx_gb_per_s",
	"pcie_tx_gb_per_s", "nvlink_rx_gb_per_s", "nvlink_tx_gb_per_s", "dram_gb_per_s" };

const char *const sb_counter_source_names[SB_COUNTER_SOURCES] = { "gpm", "pm sampling" };

void sb_counter_sums_add(struct sb_counter_sums *to, const struct sb_counter_sums *more)
{
	to->covered_s += more->covered_s;
	for (int k = 0; k < SB_COUNTERS; k++) {
		to->weighted[k] += more->weighted[k];
		to->known_s[k] += more->known_s[k];
	}
	for (int k = 0; k < SB_BOUNDS; k++)
		to->bound_s[k] += more->bound_s[k];
	for (int k = 0; k < SB_BESIDES; k++) {
		to->beside[k] += more->beside[k];
		to->beside_s[k] += more->beside_s[k];
	}
}

enum sb_counter_source sb_counter_source_better(const struct sb_counter_sums sums[SB_COUNTER_SOURCES])
{
	double sampled_s = sums[SB_COUNTED_PM].covered_s;

	return sampled_s > 0 && sampled_s >= sums[SB_COUNTED_GPM].covered_s / 2 ? SB_COUNTED_PM
										: SB_COUNTED_GPM;
}

void sb_gpu_counters_from_sums(
	const struct sb_counter_sums *sums, double whole_s, const char *source, struct sb_gpu_counters *out)
{
	for (int c = 0; c < SB_COUNTERS; c++)
		out->percent[c] = sums->known_s[c] > 0 ? sums->weighted[c] / sums->known_s[c] : NAN;
	for (int i = 0; i < SB_BESIDES; i++)
		out->beside[i] = sums->beside_s[i] > 0 ? sums->beside[i] / sums->beside_s[i] : NAN;
	for (int i = 0; i < SB_BOUNDS; i++)
		out->bound_s[i] = sums->bound_s[i];
	out->covered_s = sums->covered_s;
	out->covered_ratio = sums->covered_s > 0 && whole_s > 0 ? fmin(sums->covered_s / whole_s, 1) : NAN;
	out->source = sums->covered_s > 0 ? source : NULL;
}

SB_FIELD_WHEN(any_counters, sb_gpu_counters, it->source != NULL)

static const char *const sources[] = { "gpm", "pm sampling", SB_NAMES_END };

static const struct sb_field sb_gpu_counters_fields_rows[] = {
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_SM], "sm_active_percent", SB_KNOWN,
		"share of time in which an SM had work, mean of all SMs"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_OCCUPANCY], "occupancy_percent", SB_KNOWN,
		"warps on the SMs, of the most that fit"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_TENSOR], "tensor_active_percent", SB_KNOWN,
		"use of the tensor cores"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_TENSOR_FLOAT], "tensor_float_percent", SB_KNOWN,
		"use of the tensor cores by floats of 16 bits or fewer"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_TENSOR_INTEGER], "tensor_integer_percent", SB_KNOWN,
		"use of the tensor cores by integers"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_FP32], "fp32_active_percent", SB_KNOWN,
		"use of the FP32 pipes"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_FP64], "fp64_active_percent", SB_KNOWN,
		"use of the FP64 pipes"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_FP16], "fp16_active_percent", SB_KNOWN,
		"use of the FP16 pipes, the tensor cores left out"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_INTEGER], "integer_active_percent", SB_KNOWN,
		"use of the integer pipes, the tensor cores left out"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_DRAM], "dram_active_percent", SB_KNOWN,
		"use of the memory's bandwidth"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_DRAM_READ], "dram_read_percent", SB_KNOWN,
		"use of the memory's bandwidth by reads"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_DRAM_WRITE], "dram_write_percent", SB_KNOWN,
		"use of the memory's bandwidth by writes"),
	SB_FIELD(sb_gpu_counters, percent[SB_COUNTER_NVDEC], "nvdec_active_percent", SB_KNOWN,
		"use of the busiest video decoder"),
	SB_FIELD(sb_gpu_counters, beside[SB_BESIDE_UTILIZATION], "utilization_percent", SB_KNOWN,
		"share of time in which a kernel ran, whatever it used; of the run of all samples, as in "
		"gpu_metrics"),
	SB_FIELD(sb_gpu_counters, beside[SB_BESIDE_PCIE_RX], "pcie_rx_gb_per_s", SB_KNOWN,
		"received over PCIe"),
	SB_FIELD(sb_gpu_counters, beside[SB_BESIDE_PCIE_TX], "pcie_tx_gb_per_s", SB_KNOWN, "sent over PCIe"),
	SB_FIELD(sb_gpu_counters, beside[SB_BESIDE_NVLINK_RX], "nvlink_rx_gb_per_s", SB_KNOWN,
		"received over NVLink"),
	SB_FIELD(sb_gpu_counters, beside[SB_BESIDE_NVLINK_TX], "nvlink_tx_gb_per_s", SB_KNOWN,
		"sent over NVLink"),
	SB_FIELD(sb_gpu_counters, beside[SB_BESIDE_DRAM], "dram_gb_per_s", SB_KNOWN,
		"read from and written to the memory, where that was sampled"),
	SB_FIELD(sb_gpu_counters, covered_ratio, "covered_ratio", SB_KNOWN,
		"share of the time in readings in which the GPU was at nothing else", .range = SB_SHARE),
	SB_FIELD_NAMED(sb_gpu_counters, source, "source", SB_KNOWN, sources,
		"gpm: the driver's means over its interval; pm sampling: --gpu-counters"),
};
SB_FIELDS(sb_gpu_counters_fields, sb_gpu_counters, "GpuCounters",
	"What parts of the GPU did, in percent of their peak; of several that the run used the busiest.",
	.present = any_counters);
