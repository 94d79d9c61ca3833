/* Memory that ran out, key by key. */
#include "analyze/model_out_of_memory.h"

SB_FIELD_WHEN(is_there, sb_out_of_memory_panel, it->present)
SB_FIELD_WHEN(has_place, sb_out_of_memory_panel, it->line > 0)
SB_FIELD_WHEN(time_has_place, sb_out_of_memory_time, it->line > 0)

static const struct sb_field sb_resident_fields_rows[] = {
	SB_FIELD(sb_resident, component, "component", SB_ALWAYS,
		"weights of a model, tensors, slack, the rest"),
	SB_FIELD_AS(WHOLE, sb_resident, bytes, "bytes", SB_ALWAYS, "bytes that it held"),
	SB_FIELD(sb_resident, dtype, "dtype", SB_KNOWN, "data type, of weights"),
};
SB_FIELDS(sb_resident_fields, sb_resident, "Resident", "A part of what memory held.");

static const struct sb_field would_fit_rows[] = {
	SB_FIELD(sb_would_fit, free, "free", SB_ALWAYS, "what to free or offload"),
	SB_FIELD_AS(WHOLE, sb_would_fit, bytes, "bytes", SB_ALWAYS, "bytes that this frees"),
	SB_FIELD(sb_would_fit, fits, "fits", SB_ALWAYS, "the request fits once it is freed"),
};
static SB_FIELDS(would_fit, sb_would_fit, "WouldFit", "What would have given the memory.");

static const struct sb_field times_rows[] = {
	SB_FIELD(sb_out_of_memory_time, t_s, "t_s", SB_ALWAYS, "when"),
	SB_FIELD(sb_out_of_memory_time, device, "device_index", SB_KNOWN, "which GPU; absent: the host"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_time, requested_bytes, "requested_bytes", SB_KNOWN,
		"bytes that were asked for"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_time, free_bytes, "free_bytes", SB_KNOWN,
		"free on the device, or of the program's own limit"),
	SB_FIELD(sb_out_of_memory_time, stage, "stage", SB_KNOWN, "the stage in which it ran out"),
	SB_FIELD(sb_out_of_memory_time, file, "file", SB_KNOWN, "source file of the line that asked for it"),
	SB_FIELD(sb_out_of_memory_time, line, "line", SB_ALWAYS, "number of that line",
		.when = time_has_place),
};
static SB_FIELDS(
	times, sb_out_of_memory_time, "OutOfMemoryTime", "One of several times that memory ran out.");

static const struct sb_field sb_out_of_memory_fields_rows[] = {
	SB_FIELD(sb_out_of_memory_panel, killed, "killed", SB_SET,
		"the kernel killed the process because host memory ran out"),
	SB_FIELD(sb_out_of_memory_panel, count, "count", SB_ALWAYS, "how often it happened"),
	SB_FIELD(sb_out_of_memory_panel, t_s, "t_s", SB_KNOWN, "when, the last time"),
	SB_FIELD(sb_out_of_memory_panel, device, "device_index", SB_KNOWN, "which GPU; absent: the host"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, requested_bytes, "requested_bytes", SB_KNOWN,
		"bytes that were asked for"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, free_bytes, "free_bytes", SB_KNOWN,
		"free on the device, or of the program's own limit"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, total_bytes, "total_bytes", SB_KNOWN,
		"memory that the device has"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, allocated_bytes, "allocated_bytes", SB_KNOWN,
		"bytes that tensors held"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, slack_bytes, "slack_bytes", SB_KNOWN,
		"reserved by the allocator and not in use: other sizes, fragments"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, limit_bytes, "limit_bytes", SB_KNOWN,
		"limit that the program set for its allocator; absent: none"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, fragmented_bytes, "fragmented_bytes", SB_KNOWN,
		"part of slack_bytes that lies between blocks in use and cannot be given back"),
	SB_FIELD(sb_out_of_memory_panel, piece_count, "piece_count", SB_KNOWN,
		"pieces that fragmented_bytes consists of"),
	SB_FIELD_AS(WHOLE, sb_out_of_memory_panel, largest_piece_bytes, "largest_piece_bytes", SB_KNOWN,
		"the largest of them"),
	SB_FIELD(sb_out_of_memory_panel, stage, "stage", SB_KNOWN, "the stage in which it ran out"),
	SB_FIELD(sb_out_of_memory_panel, file, "file", SB_KNOWN, "source file of the line that asked for it"),
	SB_FIELD(sb_out_of_memory_panel, line, "line", SB_ALWAYS, "number of that line", .when = has_place),
	SB_FIELD_LIST(sb_out_of_memory_panel, residents, resident_count, "residents", SB_KNOWN,
		sb_resident_fields, "what held the memory, largest first"),
	SB_FIELD_LIST(sb_out_of_memory_panel, would_fit, would_fit_count, "would_fit", SB_KNOWN, would_fit,
		"what would have freed enough memory, the smallest first; if nothing would, all that can be "
		"freed"),
	SB_FIELD(sb_out_of_memory_panel, stage_begin_s, "stage_begin_s", SB_KNOWN,
		"when that call of the stage began"),
	SB_FIELD_LIST(sb_out_of_memory_panel, times, time_count, "times", SB_KNOWN, times,
		"where it happened several times, each of the first 32"),
};
SB_FIELDS(sb_out_of_memory_fields, sb_out_of_memory_panel, "OutOfMemory", "Memory ran out.",
	.present = is_there, SB_FLAG(sb_out_of_memory_panel, present));

SB_FIELD_WHEN(retried, sb_alloc_retries_panel, it->present)

static const struct sb_field sb_alloc_retries_fields_rows[] = {
	SB_FIELD(sb_alloc_retries_panel, count, "count", SB_ALWAYS, "how often it happened"),
	SB_FIELD(sb_alloc_retries_panel, reading_count, "reading_count", SB_ALWAYS,
		"readings of the memory that show it"),
	SB_FIELD(sb_alloc_retries_panel, t_s, "t_s", SB_KNOWN, "when the last of them was taken"),
	SB_FIELD(sb_alloc_retries_panel, device, "device_index", SB_ALWAYS, "which GPU"),
	SB_FIELD_AS(WHOLE, sb_alloc_retries_panel, allocated_bytes, "allocated_bytes", SB_KNOWN,
		"bytes that tensors held, at the reading before"),
	SB_FIELD_AS(WHOLE, sb_alloc_retries_panel, slack_bytes, "slack_bytes", SB_KNOWN,
		"reserved by the allocator and not in use, at the reading before"),
	SB_FIELD_AS(WHOLE, sb_alloc_retries_panel, total_bytes, "total_bytes", SB_KNOWN,
		"memory that the device has"),
	SB_FIELD_AS(WHOLE, sb_alloc_retries_panel, limit_bytes, "limit_bytes", SB_KNOWN,
		"limit that the program set for its allocator; absent: none"),
	SB_FIELD_AS(WHOLE, sb_alloc_retries_panel, given_back_bytes, "given_back_bytes", SB_KNOWN,
		"given back to the driver, all times together"),
	SB_FIELD(sb_alloc_retries_panel, stage, "stage", SB_KNOWN, "the stage in which it happens"),
	SB_FIELD_LIST(sb_alloc_retries_panel, residents, resident_count, "residents", SB_KNOWN,
		sb_resident_fields, "what held the memory after it, largest first"),
};
SB_FIELDS(sb_alloc_retries_fields, sb_alloc_retries_panel, "AllocRetries",
	"The allocator gave its cache back and asked again.", .present = retried,
	SB_FLAG(sb_alloc_retries_panel, present));
