/* The report as Markdown, for an issue, a chat or an agent: one account that stands alone. */
#ifndef SB_REPORT_MARKDOWN_MARKDOWN_H
#define SB_REPORT_MARKDOWN_MARKDOWN_H

#include "analyze/model.h"
#include "base/buf.h"

#define SB_MARKDOWN_LINES 200 /* never more, whatever the run holds */

/* What ran, where the time went, findings with evidence and places, what was not recorded. */
int sb_report_markdown(const struct sb_model *model, struct sb_buf *out);

/* ---- between the files of this folder ---- */
void sb_markdown_heading(struct sb_buf *out, const char *title);
/* "| name |" of a table's row: the first cell. */
void sb_markdown_row(struct sb_buf *out, const char *name);
/* tables.c: stages, iterations, memory, GPU */
int sb_markdown_time(const struct sb_model *model, struct sb_buf *out);
/* The largest stages in at most lines lines, in the order of the tree. */
int sb_markdown_stages(const struct sb_model *model, size_t lines, struct sb_buf *out);
void sb_markdown_iterations(const struct sb_model *model, struct sb_buf *out);
void sb_markdown_gpu(const struct sb_model *model, struct sb_buf *out);
/* bounds.c, slow_moments.c */
void sb_markdown_bounds(const struct sb_model *model, struct sb_buf *out);
void sb_markdown_slow_moments(const struct sb_model *model, struct sb_buf *out);
/* findings.c: with cause, evidence and place; not recorded, lost */
void sb_markdown_findings(const struct sb_model *model, struct sb_buf *out);
void sb_markdown_missing(const struct sb_model *model, struct sb_buf *out);

#endif
