/* Whether a line of text is source code, which may have stage lines in its strings and comments. */
#ifndef SB_EXCHANGE_TEXT_CODE_H
#define SB_EXCHANGE_TEXT_CODE_H

#include <stdbool.h>

/* A declaration at the start of a line: "import os", "def run(", "#include <stdio.h>", "static int f(".
 * Indented lines never count: a log holds those of a traceback. */
bool sb_text_is_code(const char *line);

#endif
