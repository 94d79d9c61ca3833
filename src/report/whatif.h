/* A prediction as text and as JSON. */
#ifndef SB_REPORT_WHATIF_H
#define SB_REPORT_WHATIF_H

#include "base/buf.h"
#include "compare/whatif.h"

void sb_whatif_text(const struct sb_whatif *w, int columns, struct sb_buf *out);
void sb_whatif_json(const struct sb_whatif *w, struct sb_buf *out);

#endif
