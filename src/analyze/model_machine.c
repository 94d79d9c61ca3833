/* What the machine did, key by key: the tables of model_machine.h. */
#include "analyze/model_machine.h"

#include <math.h>

/* ---- gpu_metrics --------------------------------------------------------- */

static const struct sb_field device_rows[] = {
	SB_FIELD(sb_device, index, "index", SB_ALWAYS, "the driver's number"),
	SB_FIELD(sb_device, name, "name", SB_KNOWN, "as the driver calls it"),
	SB_FIELD(sb_device, uuid, "uuid", SB_KNOWN, "tells it from every other GPU"),
	SB_FIELD(sb_device, used, "used", SB_ALWAYS, "it did something for this run"),
	SB_FIELD(sb_device, sample_count, "sample_count", SB_ALWAYS, "samples, before they were thinned"),
	SB_FIELD(sb_device, memory_total_mb, "memory_total_mb", SB_KNOWN, "memory it has"),
	SB_FIELD(sb_device, memory_used_mb.min, "memory_used_min_mb", SB_KNOWN,
		"lowest memory use of all processes"),
	SB_FIELD(sb_device, memory_used_mb.mean, "memory_used_mean_mb", SB_KNOWN,
		"mean memory use of all processes"),
	SB_FIELD(sb_device, memory_used_mb.max, "memory_used_max_mb", SB_KNOWN,
		"highest memory use of all processes"),
	SB_FIELD(sb_device, utilization_percent.min, "utilization_min_percent", SB_KNOWN, "lowest one"),
	SB_FIELD(sb_device, utilization_percent.mean, "utilization_mean_percent", SB_KNOWN,
		"mean utilization"),
	SB_FIELD(sb_device, utilization_percent.max, "utilization_max_percent", SB_KNOWN,
		"highest utilization"),
	SB_FIELD(sb_device, memory_utilization_percent.mean, "memory_utilization_mean_percent", SB_KNOWN,
		"time in which memory was read or written, mean"),
	SB_FIELD(sb_device, memory_utilization_percent.max, "memory_utilization_max_percent", SB_KNOWN,
		"time in which memory was read or written, highest"),
	SB_FIELD(sb_device, temperature_c.mean, "temperature_mean_c", SB_KNOWN, "mean temperature",
		.range = SB_SIGNED),
	SB_FIELD(sb_device, temperature_c.max, "temperature_max_c", SB_KNOWN, "highest temperature",
		.range = SB_SIGNED),
	SB_FIELD(sb_device, power_w.mean, "power_mean_w", SB_KNOWN, "mean power"),
	SB_FIELD(sb_device, busy_power_mean_w, "power_working_mean_w", SB_KNOWN,
		"mean power of the samples in which it worked (utilization of 10 % or more)"),
	SB_FIELD(sb_device, power_w.max, "power_max_w", SB_KNOWN, "highest power"),
	SB_FIELD(sb_device, sm_clock_mhz.min, "sm_clock_min_mhz", SB_KNOWN, "lowest clock of the processors"),
	SB_FIELD(sb_device, sm_clock_mhz.mean, "sm_clock_mean_mhz", SB_KNOWN, "mean clock of the processors"),
	SB_FIELD(sb_device, busy_clock_mean_mhz, "sm_clock_working_mean_mhz", SB_KNOWN,
		"mean clock of the processors in the samples in which it worked"),
	SB_FIELD(
		sb_device, sm_clock_mhz.max, "sm_clock_max_mhz", SB_KNOWN, "highest clock of the processors"),
	SB_FIELD(sb_device, memory_clock_mhz.mean, "memory_clock_mean_mhz", SB_KNOWN,
		"mean clock of the memory"),
	SB_FIELD(sb_device, memory_clock_mhz.max, "memory_clock_max_mhz", SB_KNOWN,
		"highest clock of the memory"),
	SB_FIELD(sb_device, encoder_percent.mean, "encoder_mean_percent", SB_KNOWN,
		"mean use of the video encoder"),
	SB_FIELD(sb_device, encoder_percent.max, "encoder_max_percent", SB_KNOWN,
		"highest use of the video encoder"),
	SB_FIELD(sb_device, decoder_percent.mean, "decoder_mean_percent", SB_KNOWN,
		"mean use of the video decoder"),
	SB_FIELD(sb_device, decoder_percent.max, "decoder_max_percent", SB_KNOWN,
		"highest use of the video decoder"),
	SB_FIELD(sb_device, pcie_tx_gb_per_s.mean, "pcie_tx_mean_gb_per_s", SB_KNOWN, "sent over PCIe, mean"),
	SB_FIELD(
		sb_device, pcie_tx_gb_per_s.max, "pcie_tx_max_gb_per_s", SB_KNOWN, "sent over PCIe, highest"),
	SB_FIELD(sb_device, pcie_rx_gb_per_s.mean, "pcie_rx_mean_gb_per_s", SB_KNOWN,
		"received over PCIe, mean"),
	SB_FIELD(sb_device, pcie_rx_gb_per_s.max, "pcie_rx_max_gb_per_s", SB_KNOWN,
		"received over PCIe, highest"),
	SB_FIELD(sb_device, nvlink_tx_gb_per_s.mean, "nvlink_tx_mean_gb_per_s", SB_KNOWN,
		"sent over NVLink, mean"),
	SB_FIELD(sb_device, nvlink_tx_gb_per_s.max, "nvlink_tx_max_gb_per_s", SB_KNOWN,
		"sent over NVLink, highest"),
	SB_FIELD(sb_device, nvlink_rx_gb_per_s.mean, "nvlink_rx_mean_gb_per_s", SB_KNOWN,
		"received over NVLink, mean"),
	SB_FIELD(sb_device, nvlink_rx_gb_per_s.max, "nvlink_rx_max_gb_per_s", SB_KNOWN,
		"received over NVLink, highest"),
	SB_FIELD(sb_device, process_memory_mb.mean, "process_memory_mean_mb", SB_KNOWN,
		"memory of this run's processes, mean"),
	SB_FIELD(sb_device, process_memory_mb.max, "process_memory_max_mb", SB_KNOWN,
		"memory of this run's processes, highest"),
	SB_FIELD(sb_device, other_processes.max, "other_process_max_count", SB_KNOWN,
		"processes of others on the GPU, at most"),
	SB_FIELD(sb_device, others_utilization_percent.mean, "others_utilization_mean_percent", SB_KNOWN,
		"share of the time in which these kept it busy, mean"),
	SB_FIELD(sb_device, others_utilization_percent.max, "others_utilization_max_percent", SB_KNOWN,
		"share of the time in which these kept it busy, highest"),
	SB_FIELD(sb_device, energy_wh, "energy_wh", SB_KNOWN, "energy that it used in the run"),
	SB_FIELD(sb_device, cost, "gpu_cost", SB_KNOWN,
		"cost of its time, in the currency of gpu_cost_per_hour"),
	SB_FIELD(sb_device, throttled_ratio, "throttled_ratio", SB_KNOWN,
		"share of the samples with work in which a fault held it back (heat, slowdown, power brake)",
		.range = SB_SHARE),
	SB_FIELD(sb_device, capped_ratio, "power_capped_ratio", SB_KNOWN,
		"share of the samples with work at its power limit or in step with other GPUs: its speed "
		"under load, no fault",
		.range = SB_SHARE),
	SB_FIELD_ARRAY(sb_device, throttle_reasons, throttle_reason_count, "throttle_reasons", SB_KNOWN,
		"what held it back"),
	SB_FIELD(sb_device, series, "series", SB_KNOWN, "its samples"),
	SB_FIELD(sb_device, counters, "counters", SB_KNOWN,
		"what its parts did, each row since the one before; absent: not counted"),
	SB_FIELD(sb_device, sampled, "sampled", SB_KNOWN,
		"the same sampled every half millisecond, with --gpu-counters; a row may be the mean of "
		"several; one without values ends a gap"),
};
static SB_FIELDS(device, sb_device, "GpuDevice", "A GPU as sampled.");

