/* Whether a size fits, as text and as JSON. */
#ifndef SB_REPORT_FIT_H
#define SB_REPORT_FIT_H

#include "base/buf.h"
#include "compare/fit.h"

void sb_fit_text(const struct sb_fit *fit, struct sb_buf *out);
void sb_fit_json(const struct sb_fit *fit, struct sb_buf *out);

#endif
