/* Python, key by key: the tables of model_python.h. */
#include "analyze/model_python.h"

static const struct sb_field place_rows[] = {
	SB_FIELD(sb_place, function, "function", SB_ALWAYS, "module and name"),
	SB_FIELD(sb_place, file, "file", SB_KNOWN, "where it is written"),
	SB_FIELD(sb_place, line, "line", SB_ALWAYS, "the line it was seen at most often"),
	SB_FIELD(sb_place, inside, "inside", SB_KNOWN,
		"the function of a library that it was in most; absent: in itself"),
	SB_FIELD(sb_place, estimate_s, "estimate_s", SB_ALWAYS,
		"share_ratio x unattributed_s: a sampled estimate"),
	SB_FIELD(sb_place, ratio, "share_ratio", SB_ALWAYS, "share of unattributed_s, by the samples there",
		.range = SB_SHARE),
};
static SB_FIELDS(place, sb_place, "UnattributedFunction",
	"A Python function that ran while no stage did, or around the steps.");

static const struct sb_field sb_unattributed_share_fields_rows[] = {
	SB_FIELD(sb_place, function, "function", SB_ALWAYS, "module and name"),
	SB_FIELD(sb_place, file, "file", SB_KNOWN, "where it is written"),
	SB_FIELD(sb_place, line, "line", SB_ALWAYS, "the line it was seen at most often"),
	SB_FIELD(sb_place, ratio, "share_ratio", SB_ALWAYS,
		"share of the unattributed time, by the samples there", .range = SB_SHARE),
	SB_FIELD(sb_place, estimate_s, "seconds_s", SB_ALWAYS,
		"share_ratio x unattributed_s: a sampled estimate"),
};
SB_FIELDS(sb_unattributed_share_fields, sb_place, "UnattributedShare",
	"A Python function that ran while no stage did, in short.");

SB_FIELD_WHEN(any_places, sb_place_list, it->count > 0 || it->launcher || it->exit_s > 0)

static const struct sb_field places_rows[] = {
	SB_FIELD(sb_place_list, unattributed_s, "unattributed_s", SB_ALWAYS,
		"the time that these functions ran in"),
	SB_FIELD(sb_place_list, ratio, "unattributed_ratio", SB_ALWAYS,
		"unattributed_s as a share of the generations' time, or of the run's", .range = SB_SHARE),
	SB_FIELD(sb_place_list, sample_count, "sample_count", SB_ALWAYS, "samples there"),
	SB_FIELD(sb_place_list, unsampled_s, "unsampled_s", SB_SET,
		"part of unattributed_s without samples, as before Python began"),
	SB_FIELD(sb_place_list, exit_s, "exit_s", SB_SET,
		"part of unattributed_s after the program's last line, while its process ended"),
	SB_FIELD_LIST(sb_place_list, all, count, "functions", SB_ALWAYS, place, "largest first, at most 8"),
	SB_FIELD(sb_place_list, launcher, "launcher_waits", SB_SET,
		"the main process only waits for those that it started: the functions are of these"),
};
static SB_FIELDS(places, sb_place_list, "UnattributedFunctions",
	"What ran while no stage did, or around the steps.", .present = any_places);

SB_FIELD_WHEN(any_unattributed, sb_unattributed_panel,
	it->generations.count > 0 || it->run.count > 0 || it->run.launcher || it->run.exit_s > 0 ||
		it->around[0].count > 0 || it->around[1].count > 0 || it->around[2].count > 0)

static const struct sb_field sb_unattributed_fields_rows[] = {
	SB_FIELD_STRUCT(sb_unattributed_panel, generations, "generations", SB_KNOWN, places,
		"inside generations, where that is more than 5 % of them"),
	SB_FIELD_STRUCT(sb_unattributed_panel, run, "run", SB_KNOWN, places,
		"in the whole run, where that is more than 10 % of it"),
	SB_FIELD_STRUCT(sb_unattributed_panel, around[0], "before_steps", SB_KNOWN, places,
		"in the stage 'before_steps', where that is more than 5 % of the generations"),
	SB_FIELD_STRUCT(sb_unattributed_panel, around[1], "between_steps", SB_KNOWN, places,
		"in the stage 'between_steps', where that is more than 5 % of the generations"),
	SB_FIELD_STRUCT(sb_unattributed_panel, around[2], "after_steps", SB_KNOWN, places,
		"in the stage 'after_steps', where that is more than 5 % of the generations"),
};
SB_FIELDS(sb_unattributed_fields, sb_unattributed_panel, "Unattributed",
	"Unattributed time by the Python functions that were sampled in it.", .present = any_unattributed);

static const struct sb_field collection_rows[] = {
	SB_FIELD(sb_collection, end_s, "end_s", SB_ALWAYS, "when it ended"),
	SB_FIELD(sb_collection, duration_s, "duration_s", SB_ALWAYS, "how long the program was stopped"),
	SB_FIELD(sb_collection, generation, "gc_generation_index", SB_ALWAYS, "0: young objects, 2: all"),
	SB_FIELD(sb_collection, object_count, "object_count", SB_ALWAYS, "objects that it freed"),
};
static SB_FIELDS(collection, sb_collection, "GarbageCollection", "One collection of 1 ms or longer.");

SB_FIELD_WHEN(any_garbage, sb_garbage_panel, it->count > 0)

static const struct sb_field sb_garbage_fields_rows[] = {
	SB_FIELD(sb_garbage_panel, count, "count", SB_ALWAYS, "collections, all processes"),
	SB_FIELD(sb_garbage_panel, total_s, "total_s", SB_ALWAYS, "their time"),
	SB_FIELD(sb_garbage_panel, object_count, "object_count", SB_ALWAYS, "objects that they freed"),
	SB_FIELD(sb_garbage_panel, long_count, "long_count", SB_ALWAYS, "those of 1 ms or longer"),
	SB_FIELD(sb_garbage_panel, generations_s, "in_generations_s", SB_ALWAYS,
		"time of these inside generations of videos"),
	SB_FIELD_LIST(sb_garbage_panel, longest, longest_count, "longest", SB_ALWAYS, collection,
		"longest first, at most 20"),
};
SB_FIELDS(sb_garbage_fields, sb_garbage_panel, "GarbageCollections", "Python's garbage collector.",
	.present = any_garbage);
