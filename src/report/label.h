/* Names in the columns of a table. */
#ifndef SB_REPORT_LABEL_H
#define SB_REPORT_LABEL_H

#include "base/buf.h"

#include <stdbool.h>

/* The size in bytes of the character at text (1 if it is invalid), and whether it may be printed: valid
 * UTF-8, no control character, no change of direction. */
size_t sb_label_character(const char *text, bool *out_harmless);
/* Adds that character, n bytes: one that may not be printed is a '?', the end of a line and a tab are a blank. */
void sb_label_add(struct sb_buf *out, const char *text, size_t n, bool harmless);
/* How many columns a text takes, one per character. */
int sb_label_columns(const char *text);
/* Of a text longer than width: how many columns of its beginning and of its end stand beside an ellipsis. Words stay
 * whole, unless a single one is longer than width, and so does a stage's code in front ("[4f.2] "). */
void sb_label_cut(const char *text, size_t width, size_t *out_head, size_t *out_tail);
/* Padded to width with blanks, or cut after a word with an ellipsis; what may not be printed is shown as '?'. */
void sb_label_put(struct sb_buf *out, const char *text, int width);
/* As sb_buf_printf, for what has names of a recording in it: what may not be printed is shown as '?', and only the
 * end of the format ends a line. */
void sb_label_printf(struct sb_buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
