/* Generations by their size, key by key. */
#include "analyze/model_sizes.h"

SB_FIELD_WHEN(are_there, sb_sizes_panel, it->count > 0)

static const struct sb_field size_stage_rows[] = {
	SB_FIELD(sb_size_stage, stage, "stage", SB_ALWAYS, "directly inside the generation"),
	SB_FIELD(sb_size_stage, total_s, "total_s", SB_ALWAYS, "its time in one generation"),
	SB_FIELD_AS(WHOLE, sb_size_stage, allocated_bytes, "allocated_bytes", SB_KNOWN,
		"the highest that the GPU's allocator had while it ran"),
	SB_FIELD_AS(WHOLE, sb_size_stage, process_bytes, "process_bytes", SB_KNOWN,
		"the highest sample of the processes' GPU memory"),
	SB_FIELD_AS(WHOLE, sb_size_stage, rss_bytes, "rss_bytes", SB_KNOWN,
		"the processes' host memory: the highest sample, or the kernel's own maximum where it rose "
		"inside"),
};
static SB_FIELDS(size_stage, sb_size_stage, "SizeStage", "A stage of generations of one size.");

static const struct sb_field size_rows[] = {
	SB_FIELD_ARRAY(sb_size, attributes, attribute_count, "attributes", SB_ALWAYS,
		"numbers that the generations carry"),
	SB_FIELD(sb_size, count, "generation_count", SB_ALWAYS, "generations of this size"),
	SB_FIELD(sb_size, generation_s, "generation_s", SB_KNOWN,
		"median of the warm ones; where there are none, of those that were the first in their "
		"process"),
	SB_FIELD(sb_size, warm_count, "warm_count", SB_SET,
		"generations that were not the first in their process"),
	SB_FIELD(sb_size, first_s, "first_generation_s", SB_KNOWN,
		"median of those that were the first in their process: cold"),
	SB_FIELD_AS(WHOLE, sb_size, allocated_bytes, "allocated_bytes", SB_KNOWN,
		"peak of the GPU's allocator, known where it rose in one of them"),
	SB_FIELD_AS(WHOLE, sb_size, reserved_bytes, "reserved_bytes", SB_KNOWN,
		"the most that the allocator held"),
	SB_FIELD_AS(WHOLE, sb_size, process_bytes, "process_bytes", SB_KNOWN,
		"the processes' GPU memory, the highest sample"),
	SB_FIELD_AS(WHOLE, sb_size, rss_bytes, "rss_bytes", SB_KNOWN,
		"the processes' host memory: the highest sample, or the kernel's own maximum where it rose "
		"in one of them"),
	SB_FIELD(sb_size, out_of_memory, "out_of_memory", SB_SET, "memory ran out in one of them"),
	SB_FIELD_LIST(sb_size, stages, stage_count, "stages", SB_KNOWN, size_stage,
		"stages directly inside these generations"),
};
static SB_FIELDS(size, sb_size, "Size", "Generations of one size.");

static const struct sb_field sb_sizes_fields_rows[] = {
	SB_FIELD(sb_sizes_panel, model, "model", SB_KNOWN,
		"the model: runs with the same text belong together"),
	SB_FIELD(sb_sizes_panel, device, "device", SB_KNOWN, "the GPU, or cpu"),
	SB_FIELD_AS(
		WHOLE, sb_sizes_panel, vram_total_bytes, "vram_total_bytes", SB_KNOWN, "memory of the GPU"),
	SB_FIELD_AS(WHOLE, sb_sizes_panel, ram_total_bytes, "ram_total_bytes", SB_KNOWN,
		"memory of the machine, or the limit of its cgroup"),
	SB_FIELD(sb_sizes_panel, frames_of_one, "frames_of_one_video", SB_SET,
		"'frames' are those of one video, also where a generation makes several"),
	SB_FIELD_LIST(
		sb_sizes_panel, all, count, "sizes", SB_ALWAYS, size, "one row for each size, in order"),
};
SB_FIELDS(sb_sizes_fields, sb_sizes_panel, "Sizes", "What generations of each size needed: strobe fit.",
	.present = are_there);
