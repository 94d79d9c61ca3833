/* What memory held, stage by stage, key by key. */
#include "analyze/model_residency.h"

SB_FIELD_WHEN(is_there, sb_residency_panel, it->count > 0)

static const char *const moments[] = { "begin", "peak", "end", SB_NAMES_END };

static const struct sb_field row_rows[] = {
	SB_FIELD(sb_residency, stage, "stage", SB_ALWAYS,
		"directly inside the generation; without one an outermost stage"),
	SB_FIELD_NAMED(sb_residency, at, "at", SB_ALWAYS, moments, "which moment of it"),
	SB_FIELD(sb_residency, device, "device_index", SB_KNOWN, "which GPU; absent: the host"),
	SB_FIELD(sb_residency, t_s, "t_s", SB_ALWAYS, "since the run's start", .range = SB_SIGNED),
	SB_FIELD_AS(WHOLE, sb_residency, total_bytes, "total_bytes", SB_ALWAYS,
		"in use on the GPU, as its driver says (between two samples that the allocator has left "
		"behind: with what it had reserved then); of the host the processes' resident memory"),
	SB_FIELD_LIST(sb_residency, parts, part_count, "parts", SB_ALWAYS, sb_resident_fields,
		"what it consists of, largest first"),
	SB_FIELD_AS(WHOLE, sb_residency, rest_bytes, "rest_bytes", SB_ALWAYS,
		"total_bytes less the parts; negative: readings of different moments overlap",
		.range = SB_SIGNED),
	SB_FIELD_AS(WHOLE, sb_residency, pinned_bytes, "pinned_bytes", SB_KNOWN,
		"of the host: pinned memory, which may be among its parts"),
	SB_FIELD_AS(WHOLE, sb_residency, page_cache_bytes, "page_cache_bytes", SB_KNOWN,
		"of the host: the machine's page cache, apart from the processes"),
};
static SB_FIELDS(row, sb_residency, "ResidencyMoment", "What memory held at one moment of a stage.");

static const struct sb_field sb_residency_fields_rows[] = {
	SB_FIELD(sb_residency_panel, generation, "generation_index", SB_ALWAYS,
		"from 1: the whole one in which a GPU's allocator held most, else the one in which the GPU's "
		"memory rose to its peak, else the last; 0: the program has none"),
	SB_FIELD_LIST(sb_residency_panel, all, count, "moments", SB_ALWAYS, row,
		"begin, peak and end of each stage"),
	SB_FIELD_ARRAY(sb_residency_panel, unplaced, unplaced_count, "unplaced", SB_KNOWN,
		"models that an older strobe saw moving between the host and a GPU, without where to: their "
		"weights have no part of their own"),
};
SB_FIELDS(sb_residency_fields, sb_residency_panel, "Residency",
	"What memory held at the begin, the peak and the end of each stage.", .present = is_there);

static const struct sb_field sb_resident_at_fields_rows[] = {
	SB_FIELD(sb_resident_at, stage, "stage", SB_ALWAYS,
		"directly inside that generation; without one an outermost stage"),
	SB_FIELD_NAMED(sb_resident_at, at, "at", SB_ALWAYS, moments, "which moment of it"),
	SB_FIELD(sb_resident_at, device, "device_index", SB_KNOWN, "which GPU; absent: the host"),
	SB_FIELD(sb_resident_at, component, "component", SB_ALWAYS, "what held it; \"unnamed\": the rest"),
	SB_FIELD(sb_resident_at, dtype, "dtype", SB_KNOWN, "data type of its weights"),
	SB_FIELD_AS(WHOLE, sb_resident_at, bytes, "bytes", SB_ALWAYS,
		"how much; negative: readings of different moments overlap", .range = SB_SIGNED),
};
SB_FIELDS(sb_resident_at_fields, sb_resident_at, "ResidentAt", "What a part of memory held at one moment.");
