/* A place in a Python program, in words: "WanPipeline.__call__ (pipeline_wan.py:580)". */
#ifndef SB_REPORT_PLACE_H
#define SB_REPORT_PLACE_H

#include "analyze/model.h"
#include "base/buf.h"

void sb_place_text(const struct sb_place *place, struct sb_buf *out);

/* What is worth naming on one screen: the generations' list, else the run's; NULL: nothing. */
const struct sb_place_list *sb_place_list_of(const struct sb_model *model);
/* Its line in a list: share and seconds where enough samples tell them, place. */
void sb_place_row(const struct sb_place *place, bool shares, struct sb_buf *out);

#endif
