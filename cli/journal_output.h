/* A journal as --format, --template and --output ask for it: what `journal` and `diff` of many runs print. */
#ifndef CLI_JOURNAL_OUTPUT_H
#define CLI_JOURNAL_OUTPUT_H

struct args;
struct sb_journal;

/* format: text, markdown, json or html. Returns an exit code. */
int journal_output(const struct args *args, const struct sb_journal *journal, const char *format);

#endif
