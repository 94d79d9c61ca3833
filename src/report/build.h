/* From a run to the whole report model: every analysis, then the findings. */
#ifndef SB_REPORT_BUILD_H
#define SB_REPORT_BUILD_H

#include "analyze/analysis.h"

/* options NULL: defaults. Free with sb_model_free. */
int sb_report_build(struct sb_run *run, const struct sb_model_options *options, struct sb_model **out_model);

#endif
