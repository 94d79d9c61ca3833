/* Sampled counters, key by key. */
#include "analyze/model_pm_samples.h"

static const struct sb_field family_rows[] = {
	SB_FIELD(sb_pm_family, family, "family", SB_ALWAYS, "as in kernel_families"),
	SB_FIELD(sb_pm_family, kind, "kind", SB_KNOWN, "which of the family"),
	SB_FIELD(sb_pm_family, precision, "precision", SB_KNOWN, "precision of what is multiplied"),
	SB_FIELD(sb_pm_family, total_s, "total_s", SB_ALWAYS, "time of its kernels while traced"),
	SB_FIELD_STRUCT(sb_pm_family, counters, "gpu_counters", SB_KNOWN, sb_gpu_counters_fields,
		"of the samples that lie wholly inside its kernels; covered_ratio: their part of total_s"),
};
static SB_FIELDS(family, sb_pm_family, "SampledFamily", "What the GPU did in kernels of one family.");

SB_FIELD_WHEN(any_samples, sb_pm_samples_panel, it->present)

static const char *const clocks[] = { "as usual", "held", SB_NAMES_END };

static const struct sb_field sb_pm_samples_fields_rows[] = {
	SB_FIELD(sb_pm_samples_panel, t_s, "t_s", SB_KNOWN, "when the sampling began"),
	SB_FIELD(sb_pm_samples_panel, duration_s, "duration_s", SB_KNOWN, "until it ended for the last time"),
	SB_FIELD(sb_pm_samples_panel, sampled_s, "sampled_s", SB_KNOWN,
		"part of duration_s in which it sampled"),
	SB_FIELD(sb_pm_samples_panel, sample_count, "sample_count", SB_ALWAYS, "samples, of all GPUs"),
	SB_FIELD(sb_pm_samples_panel, lost_count, "lost_count", SB_ALWAYS, "samples that were lost"),
	SB_FIELD(sb_pm_samples_panel, interval_s, "interval_s", SB_KNOWN, "mean length of a sample"),
	SB_FIELD_STRUCT(sb_pm_samples_panel, counters, "gpu_counters", SB_KNOWN, sb_gpu_counters_fields,
		"means of all samples of the busiest GPU"),
	SB_FIELD(sb_pm_samples_panel, pcie_read_bytes_per_s, "pcie_read_bytes_per_s", SB_KNOWN,
		"what that GPU read over PCIe, mean"),
	SB_FIELD(sb_pm_samples_panel, pcie_write_bytes_per_s, "pcie_write_bytes_per_s", SB_KNOWN,
		"what it wrote"),
	SB_FIELD(sb_pm_samples_panel, sm_clock_mhz, "sm_clock_mhz", SB_KNOWN,
		"mean clock of its SMs in samples in which they had work"),
	SB_FIELD(sb_pm_samples_panel, sm_clock_elsewhere_mhz, "sm_clock_elsewhere_mhz", SB_KNOWN,
		"the same as the driver reads it, while the GPU was busy and not sampled"),
	SB_FIELD_NAMED(sb_pm_samples_panel, clocks, "clocks", SB_KNOWN, clocks,
		"held: steady, and more than 5 % off the usual: times measured meanwhile are not the usual "
		"ones"),
	SB_FIELD_LIST(sb_pm_samples_panel, families, family_count, "families", SB_KNOWN, family,
		"by kernel family, where a kernel trace ran meanwhile"),
};
SB_FIELDS(sb_pm_samples_fields, sb_pm_samples_panel, "SampledCounters",
	"Counters of the GPU sampled with --gpu-counters.", .present = any_samples,
	SB_FLAG(sb_pm_samples_panel, present));
