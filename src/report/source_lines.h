/* Keeps what the program's source said: source_lines.json, because a later report may be made where the source was
 * changed or is not at hand. */
#ifndef SB_REPORT_SOURCE_LINES_H
#define SB_REPORT_SOURCE_LINES_H

#include "analyze/model.h"
#include "run/run.h"

/* Into the folder of a run that has ended. Lines that are kept stay, and those that the model read itself are added. */
int sb_report_source_lines_keep(const struct sb_run *run, const struct sb_model *model);

#endif
