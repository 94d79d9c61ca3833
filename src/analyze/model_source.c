/* Lines of the program's source, key by key. */
#include "analyze/model_source.h"

static const struct sb_field sb_source_line_fields_rows[] = {
	SB_FIELD(sb_source_line, file, "file", SB_ALWAYS, "where the program ran it from"),
	SB_FIELD(sb_source_line, line, "line", SB_ALWAYS, "counted from 1"),
	SB_FIELD(sb_source_line, text, "text", SB_KNOWN,
		"without its indent and its comment, at most 160 bytes"),
	SB_FIELD(sb_source_line, function, "function", SB_KNOWN,
		"that begins there, of lines that have no text here"),
};
SB_FIELDS(sb_source_line_fields, sb_source_line, "SourceLine", "A line of a Python file.");

static const struct sb_field sb_source_file_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.source_lines/1"),
	SB_FIELD_LIST(sb_source_panel, all, count, "lines", SB_ALWAYS, sb_source_line_fields,
		"those that the report looked at, as they were when the run had ended; at most 512"),
};
SB_FIELDS(sb_source_file_fields, sb_source_panel, "SourceLines", "What the program's source said.");
