/* What memory held over time, key by key. */
#include "analyze/model_memory_picture.h"

static const struct sb_field layer_rows[] = {
	SB_FIELD(sb_memory_layer, component, "component", SB_ALWAYS,
		"what held it: a component as in residency, a line or a stage"),
	SB_FIELD(sb_memory_layer, dtype, "dtype", SB_KNOWN, "data type, of weights"),
	SB_FIELD_ARRAY(sb_memory_layer, mb, count, "held_mb", SB_ALWAYS, "what it held at each moment"),
	SB_FIELD(sb_memory_layer, stack, "stack", SB_KNOWN,
		"of a line: the Python stack of its largest allocation, innermost first"),
	SB_FIELD(sb_memory_layer, most_mb, "most_mb", SB_ALWAYS, "the largest value of held_mb",
		.decimals = 1),
	SB_FIELD(sb_memory_layer, small, "small", SB_SET, "drawn together with the other small layers"),
};
static SB_FIELDS(layer, sb_memory_layer, "MemoryLayer", "One part of memory over time.");

static const struct sb_field sb_memory_picture_fields_rows[] = {
	SB_FIELD(sb_memory_picture, device, "device_index", SB_KNOWN, "which GPU; absent: the host"),
	SB_FIELD(sb_memory_picture, by_line, "by_line", SB_SET,
		"layers are lines of the program, from the allocator's history; absent: components"),
	SB_FIELD(sb_memory_picture, by_stage, "by_stage", SB_SET,
		"layers are stages: memory that was taken while one was open and is still held; what is "
		"given back is taken off the newest first, unless exact is set"),
	SB_FIELD(sb_memory_picture, exact, "exact", SB_SET,
		"of stages: the stage in which each block was allocated, from the allocator's history; "
		"absent: "
		"estimated from readings of the sum"),
	SB_FIELD(sb_memory_picture, peak, "peak_index", SB_ALWAYS,
		"the moment at which the layers are highest, from 0"),
	SB_FIELD_ARRAY(sb_memory_picture, t_s, count, "t_s", SB_ALWAYS,
		"moments; of those that lie close together the highest", .range = SB_SIGNED),
	SB_FIELD_ARRAY(sb_memory_picture, stages, count, "stages", SB_ALWAYS,
		"the innermost stage that was open at each moment; empty: none"),
	SB_FIELD_LIST(sb_memory_picture, layers, layer_count, "layers", SB_ALWAYS, layer,
		"from the bottom: what stays, then what comes and goes"),
	SB_FIELD_ARRAY(sb_memory_picture, sum_mb, count, "sum_mb", SB_ALWAYS,
		"all layers together, at each moment", .decimals = 1),
	SB_FIELD_ARRAY(sb_memory_picture, small_mb, small_moments, "small_mb", SB_KNOWN,
		"all small layers together, at each moment; absent: none is small", .decimals = 1),
};
SB_FIELDS(sb_memory_picture_fields, sb_memory_picture, "MemoryPicture",
	"What memory of a device, or of the host, held over time.");

static const struct sb_field sb_memory_segment_fields_rows[] = {
	SB_FIELD(sb_memory_segment, device, "device_index", SB_ALWAYS, "which GPU"),
	SB_FIELD(sb_memory_segment, bytes, "segment_bytes", SB_ALWAYS,
		"memory that the allocator took in one piece"),
	SB_FIELD(sb_memory_segment, free_bytes, "free_bytes", SB_ALWAYS, "free memory between blocks in use"),
	SB_FIELD(sb_memory_segment, free_count, "free_count", SB_ALWAYS, "free pieces"),
	SB_FIELD(sb_memory_segment, largest_free_bytes, "largest_free_bytes", SB_ALWAYS,
		"the largest of them: a larger request does not fit"),
	SB_FIELD_ARRAY(sb_memory_segment, part_bytes, part_count, "part_bytes", SB_ALWAYS,
		"its blocks from one end to the other; neighbours that are small are joined"),
	SB_FIELD_ARRAY(sb_memory_segment, used_ratio, part_count, "used_ratio", SB_ALWAYS,
		"how much of each part is in use"),
};
SB_FIELDS(sb_memory_segment_fields, sb_memory_segment, "MemorySegment",
	"Blocks of a segment of torch's allocator, where free memory lies between blocks in use.");
