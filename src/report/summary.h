/* One screen: what was made, where the time went, what to do. `strobe run` and
 * the Python package end with it. */
#ifndef SB_REPORT_SUMMARY_H
#define SB_REPORT_SUMMARY_H

#include "report/panels/panel.h"

struct sb_summary_options {
	int columns; /* 80 to 100; 0: 100 */
	bool colour;
	const char *report; /* where the full report is; NULL: not written */
	const char
		*ranks; /* lines on the ranks, in place of the stages of one process; NULL: it is one run */
	const char *processes; /* whose CPU and memory the model has: "Rank 0 alone"; NULL: "Program" */
};

/* Lines of at most `columns` columns. Rows and the unattributed rest add up to
 * the generations' wall time (or the run's); the line "Outside" to the rest. */
int sb_report_summary(
	const struct sb_model *model, const struct sb_summary_options *options, struct sb_buf *out);

#endif
