/* The report model, what its numbers mean, in a sentence each, good news included. Findings say what to
 * do. */
#ifndef SB_ANALYZE_MODEL_READINGS_H
#define SB_ANALYZE_MODEL_READINGS_H

#include "stats/fields.h"

struct sb_readings_panel {
	struct sb_reading {
		const char *id; /* "offloading_works" */
		const char *panel; /* that has the numbers, by its id on the page */
		const char *text;
		bool good;
	} * all;
	size_t count;
};

extern const struct sb_fields sb_reading_fields;

#endif
