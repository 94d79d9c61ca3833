/* Every metric there is. docs/serve.md names each of them, docs/grafana-dashboard.json is made from it
 * (make generate): a test looks. */
#include "serve/metrics.h"

#define MIB 1048576.0
#define GAUGE "gauge"
#define COUNTER "counter"
#define HISTOGRAM "histogram"

/* clang-format off */
#define OWN(name, type, help) { name, type, help, NULL, NULL, 0, false }
#define LAST(name, type, help, source, column, factor) { name, type, help, source, column, factor, false }
#define HIGHEST(name, type, help, source, column, factor) { name, type, help, source, column, factor, true }

static const struct sb_exposed_metric table[] = {
	OWN("strobe_stage_duration_seconds", HISTOGRAM, "Time of one call of a stage, its children included."),
	OWN("strobe_stage_self_seconds_total", COUNTER, "Time in a stage, its children left out."),
	OWN("strobe_stage_gpu_span_seconds_total", COUNTER, "GPU time of a stage from event to event; may hold idle time."),
	OWN("strobe_generations_total", COUNTER, "Videos, prompts or requests that have ended."),
	OWN("strobe_iterations_total", COUNTER, "Iterations that have ended."),
	OWN("strobe_steps_total", COUNTER, "Scheduler steps that have ended."),
	OWN("strobe_blocks_total", COUNTER, "Blocks that have ended."),
	OWN("strobe_frames_total", COUNTER, "Output frames, each counted once."),
	OWN("strobe_frames_dropped_total", COUNTER, "Output frames dropped."),
	OWN("strobe_frames_streamed_total", COUNTER, "Frames sent by the stream."),
	OWN("strobe_cache_hits_total", COUNTER, "Cache hits."),
	OWN("strobe_cache_misses_total", COUNTER, "Cache misses."),
	OWN("strobe_cache_evictions_total", COUNTER, "Cache evictions."),
	OWN("strobe_recording_zones_total", COUNTER, "Zones that have ended."),
	OWN("strobe_recording_dropped_total", COUNTER, "Events lost, by reason."),
	OWN("strobe_recording_cpu_seconds_total", COUNTER, "CPU time of strobe's own threads in the recorded processes."),
	OWN("strobe_recording_bytes", GAUGE, "Size of the recording."),
	OWN("strobe_run_attributed_seconds_total", COUNTER, "Time that the main threads spent in stages that have ended."),
	OWN("strobe_run_start_time_seconds", GAUGE, "When the run began, since 1970."),
	OWN("strobe_run_seen_time_seconds", GAUGE, "When its processes were last known to be alive, since 1970."),
	OWN("strobe_run_processes", GAUGE, "Processes that record or have recorded."),
	OWN("strobe_run_live", GAUGE, "1 while the run records."),
	OWN("strobe_run_readable", GAUGE, "0 where a recording of the run could not be read."),
	OWN("strobe_run_info", GAUGE, "Which run this is: its name and host."),
	OWN("strobe_runs_live", GAUGE, "Runs that record."),
	OWN("strobe_runs_listed", GAUGE, "Runs found."),
	OWN("strobe_stages_left_out", GAUGE, "Stages that are counted under stage \"(other)\"."),

	LAST("strobe_gpu_memory_used_bytes", GAUGE, "GPU memory in use.", "gpu", "memory_used_mb", MIB),
	HIGHEST("strobe_gpu_memory_peak_bytes", GAUGE, "Highest GPU memory in use so far.", "gpu", "memory_used_mb", MIB),
	LAST("strobe_gpu_memory_total_bytes", GAUGE, "Total GPU memory.", "gpu", "memory_total_mb", MIB),
	LAST("strobe_gpu_process_memory_bytes", GAUGE, "GPU memory of the run's processes.", "gpu", "process_memory_mb", MIB),
	LAST("strobe_gpu_utilization_ratio", GAUGE, "Share of time in which a kernel ran.", "gpu", "utilization_percent", 0.01),
	LAST("strobe_gpu_memory_utilization_ratio", GAUGE, "Share of time in which memory was read or written.", "gpu", "memory_utilization_percent", 0.01),
	LAST("strobe_gpu_encoder_utilization_ratio", GAUGE, "Use of the video encoder.", "gpu", "encoder_percent", 0.01),
	LAST("strobe_gpu_decoder_utilization_ratio", GAUGE, "Use of the video decoder.", "gpu", "decoder_percent", 0.01),
	LAST("strobe_gpu_temperature_celsius", GAUGE, "Temperature.", "gpu", "temperature_c", 1),
	LAST("strobe_gpu_power_watts", GAUGE, "Power drawn.", "gpu", "power_w", 1),
	LAST("strobe_gpu_energy_joules_total", COUNTER, "Energy used since the run began.", "gpu", "energy_j", 1),
	LAST("strobe_gpu_sm_clock_hertz", GAUGE, "Clock of the multiprocessors.", "gpu", "sm_clock_mhz", 1e6),
	LAST("strobe_gpu_memory_clock_hertz", GAUGE, "Clock of the memory.", "gpu", "memory_clock_mhz", 1e6),
	LAST("strobe_gpu_throttle_bits", GAUGE, "Reasons why clocks are held back, as bits; 0: none.", "gpu", "throttle_bits_count", 1),
	LAST("strobe_gpu_other_processes", GAUGE, "Processes on the GPU that are not the run's.", "gpu", "other_process_count", 1),
	LAST("strobe_gpu_others_utilization_ratio", GAUGE, "Share of time in which processes that are not the run's kept it busy.", "gpu", "others_utilization_percent", 0.01),
	LAST("strobe_gpu_pcie_tx_bytes_per_second", GAUGE, "Sent over PCIe.", "gpu", "pcie_tx_gb_per_s", 1e9),
	LAST("strobe_gpu_pcie_rx_bytes_per_second", GAUGE, "Received over PCIe.", "gpu", "pcie_rx_gb_per_s", 1e9),
	LAST("strobe_gpu_nvlink_tx_bytes_per_second", GAUGE, "Sent over NVLink.", "gpu", "nvlink_tx_gb_per_s", 1e9),
	LAST("strobe_gpu_nvlink_rx_bytes_per_second", GAUGE, "Received over NVLink.", "gpu", "nvlink_rx_gb_per_s", 1e9),
	LAST("strobe_gpu_sm_active_ratio", GAUGE, "Share of time in which an SM had work, mean of all SMs.", "gpu_counters", "sm_active_percent", 0.01),
	LAST("strobe_gpu_occupancy_ratio", GAUGE, "Warps on the SMs, of what fits.", "gpu_counters", "occupancy_percent", 0.01),
	LAST("strobe_gpu_tensor_active_ratio", GAUGE, "Use of the tensor cores.", "gpu_counters", "tensor_active_percent", 0.01),
	LAST("strobe_gpu_tensor_float_ratio", GAUGE, "Use of the tensor cores by 16-bit floats and narrower ones.", "gpu_counters", "tensor_float_percent", 0.01),
	LAST("strobe_gpu_tensor_integer_ratio", GAUGE, "Use of the tensor cores by integers.", "gpu_counters", "tensor_integer_percent", 0.01),
	LAST("strobe_gpu_fp32_active_ratio", GAUGE, "Use of the FP32 pipes.", "gpu_counters", "fp32_active_percent", 0.01),
	LAST("strobe_gpu_fp64_active_ratio", GAUGE, "Use of the FP64 pipes.", "gpu_counters", "fp64_active_percent", 0.01),
	LAST("strobe_gpu_fp16_active_ratio", GAUGE, "Use of the FP16 pipes, tensor cores left out.", "gpu_counters", "fp16_active_percent", 0.01),
	LAST("strobe_gpu_integer_active_ratio", GAUGE, "Use of the integer pipes.", "gpu_counters", "integer_active_percent", 0.01),
	LAST("strobe_gpu_nvdec_active_ratio", GAUGE, "Use of the busiest video decoder.", "gpu_counters", "nvdec_active_percent", 0.01),
	LAST("strobe_gpu_dram_active_ratio", GAUGE, "Use of the memory's bandwidth.", "gpu_counters", "dram_active_percent", 0.01),
	LAST("strobe_cpu_usage_ratio", GAUGE, "Use of the machine's CPU; 1 is all cores.", "cpu", "usage_percent", 0.01),
	LAST("strobe_cpu_process_ratio", GAUGE, "CPU of the run's processes; 1 is one core.", "cpu", "process_percent", 0.01),
	LAST("strobe_cpu_frequency_hertz", GAUGE, "Clock of the cores.", "cpu", "frequency_mhz", 1e6),
	LAST("strobe_cpu_load1", GAUGE, "Load average over 1 minute.", "cpu", "load1_count", 1),
	LAST("strobe_cpu_load5", GAUGE, "Load average over 5 minutes.", "cpu", "load5_count", 1),
	LAST("strobe_cpu_load15", GAUGE, "Load average over 15 minutes.", "cpu", "load15_count", 1),
	LAST("strobe_cpu_core_usage_ratio", GAUGE, "Use of one core.", "cpu_core", NULL, 0.01),
	LAST("strobe_memory_total_bytes", GAUGE, "Total RAM.", "memory", "total_mb", MIB),
	LAST("strobe_memory_used_bytes", GAUGE, "RAM in use.", "memory", "used_mb", MIB),
	HIGHEST("strobe_memory_peak_bytes", GAUGE, "Highest RAM in use so far.", "memory", "used_mb", MIB),
	LAST("strobe_memory_available_bytes", GAUGE, "RAM that programs can still get.", "memory", "available_mb", MIB),
	LAST("strobe_memory_swap_used_bytes", GAUGE, "Swap in use.", "memory", "swap_used_mb", MIB),
	LAST("strobe_memory_page_cache_bytes", GAUGE, "RAM that holds files.", "memory", "page_cache_mb", MIB),
	LAST("strobe_memory_limit_bytes", GAUGE, "What the control group may use.", "memory", "limit_mb", MIB),
	LAST("strobe_memory_group_used_bytes", GAUGE, "What the control group uses.", "memory", "group_used_mb", MIB),
	LAST("strobe_process_rss_bytes", GAUGE, "RAM of the run's processes, shared pages in each.", "process", "rss_mb", MIB),
	HIGHEST("strobe_process_rss_peak_bytes", GAUGE, "Highest RAM of the run's processes so far.", "process", "rss_mb", MIB),
	LAST("strobe_process_pss_bytes", GAUGE, "RAM of the run's processes, shared pages once.", "process", "pss_mb", MIB),
	LAST("strobe_process_anon_bytes", GAUGE, "RAM of the run's processes that no file is behind.", "process", "anon_mb", MIB),
	LAST("strobe_process_file_bytes", GAUGE, "RAM of the run's processes that holds files.", "process", "file_mb", MIB),
	LAST("strobe_process_shared_bytes", GAUGE, "RAM of the run's processes in shared memory.", "process", "shared_mb", MIB),
	LAST("strobe_process_pinned_bytes", GAUGE, "RAM of the run's processes that is locked or pinned.", "process", "pinned_mb", MIB),
	LAST("strobe_process_open_files", GAUGE, "Open files of the run's processes.", "process", "open_file_count", 1),
	LAST("strobe_process_processes", GAUGE, "Processes of the run.", "process", "process_count", 1),
	LAST("strobe_process_threads", GAUGE, "Threads of the run.", "process", "thread_count", 1),
	LAST("strobe_disk_read_bytes_total", COUNTER, "Read by the run's processes.", "disk", "read_bytes", 1),
	LAST("strobe_disk_write_bytes_total", COUNTER, "Written by the run's processes.", "disk", "write_bytes", 1),
	LAST("strobe_disk_machine_read_bytes_total", COUNTER, "Read by the machine.", "disk", "machine_read_bytes", 1),
	LAST("strobe_disk_machine_write_bytes_total", COUNTER, "Written by the machine.", "disk", "machine_write_bytes", 1),
	LAST("strobe_pressure_cpu_ratio", GAUGE, "Share of time in which something waited for a CPU.", "psi", "cpu_percent", 0.01),
	LAST("strobe_pressure_memory_ratio", GAUGE, "Share of time in which something waited for memory.", "psi", "memory_percent", 0.01),
	LAST("strobe_pressure_io_ratio", GAUGE, "Share of time in which something waited for input or output.", "psi", "io_percent", 0.01),
};
/* clang-format on */

const struct sb_exposed_metric *sb_metrics_table(size_t *out_count)
{
	*out_count = sizeof table / sizeof *table;
	return table;
}
