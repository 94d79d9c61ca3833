/* Memory of a run, key by key. */
#include "analyze/model_machine.h"
#include <math.h>

SB_FIELD_WHEN(has_peak, sb_memory_panel, !isnan(it->peak_bytes))
SB_FIELD_WHEN(has_fragmentation, sb_memory_panel, !isnan(it->fragmentation_ratio))
SB_FIELD_WHEN(has_spike, sb_memory_panel, !isnan(it->spike_bytes))
SB_FIELD_WHEN(has_snapshots, sb_memory_panel, it->snapshot_count > 0)
SB_FIELD_WHEN(has_host, sb_memory_panel, !isnan(it->ram_peak_bytes) || !isnan(it->rss_peak_bytes))
SB_FIELD_WHEN(is_checked, sb_memory_stage, it->checked)
SB_FIELD_WHEN(any_memory, sb_memory_panel, it->present)

static const struct sb_field snapshot_rows[] = {
	SB_FIELD(sb_memory_snapshot, label, "label", SB_ALWAYS, "what the program calls the moment"),
	SB_FIELD(sb_memory_snapshot, t_s, "t_s", SB_ALWAYS, "when", .decimals = 6, .range = SB_SIGNED),
	SB_FIELD(sb_memory_snapshot, device_name, "device", SB_ALWAYS, "\"gpu:0\" or \"host\""),
	SB_FIELD_AS(MB, sb_memory_snapshot, allocated_bytes, "allocated_mb", SB_KNOWN,
		"in use; 1 MB is 2^20 bytes"),
	SB_FIELD_AS(MB, sb_memory_snapshot, reserved_bytes, "reserved_mb", SB_KNOWN, "held by the allocator"),
	SB_FIELD_AS(MB, sb_memory_snapshot, peak_bytes, "peak_mb", SB_KNOWN,
		"the most that was allocated so far"),
	SB_FIELD(sb_memory_snapshot, stage, "stage", SB_KNOWN, "the stage in which it was taken"),
};
static SB_FIELDS(snapshot, sb_memory_snapshot, "MemorySnapshot", "Memory at one moment.");

static const struct sb_field fragmentation_rows[] = {
	SB_FIELD(sb_memory_panel, fragmentation_ratio, "unused_ratio", SB_KNOWN, "1 - allocated / reserved"),
	SB_FIELD_AS(MB, sb_memory_panel, fragmentation_bytes, "unused_mb", SB_KNOWN,
		"reserved and not allocated"),
	SB_FIELD_AS(
		MB, sb_memory_panel, fragmentation_reserved_bytes, "reserved_mb", SB_KNOWN, "reserved then"),
	SB_FIELD(sb_memory_panel, fragmentation_label, "label", SB_KNOWN, "of that snapshot"),
};
static SB_FIELDS(fragmentation, sb_memory_panel, "Fragmentation",
	"Reserved and unused GPU memory, at the worst snapshot.", .present = has_fragmentation);

static const struct sb_field spike_rows[] = {
	SB_FIELD_AS(MB, sb_memory_panel, spike_bytes, "rise_mb", SB_KNOWN, "how much memory rose"),
	SB_FIELD(sb_memory_panel, spike_t_s, "t_s", SB_KNOWN, "when", .range = SB_SIGNED),
	SB_FIELD(sb_memory_panel, spike_stage, "stage", SB_KNOWN,
		"the stage in which it rose, which filled the time between the readings; absent: outside "
		"every stage"),
};
static SB_FIELDS(spike, sb_memory_panel, "MemorySpike", "The steepest rise between two readings.",
	.present = has_spike);

static const struct sb_field memory_stage_rows[] = {
	SB_FIELD(sb_memory_stage, stage, "name", SB_ALWAYS, "name of the stage"),
	SB_FIELD(sb_memory_stage, count, "count", SB_ALWAYS, "calls"),
	SB_FIELD_AS(MB, sb_memory_stage, peak_bytes, "peak_mb", SB_KNOWN,
		"the most that was held while it ran, in the generation with the highest peak, else in any"),
	SB_FIELD_AS(MB, sb_memory_stage, before_bytes, "before_mb", SB_KNOWN, "before its last call"),
	SB_FIELD_AS(MB, sb_memory_stage, after_bytes, "after_mb", SB_KNOWN, "after its last call"),
	SB_FIELD_AS(MB, sb_memory_stage, kept_bytes, "kept_mb", SB_KNOWN,
		"allocated after it and not before; negative: it freed more", .range = SB_SIGNED),
	SB_FIELD(sb_memory_stage, freed, "freed", SB_ALWAYS, "kept no more than 5 % of its peak, or 64 MB",
		.when = is_checked),
	SB_FIELD(sb_memory_stage, let_go, "let_go", SB_ALWAYS, "gone after its generation",
		.when = is_checked),
};
static SB_FIELDS(memory_stage, sb_memory_stage, "MemoryStage", "What a stage takes and keeps.");