static uint64_t of_run(const struct sb_touched_devices *t)
{
	return t->zones | t->work | t->memory;
}

bool sb_device_is_of_run(const struct sb_touched_devices *t, int number)
{
	return !of_run(t) || (number >= 0 && number < 64 && of_run(t) >> number & 1);
}

uint64_t sb_devices_of_zone(const struct sb_touched_devices *t, uint64_t named)
{
	return named ? named | (t->work & ~t->zones) : of_run(t);
}

SB_FIELD_WHEN(any_devices, sb_devices_panel, it->count > 0)

static const struct sb_field sb_devices_fields_rows[] = {
	SB_FIELD(sb_devices_panel, count, "device_count", SB_ALWAYS, "GPUs that were sampled"),
	SB_FIELD(sb_devices_panel, energy_wh, "energy_wh", SB_KNOWN,
		"energy of the GPUs that the run used, over the whole run; of all where nothing tells"),
	SB_FIELD(sb_devices_panel, cost, "gpu_cost", SB_KNOWN,
		"cost of the whole run, in the currency of gpu_cost_per_hour"),
	SB_FIELD_LIST(sb_devices_panel, all, count, "devices", SB_ALWAYS, device, "every GPU, by its number"),
};
SB_FIELDS(sb_devices_fields, sb_devices_panel, "GpuMetrics", "What the GPU monitor sampled.",
	.present = any_devices);

