/* Outputs, key by key. */
#include "analyze/model_outputs.h"

static const char *const states[] = { "written", "overwritten", "missing", "not read", "being written",
	SB_NAMES_END };

static const struct sb_field sb_output_fields_rows[] = {
	SB_FIELD(sb_output, path, "path", SB_ALWAYS, "where the program wrote it"),
	SB_FIELD_NAMED(sb_output, state, "state", SB_ALWAYS, states,
		"overwritten: changed after the run had ended and before strobe looked"),
	SB_FIELD(sb_output, why, "why", SB_KNOWN, "why it was not read"),
	SB_FIELD_AS(
		WHOLE, sb_output, bytes, "size_bytes", SB_KNOWN, "of the file, or of all files of a folder"),
	SB_FIELD(sb_output, sha256, "sha256", SB_KNOWN, "of the file, as sha256sum prints it"),
	SB_FIELD_AS(TIME, sb_output, modified_real_ns, "modified_time", SB_SET, "when it was last written"),
	SB_FIELD(sb_output, kept, "kept_path", SB_KNOWN, "a copy in the run's folder"),
	SB_FIELD(sb_output, width, "width_px", SB_KNOWN, "of raw samples"),
	SB_FIELD(sb_output, height, "height_px", SB_KNOWN, "of raw samples"),
	SB_FIELD(sb_output, pixel_format, "pixel_format", SB_KNOWN, "of raw samples: rgb24, gray, yuv420p"),
};
SB_FIELDS(sb_output_fields, sb_output, "Output", "A file that the program wrote as its result.");

static const struct sb_field sb_outputs_file_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.outputs/1"),
	SB_FIELD_LIST(sb_outputs_panel, all, count, "outputs", SB_ALWAYS, sb_output_fields,
		"as they were when the run had ended"),
};
SB_FIELDS(sb_outputs_file_fields, sb_outputs_panel, "Outputs", "What a run wrote.");