static const struct sb_field allocator_rows[] = {
	SB_FIELD(sb_memory_allocator, allocator, "name", SB_ALWAYS, "of the allocator"),
	SB_FIELD(sb_memory_allocator, alloc_count, "alloc_count", SB_ALWAYS, "allocations"),
	SB_FIELD_AS(
		WHOLE, sb_memory_allocator, allocated_bytes, "alloc_bytes", SB_ALWAYS, "allocated in all"),
	SB_FIELD(sb_memory_allocator, free_count, "free_count", SB_ALWAYS, "frees"),
	SB_FIELD_AS(WHOLE, sb_memory_allocator, freed_bytes, "free_bytes", SB_ALWAYS, "freed in all"),
	SB_FIELD_AS(WHOLE, sb_memory_allocator, live_bytes, "live_bytes", SB_ALWAYS, "not freed at the end",
		.range = SB_SIGNED),
	SB_FIELD_AS(WHOLE, sb_memory_allocator, peak_bytes, "live_peak_bytes", SB_ALWAYS, "most at once"),
};
static SB_FIELDS(allocator, sb_memory_allocator, "Allocator", "Allocations as the program reported them.");

SB_FIELD_WHEN(has_line, sb_memory_line, it->line > 0)

static const struct sb_field memory_line_rows[] = {
	SB_FIELD(sb_memory_line, file, "file", SB_KNOWN,
		"source file; absent: allocated before the history began"),
	SB_FIELD(sb_memory_line, line, "line", SB_ALWAYS,
		"line number of the innermost call outside torch itself", .when = has_line),
	SB_FIELD(sb_memory_line, function, "function", SB_KNOWN, "the function that the line is in"),
	SB_FIELD(sb_memory_line, device, "device_index", SB_KNOWN, "which GPU; absent: the host"),
	SB_FIELD_AS(MB, sb_memory_line, peak_bytes, "peak_mb", SB_ALWAYS,
		"memory from this line in use at the peak"),
	SB_FIELD(sb_memory_line, peak_count, "peak_count", SB_ALWAYS, "allocations in use at the peak"),
	SB_FIELD_AS(MB, sb_memory_line, end_bytes, "end_mb", SB_ALWAYS,
		"memory from this line in use when the snapshot was taken"),
	SB_FIELD(sb_memory_line, end_count, "end_count", SB_ALWAYS,
		"allocations in use when the snapshot was taken"),
	SB_FIELD(sb_memory_line, allocated_s, "allocated_s", SB_KNOWN,
		"when it allocated last before the peak; absent: before the history"),
	SB_FIELD(sb_memory_line, stage, "stage", SB_KNOWN, "the stage that was open then"),
	SB_FIELD(sb_memory_line, by_size, "by_size", SB_SET,
		"some of its allocations have no stack: they were matched to this line by their size"),
	SB_FIELD(sb_memory_line, stack, "stack", SB_KNOWN, "of its largest allocation, innermost first"),
};
static SB_FIELDS(memory_line, sb_memory_line, "MemoryLine",
	"Memory of a GPU or of the host that a line of the program allocated.");

static const struct sb_field host_rows[] = {
	SB_FIELD_AS(MB, sb_memory_panel, ram_peak_bytes, "ram_peak_mb", SB_KNOWN,
		"the most RAM in use on the machine, also by other programs, or in the cgroup"),
	SB_FIELD_AS(MB, sb_memory_panel, ram_total_bytes, "ram_total_mb", SB_KNOWN,
		"RAM of the machine, or the cgroup's limit where that is lower"),
	SB_FIELD(sb_memory_panel, ram_of_group, "ram_of_cgroup", SB_SET,
		"ram_peak_mb and ram_total_mb are of the cgroup, not of the machine"),
	SB_FIELD_AS(MB, sb_memory_panel, rss_peak_bytes, "rss_peak_mb", SB_KNOWN,
		"the most resident memory of the run's processes"),
	SB_FIELD_AS(MB, sb_memory_panel, swap_peak_bytes, "swap_peak_mb", SB_KNOWN,
		"the most that was swapped out"),
	SB_FIELD_AS(MB, sb_memory_panel, page_cache_peak_bytes, "page_cache_peak_mb", SB_KNOWN,
		"the most memory used to cache files"),
};
static SB_FIELDS(host, sb_memory_panel, "HostMemory", "The machine's own memory.", .present = has_host);

