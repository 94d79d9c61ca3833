/* profiling_report.json: docs/report.schema.json is its contract. */
#ifndef SB_REPORT_JSON_H
#define SB_REPORT_JSON_H

#include "report/panels/panel.h"

int sb_report_json(const struct sb_model *model, struct sb_buf *out);

#endif
