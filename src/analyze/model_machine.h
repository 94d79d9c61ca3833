/* The report model, what the machine did: samples over time, GPUs, disk, memory, the
 * GPU trace. model.h says what absent is and who owns the memory. */
#ifndef SB_ANALYZE_MODEL_MACHINE_H
#define SB_ANALYZE_MODEL_MACHINE_H

#include "analyze/model_growth.h"
#include "analyze/model_kernels.h"
#include "analyze/model_python.h"
#include "analyze/model_residency.h"
#include "analyze/model_roofline.h"
#include "stats/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GPUs and the disk as sampled; their series are in model->series. */
struct sb_device {
	int index;
	const char *name, *uuid; /* NULL: not known */
	bool used; /* it did something for this run */
	double throttled_ratio; /* of the samples in which it worked: held back by a fault; NAN: not sampled */
	double capped_ratio; /* the same: at the power limit or in step with others, which is no fault */
	double busy_clock_mean_mhz, busy_clock_max_mhz,
		busy_power_mean_w; /* of the samples in which it worked */
	const char **throttle_reasons;
	size_t throttle_reason_count;
	double energy_wh, cost;
	double memory_total_mb;
	const struct sb_series *series;
	int64_t sample_count; /* before thinning */
	/* of every sample; their unit is the column's */
	struct sb_stats memory_used_mb, utilization_percent, memory_utilization_percent, temperature_c;
	struct sb_stats power_w, sm_clock_mhz, memory_clock_mhz, encoder_percent, decoder_percent;
	struct sb_stats pcie_tx_gb_per_s, pcie_rx_gb_per_s, nvlink_tx_gb_per_s, nvlink_rx_gb_per_s;
	struct sb_stats process_memory_mb, other_processes, others_utilization_percent;
	const struct sb_series *counters; /* NULL: not counted */
	const struct sb_series *sampled; /* counters of --gpu-counters; NULL: none */
};
/* The GPUs that the run used, a bit each by the monitors' number. */
struct sb_touched_devices {
	uint64_t zones; /* GPU zones name them: they were current */
	uint64_t work; /* of kernels, copies, allocators, whichever was current */
	uint64_t memory; /* the driver saw memory of the run's processes there */
};
/* True for every GPU where nothing tells which the run used. */
bool sb_device_is_of_run(const struct sb_touched_devices *touched, int number);
/* Those that the work of a zone can be on whose GPU spans name these; 0: any. Tensors may be on a GPU that no zone names: torch
 * computes there while another one is current. */
uint64_t sb_devices_of_zone(const struct sb_touched_devices *touched, uint64_t named);

struct sb_devices_panel {
	struct sb_touched_devices touched;
	struct sb_device *all;
	size_t count;
	double energy_wh, cost; /* of the run */
};
struct sb_cpu_panel { /* the CPU and the process tree; NULL: never sampled */
	const struct sb_series *series, *cores, *process, *pressure;
	int64_t sample_count, core_count; /* -1: not sampled */
	struct sb_stats usage_percent, process_percent, frequency_mhz, load1;
	struct sb_stats rss_mb, pss_mb, processes, threads;
};
struct sb_other_panel { /* sources without a panel of their own */
	struct sb_other {
		const char *source;
		int64_t device; /* -1: none */
		int64_t sample_count;
		const struct sb_series *series;
	} * all;
	size_t count;
};
struct sb_disk_panel {
	bool present;
	/* of the process tree, and of the machine */
	double read_bytes, write_bytes, machine_read_bytes, machine_write_bytes;
	double read_gb_per_s, write_gb_per_s; /* over the sampled time; 1 GB = 1e9 bytes */
	double read_max_gb_per_s, write_max_gb_per_s; /* the best interval between two samples */
	struct sb_series series; /* rates over time */
};

/* How samples are drawn. */
struct sb_charts_panel {
	struct sb_first_chart { /* what most readers look for first: below the timeline */
		const char *source; /* "gpu", "cpu", "disk", "process" */
		int64_t device; /* -1: none */
		const char **columns;
		size_t column_count;
	} * first;
	size_t first_count;
	struct sb_chart_column { /* does not share a chart with the others of its unit */
		const char *source;
		int64_t device; /* -1: none */
		const char *column;
		const char *chart; /* "none", "own" */
		const char *label; /* NULL: its name */
	} * columns;
	size_t column_count;
};