/* ---- cpu_metrics, disk_metrics, other_metrics ----------------------------- */

SB_FIELD_WHEN(any_cpu, sb_cpu_panel, it->series || it->cores || it->process || it->pressure)

static const struct sb_field sb_cpu_fields_rows[] = {
	SB_FIELD(sb_cpu_panel, sample_count, "sample_count", SB_KNOWN, "samples, before they were thinned"),
	SB_FIELD(sb_cpu_panel, usage_percent.min, "usage_min_percent", SB_KNOWN,
		"lowest use of the machine's CPUs"),
	SB_FIELD(sb_cpu_panel, usage_percent.mean, "usage_mean_percent", SB_KNOWN,
		"mean use of the machine's CPUs"),
	SB_FIELD(sb_cpu_panel, usage_percent.max, "usage_max_percent", SB_KNOWN,
		"highest use of the machine's CPUs"),
	SB_FIELD(sb_cpu_panel, process_percent.mean, "process_mean_percent", SB_KNOWN,
		"use by the run, mean; 100: one core"),
	SB_FIELD(sb_cpu_panel, process_percent.max, "process_max_percent", SB_KNOWN,
		"use by the run, highest"),
	SB_FIELD(sb_cpu_panel, frequency_mhz.mean, "frequency_mean_mhz", SB_KNOWN, "mean clock"),
	SB_FIELD(sb_cpu_panel, frequency_mhz.max, "frequency_max_mhz", SB_KNOWN, "highest clock"),
	SB_FIELD(sb_cpu_panel, load1.mean, "load1_mean_count", SB_KNOWN, "load average of one minute, mean"),
	SB_FIELD(sb_cpu_panel, load1.max, "load1_max_count", SB_KNOWN, "load average of one minute, highest"),
	SB_FIELD(sb_cpu_panel, series, "series", SB_KNOWN, "samples of the machine"),
	SB_FIELD(sb_cpu_panel, core_count, "core_count", SB_KNOWN, "cores that were sampled"),
	SB_FIELD(sb_cpu_panel, cores, "cores", SB_KNOWN, "use of each core"),
	SB_FIELD(sb_cpu_panel, rss_mb.mean, "rss_mean_mb", SB_KNOWN,
		"resident memory of the run's processes, mean"),
	SB_FIELD(sb_cpu_panel, rss_mb.max, "rss_max_mb", SB_KNOWN,
		"resident memory of the run's processes, highest"),
	SB_FIELD(sb_cpu_panel, pss_mb.mean, "pss_mean_mb", SB_KNOWN,
		"the same, shared pages counted once, mean"),
	SB_FIELD(sb_cpu_panel, pss_mb.max, "pss_max_mb", SB_KNOWN,
		"the same, shared pages counted once, highest"),
	SB_FIELD(sb_cpu_panel, processes.max, "process_max_count", SB_KNOWN, "processes of the run, at most"),
	SB_FIELD(sb_cpu_panel, threads.max, "thread_max_count", SB_KNOWN, "threads of the run, at most"),
	SB_FIELD(sb_cpu_panel, process, "process", SB_KNOWN, "samples of the run's processes"),
	SB_FIELD(sb_cpu_panel, pressure, "pressure", SB_KNOWN,
		"time in which something waited for CPU, memory, disk"),
};
SB_FIELDS(sb_cpu_fields, sb_cpu_panel, "CpuMetrics", "What the CPU and process monitors sampled.",
	.present = any_cpu);

SB_FIELD_WHEN(any_disk, sb_disk_panel, it->present)

