/* A line of text without what a terminal or a logger put around it. */
#ifndef SB_EXCHANGE_TEXT_CLEAN_H
#define SB_EXCHANGE_TEXT_CLEAN_H

#include <stdbool.h>

/* Removes colours and other terminal sequences, and characters that a terminal
 * would have overwritten with backspaces. In place. */
void sb_text_strip_colours(char *line);

/* The message of a line behind "2026-01-01 12:00:00,123 - app - INFO - ", "INFO:root:",
 * "[12:00:00] [INFO] ", "I0101 12:00:00.123 42 app.py:7] ", "[rank0]: " and their like;
 * the line itself where it begins with nothing of that kind. */
char *sb_text_message(char *line);
/* A sentence that mentions a code: "as described in [4c]". Two words or more before the first bracket. */
bool sb_text_is_prose(const char *line);
/* A line of a paper's list of references: "[1] Smith et al.: 3s". Only a code that is a bare number can be one. */
bool sb_text_is_reference(const char *code, const char *name);

#endif
