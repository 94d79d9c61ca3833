/* What parts of the GPU did in the run, its generations and its stages, and while its counters were sampled: tables. */
#ifndef SB_REPORT_PANELS_COUNTER_TABLES_H
#define SB_REPORT_PANELS_COUNTER_TABLES_H

#include "analyze/model.h"
#include "base/buf.h"
#include "report/panels/panel.h"

/* Of the readings that are always on. */
void sb_counter_tables(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out);
/* Of --gpu-counters: the samples, their clocks, kernels by family. */
void sb_counter_samples(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out);

#endif
