/* Words inside Markdown: nothing a program named ends a table's row or starts markup. */
#ifndef SB_REPORT_MARKDOWN_WORDS_H
#define SB_REPORT_MARKDOWN_WORDS_H

#include "base/buf.h"

#include <stddef.h>

/* The whole text, escaped; line ends become blanks, other control characters question marks. "[4f.2]" stays greppable: a bracket
 * is markup only before "(". */
void sb_markdown_put(struct sb_buf *out, const char *text);
/* The same, cut to width columns; control bytes and broken UTF-8 are made harmless. */
void sb_markdown_name(struct sb_buf *out, const char *text, size_t width);

#endif