/* ---- memory ---- */
struct sb_memory_snapshot {
	const char *label;
	double t_s;
	int device; /* -1: host */
	const char *device_name; /* "gpu:0", "host" */
	double allocated_bytes, reserved_bytes, peak_bytes;
	const char *stage;
};
struct sb_memory_panel {
	bool present;
	struct sb_memory_snapshot *snapshots;
	size_t snapshot_count;
	int64_t snapshot_total;
	double peak_bytes, peak_t_s; /* of the device with the highest peak */
	const char *peak_stage;
	const char *peak_source; /* "allocated" (the allocator's word), "process" or "device" (sampled) */
	int peak_device;
	double tensors_peak_bytes,
		tensors_peak_t_s; /* the most that its allocator gave out, of a run's own peak; NAN: not known */
	const char *tensors_peak_stage; /* NULL: none was open */
	double peak_used_bytes; /* of a run's own peak: what the whole device held then, as in residency; NAN: not known */
	double reserved_peak_bytes, device_total_bytes;
	double fragmentation_ratio; /* 1 - allocated / reserved, at the worst snapshot */
	double fragmentation_bytes, fragmentation_reserved_bytes;
	const char *fragmentation_label; /* that snapshot's */
	double spike_bytes, spike_t_s; /* the steepest rise between two readings */
	const char *spike_stage; /* NULL: outside every stage */
	struct sb_memory_stage {
		const char *stage;
		int64_t count;
		double peak_bytes, before_bytes, after_bytes;
		double kept_bytes; /* after - before, the last occurrence with a reading on both sides */
		bool checked; /* there was one */
		bool freed; /* kept no more than 5 % of its peak, or 64 MB */
		bool holds; /* it loads weights: keeping them is its purpose */
		bool let_go; /* not freed, and gone when the generation had ended */
	} * stages;
	size_t stage_count;
	int64_t stages_generation; /* of which their peaks are, from 1, of a stage that it has; 0: of all calls, or there is one */
	struct sb_memory_allocator {
		const char *allocator;
		int64_t alloc_count, free_count;
		double allocated_bytes, freed_bytes, live_bytes, peak_bytes;
	} * allocators;
	size_t allocator_count;
	struct sb_resident_at *residents; /* see model_residency.h */
	size_t resident_count;
	struct sb_memory_line { /* of the program, and what it allocated */
		int64_t device; /* -1: the host */
		const char *file, *function, *stack; /* file NULL: before the history, or not known */
		int64_t line, peak_count, end_count;
		double peak_bytes, end_bytes; /* alive at the peak; when the snapshot was taken */
		bool by_size;
		double allocated_s; /* its last allocation before the peak; NAN: before the history */
		const char *stage; /* that was open then; NULL: none, not known */
	} * lines;
	size_t line_count; /* by device, largest at the peak first */
	struct sb_growth *growth;
	size_t growth_count;
	double ram_peak_bytes, swap_peak_bytes, page_cache_peak_bytes;
	double ram_total_bytes; /* the machine's, or the cgroup's limit where that is lower */
	bool ram_of_group; /* ram_peak_bytes and ram_total_bytes are the cgroup's */
	double rss_peak_bytes, swap_first_bytes;
	struct sb_series timeline; /* VRAM, RAM, swap, page cache side by side; count 0: none */
};

/* ---- gpu_trace ---- */
#define SB_GPU_OUTSIDE "(outside all zones)" /* the zone of what was in none */
#define SB_GPU_SHORTEST \
	"(the shortest gaps, from kernel to kernel)" /* where the CPU was in these is not known */
#define SB_GPU_LONG_GAP_NS 300000 /* a launch takes a tenth of it */

