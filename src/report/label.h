/* Names in the columns of a table. */
#ifndef SB_REPORT_LABEL_H
#define SB_REPORT_LABEL_H

#include "base/buf.h"

#include <stdbool.h>

/* Bytes of the character at text (1 where it is none), and whether it may be printed: whole UTF-8, no control
 * character, no change of direction. */
size_t sb_label_character(const char *text, bool *out_harmless);
/* How many columns a text takes, one per character. */
int sb_label_columns(const char *text);
/* Of a text longer than width: how many columns of its beginning and of its end stand beside an ellipsis. Words stay
 * whole, unless a single one is longer than width. */
void sb_label_cut(const char *text, size_t width, size_t *out_head, size_t *out_tail);
/* Padded to width with blanks, or cut after a word with an ellipsis; what may not be printed is shown as '?'. */
void sb_label_put(struct sb_buf *out, const char *text, int width);

#endif
