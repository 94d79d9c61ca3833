/* Fields of CSV as RFC 4180 has them: the one rule of quoting, for every table that strobe writes. */
#ifndef SB_BASE_CSV_H
#define SB_BASE_CSV_H

#include "base/buf.h"

#include <stddef.h>

#define SB_CSV_LINE_END "\r\n"
/* The most bytes that a field takes for limit bytes of text. */
#define SB_CSV_ROOM(limit) (3 * (size_t)(limit) + 3)

/* Writes the first limit bytes of text as a field and returns its end. The field is in quotes if it has to
 * be. Spreadsheets run what begins with = + - @: unless it is a number it gets a space in front. Bytes
 * that are not UTF-8, and control characters other than line ends and tabs, become U+FFFD. */
char *sb_csv_put(char *at, const char *text, size_t limit);
/* The same, of the whole text, at the end of out. */
void sb_csv_add(struct sb_buf *out, const char *text);

#endif