static const struct sb_field sb_disk_fields_rows[] = {
	SB_FIELD(sb_disk_panel, read_bytes, "read_bytes", SB_KNOWN, "read by the run's processes"),
	SB_FIELD(sb_disk_panel, write_bytes, "write_bytes", SB_KNOWN, "written by the run's processes"),
	SB_FIELD(sb_disk_panel, machine_read_bytes, "machine_read_bytes", SB_KNOWN,
		"read by the whole machine"),
	SB_FIELD(sb_disk_panel, machine_write_bytes, "machine_write_bytes", SB_KNOWN,
		"written by the whole machine"),
	SB_FIELD(sb_disk_panel, read_gb_per_s, "read_mean_gb_per_s", SB_KNOWN,
		"over the sampled time; 1 GB is 10^9 bytes"),
	SB_FIELD(sb_disk_panel, write_gb_per_s, "write_mean_gb_per_s", SB_KNOWN, "over the sampled time"),
	SB_FIELD(sb_disk_panel, read_max_gb_per_s, "read_max_gb_per_s", SB_KNOWN,
		"the best interval between two samples"),
	SB_FIELD(sb_disk_panel, write_max_gb_per_s, "write_max_gb_per_s", SB_KNOWN,
		"the best interval between two samples"),
	SB_FIELD(sb_disk_panel, series, "series", SB_KNOWN, "rates over time"),
};
SB_FIELDS(sb_disk_fields, sb_disk_panel, "DiskMetrics", "What the disk monitor sampled.", .present = any_disk,
	SB_FLAG(sb_disk_panel, present));

static const struct sb_field sb_other_fields_rows[] = {
	SB_FIELD(sb_other, source, "source", SB_ALWAYS, "the monitor's name"),
	SB_FIELD(sb_other, device, "device_index", SB_KNOWN, "which of several"),
	SB_FIELD(sb_other, sample_count, "sample_count", SB_ALWAYS, "samples, before they were thinned"),
	SB_FIELD(sb_other, series, "series", SB_KNOWN, "its samples"),
};
SB_FIELDS(sb_other_fields, sb_other, "OtherMetrics", "Samples of a monitor without a panel of its own.");

static const char *const chart_sources[] = { "gpu", "cpu", "disk", "process", SB_NAMES_END };
static const struct sb_field sb_first_chart_fields_rows[] = {
	SB_FIELD_NAMED(sb_first_chart, source, "source", SB_ALWAYS, chart_sources, "the monitor's name"),
	SB_FIELD(sb_first_chart, device, "device_index", SB_KNOWN, "which GPU"),
	SB_FIELD_ARRAY(sb_first_chart, columns, column_count, "columns", SB_ALWAYS, "of its series"),
};
SB_FIELDS(sb_first_chart_fields, sb_first_chart, "FirstChart", "Samples that most readers look for first.");

static const char *const chart_kinds[] = { "none", "own", SB_NAMES_END };
static const struct sb_field sb_chart_column_fields_rows[] = {
	SB_FIELD(sb_chart_column, source, "source", SB_ALWAYS, "the monitor's name"),
	SB_FIELD(sb_chart_column, device, "device_index", SB_KNOWN, "which of several"),
	SB_FIELD(sb_chart_column, column, "column", SB_ALWAYS, "of its series"),
	SB_FIELD_NAMED(sb_chart_column, chart, "chart", SB_ALWAYS, chart_kinds,
		"none: it is not drawn; own: in a chart of its own"),
	SB_FIELD(sb_chart_column, label, "label", SB_KNOWN, "what it is called there"),
};
SB_FIELDS(sb_chart_column_fields, sb_chart_column, "ChartColumn",
	"A column that does not share a chart with the others of its unit.");

/* ---- gpu_trace ----------------------------------------------------------- */

