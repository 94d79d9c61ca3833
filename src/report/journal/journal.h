/* A journal, for a terminal, a pull request and as the guide's tracking sheet. */
#ifndef SB_REPORT_JOURNAL_JOURNAL_H
#define SB_REPORT_JOURNAL_JOURNAL_H

#include "base/buf.h"
#include "compare/journal.h"

void sb_journal_text(const struct sb_journal *j, int columns, struct sb_buf *out);
void sb_journal_markdown(const struct sb_journal *j, struct sb_buf *out);
void sb_journal_json(const struct sb_journal *j, struct sb_buf *out);
/* BASELINE and AFTER: a line per stage, with its change; one unit all the way down. */
void sb_journal_template(const struct sb_journal *j, struct sb_buf *out);

#endif
