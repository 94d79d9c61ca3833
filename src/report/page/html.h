/* profiling_report.html: the page with a run's report and its timeline inside. */
#ifndef SB_REPORT_PAGE_HTML_H
#define SB_REPORT_PAGE_HTML_H

#include "run/run.h"
#include "analyze/model.h"
#include "base/buf.h"

/* Appends the page to out. Visits the run once more, for the timeline. */
int sb_report_html(struct sb_run *run, const struct sb_model *model, struct sb_buf *out);
/* The same with a recording inside, which is what `strobe share` gives away. */
int sb_report_html_shared(
	struct sb_run *run, const struct sb_model *model, const struct sb_buf *recording, struct sb_buf *out);

#endif
