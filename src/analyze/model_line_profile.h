/* The report model, on the lines of functions that `@profile` timed. */
#ifndef SB_ANALYZE_MODEL_LINE_PROFILE_H
#define SB_ANALYZE_MODEL_LINE_PROFILE_H

#include "stats/fields.h"

struct sb_line_profile_panel {
	struct sb_profiled_function {
		const char *name, *file;
		int64_t line; /* where it begins */
		int64_t calls, timed_calls;
		double total_s; /* of the lines that were timed */
		struct sb_profiled_line {
			int64_t line, hits;
			double total_s, ratio; /* of the function */
			const char *text;
		} * lines; /* in the order of the file */
		size_t line_count;
	} * all;
	size_t count;
};

extern const struct sb_fields sb_profiled_function_fields;

#endif
