/* What a stage made of the GPU, in the words of every report. */
#ifndef SB_REPORT_PANELS_WORK_WORDS_H
#define SB_REPORT_PANELS_WORK_WORDS_H

#include "analyze/model.h"
#include "base/buf.h"

bool sb_work_bound_is_read(const struct sb_stage_work *w); /* from the GPU's counters, with the table's row */
bool sb_work_is_cold(const char *calls); /* of sb_stage_work; takes NULL */
/* "MFU 41.0 % of the bf16 rate"; its MFU is known. */
void sb_work_mfu_words(struct sb_buf *out, const struct sb_stage_work *w);
/* "bound by copies (by its kernel trace, of cold calls)"; what bounds it is known. said_cold: all of its calls are cold, as was said. */
void sb_work_bound_words(struct sb_buf *out, const struct sb_stage_work *w, bool said_cold);

#endif