static const struct sb_field row_rows[] = {
	SB_FIELD(sb_gpu_row, name, "name", SB_ALWAYS, "of the kernel, the kind or the zone"),
	SB_FIELD(sb_gpu_row, short_name, "short_name", SB_KNOWN,
		"of a kernel of C++: what it is and which operation"),
	SB_FIELD(sb_gpu_row, count, "count", SB_ALWAYS, "how many"),
	SB_FIELD(sb_gpu_row, total_s, "total_s", SB_ALWAYS, "their time added up"),
	SB_FIELD(sb_gpu_row, mean_s, "mean_s", SB_KNOWN, "mean time of one"),
	SB_FIELD(sb_gpu_row, min_s, "min_s", SB_KNOWN, "the shortest"),
	SB_FIELD(sb_gpu_row, max_s, "max_s", SB_KNOWN, "the longest"),
	SB_FIELD(sb_gpu_row, ratio, "share_ratio", SB_KNOWN,
		"share of the time of all kernels, of the busy time or of the idle time"),
	SB_FIELD(sb_gpu_row, bytes, "bytes", SB_KNOWN, "copied"),
	SB_FIELD(sb_gpu_row, gb_per_s, "gb_per_s", SB_KNOWN, "bytes over total_s; 1 GB is 10^9 bytes"),
	SB_FIELD(sb_gpu_row, family, "family", SB_KNOWN, "what a kernel does, by its name: \"GEMM\""),
	SB_FIELD(sb_gpu_row, kind, "kind", SB_KNOWN, "how it does it: \"flash 2\""),
	SB_FIELD(sb_gpu_row, precision, "precision", SB_KNOWN, "in which numbers: \"bf16\""),
};
static SB_FIELDS(row, sb_gpu_row, "GpuRow", "Kernels, copies or gaps with something in common.");

static const struct sb_field traced_rows[] = {
	SB_FIELD(sb_gpu_traced, pid, "pid", SB_ALWAYS, "the process"),
	SB_FIELD(sb_gpu_traced, t_s, "t_s", SB_ALWAYS, "when it began", .range = SB_SIGNED),
	SB_FIELD(sb_gpu_traced, duration_s, "duration_s", SB_ALWAYS, "how long it was"),
};
static SB_FIELDS(traced, sb_gpu_traced, "GpuTraced", "One of strobe's own GPU traces.");

static const struct sb_field gpu_device_rows[] = {
	SB_FIELD(sb_gpu_device, device, "device_index", SB_ALWAYS, "which GPU"),
	SB_FIELD(sb_gpu_device, pid, "pid", SB_ALWAYS, "the process that used it"),
	SB_FIELD(sb_gpu_device, t_s, "t_s", SB_ALWAYS, "its first work", .range = SB_SIGNED),
	SB_FIELD(sb_gpu_device, window_s, "window_s", SB_ALWAYS, "from its first work to its last"),
	SB_FIELD(sb_gpu_device, busy_s, "busy_s", SB_ALWAYS, "time with work"),
	SB_FIELD(sb_gpu_device, idle_s, "idle_s", SB_ALWAYS, "window_s - busy_s"),
};
static SB_FIELDS(gpu_device, sb_gpu_device, "TracedDevice", "A GPU as one process used it.");

static const char *const directions[] = { "H2D", "D2H", "D2D", "P2P", "other", SB_NAMES_END };

static const struct sb_field copy_rows[] = {
	SB_FIELD_NAMED(
		sb_gpu_copy, direction, "direction", SB_ALWAYS, directions, "P2P: from one GPU to another"),
	SB_FIELD(sb_gpu_copy, memory, "memory", SB_KNOWN, "the host's side: \"pageable\", \"pinned\""),
	SB_FIELD(sb_gpu_copy, count, "count", SB_ALWAYS, "copies"),
	SB_FIELD(sb_gpu_copy, bytes, "bytes", SB_ALWAYS, "copied"),
	SB_FIELD(sb_gpu_copy, total_s, "total_s", SB_ALWAYS, "their time added up"),
	SB_FIELD(sb_gpu_copy, gb_per_s, "gb_per_s", SB_KNOWN, "bytes over total_s"),
};
static SB_FIELDS(copy, sb_gpu_copy, "GpuCopies", "Copies of one direction and kind of memory.");

SB_FIELD_WHEN(has_memsets, sb_gpu_panel, it->memset_count != 0)
SB_FIELD_WHEN(has_collectives, sb_gpu_panel, it->collective_count > 0)
SB_FIELD_WHEN(any_trace, sb_gpu_panel, it->present)

static const struct sb_field memsets_rows[] = {
	SB_FIELD(sb_gpu_panel, memset_count, "count", SB_ALWAYS, "memsets"),
	SB_FIELD(sb_gpu_panel, memset_bytes, "bytes", SB_ALWAYS, "set"),
	SB_FIELD(sb_gpu_panel, memset_total_s, "total_s", SB_ALWAYS, "their time added up"),
};
static SB_FIELDS(memsets, sb_gpu_panel, "GpuMemsets", "All memsets together.", .present = has_memsets);

