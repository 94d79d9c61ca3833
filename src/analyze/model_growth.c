/* Memory that grows, key by key. */
#include "analyze/model_growth.h"

#include <string.h>

static const char *const verdicts[] = { "steady", "settles", "returned", "grows", SB_NAMES_END };
static const char *const kinds[] = { "vram", "host", "pinned", "open_files", SB_NAMES_END };
const char *const sb_growth_units[] = { "generation", "step", "call", "second", SB_NAMES_END };

SB_FIELD_WHEN(is_bytes, sb_growth, strcmp(it->of, "open_files") != 0)
SB_FIELD_WHEN(is_files, sb_growth, strcmp(it->of, "open_files") == 0)

static const struct sb_field sb_growth_fields_rows[] = {
	SB_FIELD_NAMED(sb_growth, of, "of", SB_ALWAYS, kinds,
		"vram: the allocator's, or the process's as sampled; host: resident without mapped files"),
	SB_FIELD_NAMED(sb_growth, per, "per", SB_ALWAYS, sb_growth_units, "what it is counted by"),
	SB_FIELD(sb_growth, stage, "stage", SB_KNOWN, "the stage whose calls are counted"),
	SB_FIELD(sb_growth, where, "where", SB_KNOWN, "the stage in which most of it rose"),
	SB_FIELD_NAMED(sb_growth, verdict, "verdict", SB_ALWAYS, verdicts,
		"steady; settles: a cache that filled up; returned: given back after the generation; grows: "
		"a leak"),
	SB_FIELD(sb_growth, unit_count, "unit_count", SB_ALWAYS, "generations, steps, calls or seconds"),
	SB_FIELD(sb_growth, reading_count, "reading_count", SB_ALWAYS, "low-water marks between them"),
	SB_FIELD_AS(MB, sb_growth, per_unit, "per_unit_mb", SB_KNOWN,
		"growth per generation, step, call or second: median slope over all pairs of readings",
		.range = SB_SIGNED, .when = is_bytes),
	SB_FIELD_AS(MB, sb_growth, low, "per_unit_low_mb", SB_KNOWN, "low end of its 95 % interval",
		.range = SB_SIGNED, .when = is_bytes),
	SB_FIELD_AS(MB, sb_growth, high, "per_unit_high_mb", SB_KNOWN, "high end of its 95 % interval",
		.range = SB_SIGNED, .when = is_bytes),
	SB_FIELD(sb_growth, per_unit, "per_unit_count", SB_KNOWN, "the same in open files",
		.range = SB_SIGNED, .decimals = 3, .when = is_files),
	SB_FIELD(sb_growth, low, "per_unit_low_count", SB_KNOWN, "low end of its 95 % interval",
		.range = SB_SIGNED, .decimals = 3, .when = is_files),
	SB_FIELD(sb_growth, high, "per_unit_high_count", SB_KNOWN, "high end of its 95 % interval",
		.range = SB_SIGNED, .decimals = 3, .when = is_files),
	SB_FIELD(sb_growth, p, "p_value_ratio", SB_ALWAYS,
		"chance of readings in such an order if nothing grew", .range = SB_SHARE),
};
SB_FIELDS(sb_growth_fields, sb_growth, "MemoryGrowth",
	"How memory and open files grow with generations, steps and calls, or over time.");
