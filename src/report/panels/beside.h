/* What parts of the GPU did, in tables: which rows they have, and the one of the parts that few programs use. */
#ifndef SB_REPORT_PANELS_BESIDE_H
#define SB_REPORT_PANELS_BESIDE_H

#include "analyze/model.h"
#include "base/buf.h"
#include "report/panels/panel.h"

#define SB_BESIDE_STAGES 10u /* shown at most */
#define SB_BESIDE_GENERATIONS 10u
#define SB_BESIDE_NAME_MOST 32u /* "attention memory-efficient fp32" */

void sb_beside_percent(struct sb_buf *out, double value); /* a column of it */
size_t sb_beside_name_columns(const struct sb_text_options *options);
double sb_beside_least_covered(const struct sb_gpu_counters *c); /* of a stage's time, to have a row */

void sb_beside_text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out);

#endif
