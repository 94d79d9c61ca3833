/* The stage panel's parts: the timing table, the tree, the stage log. */
#ifndef SB_REPORT_PANELS_STAGES_H
#define SB_REPORT_PANELS_STAGES_H

#include "report/panels/panel.h"

#include <math.h>

void sb_stages_table(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out);
void sb_stages_tree(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out);
void sb_stages_log(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out);

/* "93.77 s/step, 142 ms/frame", every count it carries; "": nothing to divide by. */
void sb_stage_rate(const struct sb_stage *s, char *out, size_t size);
/* Where the GPU was at the stages of a generation at other times than the CPU, by enough to see in their times: those of the
 * summary are then not those of the tree. */
bool sb_stages_moved(const struct sb_stages_panel *stages, double wall_s);
/* "  <- BOTTLENECK" for the end of its row; "": none. */
const char *sb_stage_mark(const struct sb_stages_panel *stages, const struct sb_stage *s);
/* Its name, after those of the stages around it as far as it takes to tell it from other stages ("bf16/Plain"); these are cut so
 * that all fits in width columns, the name is not. */
void sb_stage_path(const struct sb_model *m, const struct sb_stage *s, size_t width, struct sb_buf *name);
/* A name cut to width columns, with what must not be cut off: " (1 open)", " (2 cut)",
 * " (3 recursive)". Returns the columns used. */
size_t sb_stage_name(const struct sb_stage *s, const char *name, size_t width, struct sb_buf *out);

#endif
