/* Names in the columns of a table. */
#ifndef SB_REPORT_LABEL_H
#define SB_REPORT_LABEL_H

#include "base/buf.h"

/* How many columns a text takes, one per character. */
int sb_label_columns(const char *text);
/* Padded to width with blanks, or cut with an ellipsis; control bytes, and
 * bytes that are no character, are made harmless. */
void sb_label_put(struct sb_buf *out, const char *text, int width);

#endif