struct sb_gpu_panel {
	bool present;
	bool slow_only; /* kept around slow moments: it does not stand for the run */
	int64_t kernel_count;
	double kernel_total_s;
	double busy_ratio; /* busy_s of window_s; NAN: no window */
	double busy_s; /* kernels, copies and sets, counted once where they overlap; devices added up */
	double kernel_busy_s; /* kernels alone, the same way */
	double idle_s, window_s; /* window: from the first work to the last; busy + idle; added up too */
	struct sb_gpu_traced {
		uint32_t pid;
		double t_s, duration_s;
	} * traces; /* strobe's own, of each process in order */
	size_t trace_count;
	int64_t buffers_most; /* of CUPTI's that were not free at one time, in any trace; -1: not known */
	int64_t unfinished_count; /* records whose work had not ended when CUPTI gave back all it had */
	double traced_s; /* strobe's traces, the mean of a process; NAN: the whole recording is a trace */
	double small_kernel_ratio; /* of the kernels, those under 10 us */
	double copy_ratio; /* copies' time / window */
	double moves_idle_s; /* of idle_s, weights moved (zones of an offload); not of the report */
	double overlap_ratio; /* of busy, while the launching thread was not waiting; NAN: unknown */
	double launch_ahead_s; /* mean time from launch to start of a kernel */
	double launch_interval_s; /* from one launch to the thread's next, median; NAN: unknown */
	double launch_queue_count; /* mean number of launched, not yet started kernels of a device */
	double unattributed_busy_s; /* launched outside every zone, or by an unknown thread */
	/* by path (see sb_run_path), what was launched in a zone and the zones inside it */
	double *path_busy_s;
	double *path_read_s; /* waiting for single values from the GPU */
	double *path_copy_s; /* between host and GPU; of the zone alone */
	struct sb_path_traced {
		struct sb_traced_calls of[SB_CALL_KINDS];
	} * path_traced; /* calls in the trace, with the zones inside them */
	uint64_t *path_read_count;
	uint64_t *path_call_count; /* calls that launched something */
	uint32_t path_count;
	struct sb_kernel_share *classes; /* what path_kernels count; not of the report */
	size_t class_count;
	struct sb_path_kernels path_kernels;
	struct sb_kernel_share *families; /* of the run, largest first */
	size_t family_count;
	double unclassified_ratio; /* of the kernels' time: not recognised; NAN: no kernels */
	struct sb_gpu_copy {
		const char *direction; /* "H2D"... */
		const char *memory; /* "pageable", "pinned", NULL */
		int64_t count;
		double bytes, total_s, gb_per_s;
	} * copies;
	size_t copy_count;
	int64_t memset_count;
	double memset_bytes, memset_total_s;
	struct sb_gpu_wait { /* calls of one kind that waited for a GPU */
		const char *name;
		int64_t count;
		double total_s, max_s;
	} * waits; /* the most time first */
	size_t wait_count;
	struct sb_gpu_device { /* as one process used it */
		int device;
		uint32_t pid;
		double t_s, window_s, busy_s, idle_s; /* t: of its first work */
	} * devices; /* by process and device */
	size_t device_count, process_count;
	struct sb_gpu_row {
		const char *name;
		int64_t count;
		double total_s, busy_s, mean_s, min_s, max_s, ratio;
		double bytes, gb_per_s; /* 1 GB = 1e9 bytes; NAN: none */
		const char *family, *kind, *precision; /* of a kernel; NULL: not told */
		const char *short_name; /* of a kernel whose name is long; NULL: name is short */
	} * top_kernels, *top_zones, *attention, *collectives, *offload, *idle_zones;
	size_t top_kernel_count, top_zone_count, attention_count, collective_count, offload_count;
	size_t idle_zone_count; /* where the CPU was while the GPU had nothing to do */
	struct sb_place *
		idle_functions; /* the Python functions there, by samples; largest first, at most SB_PLACES_MAX */
	size_t idle_function_count;
	int64_t idle_sample_count;
	struct sb_gpu_gap {
		double t_s, duration_s;
		const char *cpu_did; /* the zone the CPU was in */
		int device;
	} * gaps;
	size_t gap_count;
	int64_t gap_total;
	double long_gaps_s; /* of gaps in which ten kernels would be launched; not of the report */
	double exposed_communication_s, communication_s;
};

/* Their keys in the report: model_machine.c. */
extern const struct sb_fields sb_devices_fields, sb_cpu_fields, sb_disk_fields, sb_other_fields,
	sb_first_chart_fields, sb_chart_column_fields;
extern const struct sb_fields sb_memory_fields, sb_gpu_fields;

#endif
