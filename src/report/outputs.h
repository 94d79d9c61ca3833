/* Keeps what a run wrote: outputs.json with sizes and SHA-256s, and copies, because the next run overwrites the file. */
#ifndef SB_REPORT_OUTPUTS_H
#define SB_REPORT_OUTPUTS_H

#include "analyze/model.h"
#include "run/run.h"

/* Once, at the end of a run that has a folder; later calls change nothing. Copies at most the recording's
 * keep_output_bytes in all. Updates the model's outputs with where the copies are. */
int sb_report_outputs_keep(const struct sb_run *run, struct sb_model *model);

#endif
