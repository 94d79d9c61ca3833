/* Lines of profiled functions, key by key. */
#include "analyze/model_line_profile.h"

static const struct sb_field profiled_line_rows[] = {
	SB_FIELD(sb_profiled_line, line, "line", SB_ALWAYS, "its number in the file"),
	SB_FIELD(sb_profiled_line, hits, "hit_count", SB_ALWAYS, "how often it ran"),
	SB_FIELD(sb_profiled_line, total_s, "total_s", SB_ALWAYS, "time in it and in what it calls"),
	SB_FIELD(sb_profiled_line, ratio, "share_ratio", SB_ALWAYS, "share of the function's time",
		.range = SB_SHARE),
	SB_FIELD(sb_profiled_line, text, "text", SB_KNOWN, "its source text"),
};
static SB_FIELDS(profiled_line, sb_profiled_line, "ProfiledLine", "A line of a function with @profile.");

static const struct sb_field sb_profiled_function_fields_rows[] = {
	SB_FIELD(sb_profiled_function, name, "function", SB_ALWAYS, "its name"),
	SB_FIELD(sb_profiled_function, file, "file", SB_KNOWN, "where it is written"),
	SB_FIELD(sb_profiled_function, line, "line", SB_ALWAYS, "where it begins"),
	SB_FIELD(sb_profiled_function, calls, "call_count", SB_ALWAYS, "calls of it"),
	SB_FIELD(sb_profiled_function, timed_calls, "timed_call_count", SB_ALWAYS,
		"calls whose lines were timed"),
	SB_FIELD(sb_profiled_function, total_s, "total_s", SB_ALWAYS, "time of these lines"),
	SB_FIELD_LIST(sb_profiled_function, lines, line_count, "lines", SB_ALWAYS, profiled_line,
		"those that ran, in the order of the file"),
};
SB_FIELDS(sb_profiled_function_fields, sb_profiled_function, "ProfiledFunction",
	"A function with @profile, line by line.");