static const struct sb_field wait_rows[] = {
	SB_FIELD(sb_gpu_wait, name, "name", SB_ALWAYS,
		"\"Stream Sync\", \"Event Sync\", \"Context Sync\" (the whole GPU): what was waited for"),
	SB_FIELD(sb_gpu_wait, count, "count", SB_ALWAYS, "calls"),
	SB_FIELD(sb_gpu_wait, total_s, "total_s", SB_ALWAYS, "their time added up, of all threads"),
	SB_FIELD(sb_gpu_wait, max_s, "max_s", SB_ALWAYS, "the longest"),
};
static SB_FIELDS(wait, sb_gpu_wait, "GpuWaits", "Calls of one kind in which the program waited for a GPU.");

static const struct sb_field gap_rows[] = {
	SB_FIELD(sb_gpu_gap, t_s, "t_s", SB_ALWAYS, "when it began", .range = SB_SIGNED),
	SB_FIELD(sb_gpu_gap, duration_s, "duration_s", SB_ALWAYS, "how long it was"),
	SB_FIELD(sb_gpu_gap, cpu_did, "cpu_did", SB_ALWAYS, "the zone the CPU was in"),
	SB_FIELD(sb_gpu_gap, device, "device_index", SB_ALWAYS, "which GPU"),
};
static SB_FIELDS(gap, sb_gpu_gap, "GpuGap", "A time in which a GPU had nothing to do.");

static const struct sb_field idle_function_rows[] = {
	SB_FIELD(sb_place, function, "function", SB_ALWAYS, "module and name"),
	SB_FIELD(sb_place, file, "file", SB_KNOWN, "where it is written"),
	SB_FIELD(sb_place, line, "line", SB_ALWAYS, "the line it was seen at most often"),
	SB_FIELD(sb_place, inside, "inside", SB_KNOWN,
		"the function of a library that it was in most; absent: in itself"),
	SB_FIELD(sb_place, estimate_s, "estimate_s", SB_ALWAYS, "share_ratio x idle_s: a sampled estimate"),
	SB_FIELD(sb_place, ratio, "share_ratio", SB_ALWAYS, "share of the time of the samples in gaps",
		.range = SB_SHARE),
};
static SB_FIELDS(idle_function, sb_place, "GpuIdleFunction",
	"A Python function that ran while a traced GPU had nothing to do.");

