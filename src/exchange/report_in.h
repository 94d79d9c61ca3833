/* Reads the facts of a run back from its report: profiling_report.json, or the
 * JSON report of the session profilers that pipelines came from. */
#ifndef SB_EXCHANGE_REPORT_IN_H
#define SB_EXCHANGE_REPORT_IN_H

#include "compare/facts.h"

/* True if the file is a report, and not the raw series that may be next to it. Reads the file; false for
 * anything that is not JSON. */
bool sb_report_in_is_report(const char *path);

/* STROBE_EFORMAT when it is no report. */
int sb_report_in(const char *path, struct sb_facts **out_facts);

#endif
