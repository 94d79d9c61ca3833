/* The report model, what the program's source says: the lines that the analysis looked at. No panel shows them. */
#ifndef SB_ANALYZE_MODEL_SOURCE_H
#define SB_ANALYZE_MODEL_SOURCE_H

#include "stats/fields.h"

#define SB_SOURCE_LINES_MOST 512
#define SB_SOURCE_LINE_MOST 160 /* bytes of a line that are kept */

struct sb_source_panel {
	struct sb_source_line {
		const char *file; /* absolute */
		uint32_t line;
		const char *text; /* without its indent and its comment; NULL: it is empty */
		const char *function; /* that begins there, where it was asked for by name; NULL */
	} * all; /* what the run's folder keeps, then what was read since */
	size_t count, kept_count;
	bool recalled; /* the run's folder was looked at */
};

/* source_lines.json in the run's folder, which keeps them as they were at the run's end */
extern const struct sb_fields sb_source_file_fields;

#endif