static const char *const peak_sources[] = { "allocated", "process", "device", SB_NAMES_END };

static const struct sb_field sb_memory_fields_rows[] = {
	SB_FIELD_AS(MB, sb_memory_panel, peak_bytes, "peak_mb", SB_KNOWN,
		"peak memory of the GPU with the highest peak"),
	SB_FIELD(sb_memory_panel, peak_t_s, "peak_t_s", SB_KNOWN, "when it was reached", .when = has_peak,
		.range = SB_SIGNED),
	SB_FIELD(sb_memory_panel, peak_stage, "peak_stage", SB_KNOWN, "the stage in which memory rose to it",
		.when = has_peak),
	SB_FIELD_NAMED(sb_memory_panel, peak_source, "peak_source", SB_KNOWN, peak_sources,
		"allocated: as the allocator says; process, device: sampled", .when = has_peak),
	SB_FIELD(sb_memory_panel, peak_device, "peak_device_index", SB_ALWAYS, "which GPU", .when = has_peak,
		.range = SB_SIGNED),
	SB_FIELD_AS(MB, sb_memory_panel, tensors_peak_bytes, "tensors_peak_mb", SB_KNOWN,
		"the most that this GPU's tensors held at a time, by its allocator's own maximum; what the "
		"processes hold may peak later: the allocator keeps what it took"),
	SB_FIELD(sb_memory_panel, tensors_peak_t_s, "tensors_peak_t_s", SB_KNOWN,
		"when, or when it was first read", .range = SB_SIGNED),
	SB_FIELD(sb_memory_panel, tensors_peak_stage, "tensors_peak_stage", SB_KNOWN,
		"the stage that allocated them; absent: outside every stage, or it is not known"),
	SB_FIELD_AS(MB, sb_memory_panel, peak_used_bytes, "peak_used_mb", SB_KNOWN,
		"what that GPU held then in all, with other processes and the driver: as in residency",
		.when = has_peak),
	SB_FIELD_AS(MB, sb_memory_panel, reserved_peak_bytes, "reserved_peak_mb", SB_KNOWN,
		"the most that the allocator held"),
	SB_FIELD_AS(
		MB, sb_memory_panel, device_total_bytes, "device_total_mb", SB_KNOWN, "memory of that GPU"),
	SB_FIELD_PART("fragmentation", fragmentation, "reserved and unused GPU memory"),
	SB_FIELD_PART("spike", spike, "the steepest rise"),
	SB_FIELD(sb_memory_panel, snapshot_total, "snapshot_count", SB_ALWAYS, "snapshots, listed or not",
		.when = has_snapshots),
	SB_FIELD_LIST(
		sb_memory_panel, snapshots, snapshot_count, "snapshots", SB_KNOWN, snapshot, "in order"),
	SB_FIELD_LIST(sb_memory_panel, stages, stage_count, "stages", SB_KNOWN, memory_stage,
		"what stages take and keep"),
	SB_FIELD(sb_memory_panel, stages_generation, "stages_generation_index", SB_SET,
		"of several generations the one, from 1, that the peaks of stages are of; a stage without a "
		"call in it has that of others"),
	SB_FIELD_LIST(sb_memory_panel, allocators, allocator_count, "allocators", SB_KNOWN, allocator,
		"allocations that the program reported"),
	SB_FIELD_LIST(sb_memory_panel, residents, resident_count, "residents", SB_KNOWN,
		sb_resident_at_fields,
		"the parts of residency as flat rows, with the unnamed rest: those of one moment add up to "
		"the device's own number"),
	SB_FIELD_LIST(sb_memory_panel, lines, line_count, "lines", SB_KNOWN, memory_line,
		"lines of the program that held GPU memory at the peak, from a snapshot of torch's "
		"allocator"),
	SB_FIELD_LIST(sb_memory_panel, growth, growth_count, "growth", SB_KNOWN, sb_growth_fields,
		"what generations, steps and calls leave behind"),
	SB_FIELD_PART("host", host, "the machine's own memory"),
	SB_FIELD(sb_memory_panel, timeline, "timeline", SB_KNOWN,
		"GPU memory, RAM, swap and page cache side by side"),
};
SB_FIELDS(sb_memory_fields, sb_memory_panel, "Memory", "GPU and host memory.", .present = any_memory,
	SB_FLAG(sb_memory_panel, present));
