/* The whole report as text. */
#ifndef SB_REPORT_TEXT_H
#define SB_REPORT_TEXT_H

#include "report/panels/panel.h"

int sb_report_text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out);

#endif
