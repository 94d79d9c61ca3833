/* Readings, key by key. */
#include "analyze/model_readings.h"

static const char *const panels[] = { "stages", "memory", "layers", "metrics", SB_NAMES_END };

static const struct sb_field sb_reading_fields_rows[] = {
	SB_FIELD(sb_reading, id, "id", SB_ALWAYS, "of the reading, see docs/advice.md"),
	SB_FIELD_NAMED(sb_reading, panel, "panel", SB_ALWAYS, panels,
		"the panel of the page that shows the numbers"),
	SB_FIELD(sb_reading, text, "text", SB_ALWAYS, "what the numbers mean"),
	SB_FIELD(sb_reading, good, "good", SB_SET, "the numbers are as they should be"),
};
SB_FIELDS(sb_reading_fields, sb_reading, "Reading", "What some numbers mean, in a sentence.");