static const struct sb_field sb_gpu_fields_rows[] = {
	SB_FIELD(sb_gpu_panel, slow_only, "slow_moments_only", SB_SET,
		"all of it was kept around slow moments: it does not stand for the run, nor for a stage"),
	SB_FIELD(sb_gpu_panel, kernel_count, "kernel_count", SB_ALWAYS, "kernels"),
	SB_FIELD(sb_gpu_panel, kernel_total_s, "kernel_total_s", SB_ALWAYS, "their time added up"),
	SB_FIELD(sb_gpu_panel, busy_s, "busy_s", SB_ALWAYS,
		"time with work; added up over devices, like idle_s, window_s and kernel_busy_s"),
	SB_FIELD(sb_gpu_panel, busy_ratio, "busy_ratio", SB_KNOWN, "busy_s as a share of window_s",
		.range = SB_SHARE),
	SB_FIELD(sb_gpu_panel, kernel_busy_s, "kernel_busy_s", SB_ALWAYS, "time with a kernel"),
	SB_FIELD(sb_gpu_panel, idle_s, "idle_s", SB_ALWAYS, "window_s - busy_s"),
	SB_FIELD(sb_gpu_panel, window_s, "window_s", SB_ALWAYS, "from a device's first work to its last"),
	SB_FIELD(sb_gpu_panel, unattributed_busy_s, "unattributed_busy_s", SB_ALWAYS,
		"busy time of work launched outside every zone, or by an unknown thread"),
	SB_FIELD(sb_gpu_panel, small_kernel_ratio, "small_kernel_ratio", SB_KNOWN,
		"share of the kernels that took under 10 us"),
	SB_FIELD(sb_gpu_panel, copy_ratio, "copy_ratio", SB_KNOWN, "time of copies over window_s"),
	SB_FIELD(sb_gpu_panel, overlap_ratio, "overlap_ratio", SB_KNOWN,
		"share of the busy time in which the launching thread was not waiting"),
	SB_FIELD(sb_gpu_panel, launch_ahead_s, "launch_ahead_s", SB_KNOWN,
		"mean time from launch to start of a kernel"),
	SB_FIELD(sb_gpu_panel, launch_interval_s, "launch_interval_s", SB_KNOWN,
		"median time from one launch to the next of the same thread: what Python needs for one "
		"launch"),
	SB_FIELD(sb_gpu_panel, launch_queue_count, "launch_queue_count", SB_KNOWN,
		"kernels launched and not yet begun, mean over time of one device"),
	SB_FIELD(sb_gpu_panel, communication_s, "communication_s", SB_ALWAYS, "time of collectives' kernels",
		.when = has_collectives),
	SB_FIELD(sb_gpu_panel, exposed_communication_s, "exposed_communication_s", SB_ALWAYS,
		"the part of it in which nothing was computed", .when = has_collectives),
	SB_FIELD_LIST(sb_gpu_panel, traces, trace_count, "traces", SB_KNOWN, traced,
		"when strobe traced; absent: all of the recording is traced"),
	SB_FIELD(sb_gpu_panel, buffers_most, "buffers_most_count", SB_KNOWN,
		"the most of strobe's 64 buffers that were not free at one time of a trace"),
	SB_FIELD(sb_gpu_panel, unfinished_count, "unfinished_count", SB_SET,
		"of the records without times (recording.drop_reasons, gpu_time) those that came when CUPTI "
		"gave "
		"back all it had: work that had not ended"),
	SB_FIELD_LIST(sb_gpu_panel, devices, device_count, "devices", SB_ALWAYS, gpu_device,
		"each device as one process used it; the run's time is that of one of them, not their "
		"sum"),
	SB_FIELD_LIST(sb_gpu_panel, copies, copy_count, "copies", SB_ALWAYS, copy, "copies by direction"),
	SB_FIELD_PART("memsets", memsets, "all memsets together"),
	SB_FIELD_LIST(sb_gpu_panel, waits, wait_count, "waits", SB_KNOWN, wait,
		"calls in which the program waited for a GPU, the most time first"),
	SB_FIELD_LIST(sb_gpu_panel, top_kernels, top_kernel_count, "top_kernels", SB_ALWAYS, row,
		"kernels by their time"),
	SB_FIELD_LIST(sb_gpu_panel, families, family_count, "families", SB_KNOWN, sb_kernel_share_fields,
		"all kernels by what they do; their total_s add up to kernel_total_s"),
	SB_FIELD(sb_gpu_panel, unclassified_ratio, "unclassified_ratio", SB_KNOWN,
		"share of the kernels' time in kernels whose names say nothing", .range = SB_SHARE),
	SB_FIELD_LIST(sb_gpu_panel, top_zones, top_zone_count, "top_zones", SB_KNOWN, row,
		"zones by the GPU time they launched; count: kernels, copies and memsets"),
	SB_FIELD_LIST(sb_gpu_panel, attention, attention_count, "attention", SB_KNOWN, row,
		"attention kernels by kind"),
	SB_FIELD_LIST(sb_gpu_panel, collectives, collective_count, "collectives", SB_KNOWN, row,
		"kernels of collectives by kind"),
	SB_FIELD_LIST(sb_gpu_panel, offload, offload_count, "offload", SB_KNOWN, row,
		"copies from and to the host, by zone"),
	SB_FIELD_LIST(sb_gpu_panel, idle_zones, idle_zone_count, "idle_zones", SB_KNOWN, row,
		"where the CPU was while a GPU had nothing to do; count: gaps that it spent mostly there; "
		"gaps too short to be listed are one row"),
	SB_FIELD(sb_gpu_panel, idle_sample_count, "idle_sample_count", SB_SET,
		"samples of Python stacks in gaps"),
	SB_FIELD_LIST(sb_gpu_panel, idle_functions, idle_function_count, "idle_functions", SB_KNOWN,
		idle_function, "the Python functions in these gaps, by samples; largest first, at most 8"),
	SB_FIELD(sb_gpu_panel, gap_total, "gap_count", SB_ALWAYS, "gaps, listed or not"),
	SB_FIELD_LIST(sb_gpu_panel, gaps, gap_count, "gaps", SB_KNOWN, gap, "the longest of them"),
};
SB_FIELDS(sb_gpu_fields, sb_gpu_panel, "GpuTrace", "What the GPU did, kernel by kernel.",
	.present = any_trace, SB_FLAG(sb_gpu_panel, present));
