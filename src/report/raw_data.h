/* raw_profiling_data.json: the monitors' samples as recorded, none left out. */
#ifndef SB_REPORT_RAW_DATA_H
#define SB_REPORT_RAW_DATA_H

#include "run/run.h"
#include "report/panels/panel.h"

/* Writes nothing when the run was recorded without save_raw_data. */
int sb_report_raw_data(struct sb_run *run, const struct sb_model *model, struct sb_buf *out);

#endif
