/* Where a command's result goes: standard output, or --output FILE; and words between a
 * program's own. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

/* The JSON in text becomes the page that shows it. Returns an exit code. */
int output_make_page(const char *kind, struct sb_buf *text);
/* path NULL: standard output. Returns an exit code. */
int output_put(const struct sb_buf *text, const char *path);
/* Checks that path could be written now, for commands that work for minutes before they write. NULL:
 * standard output. Returns an exit code, after complaining. */
int output_check(const char *path);
struct args;
/* --format where it was given, else by the name of --output: .json, .html, .md, .csv, .txt;
 * NULL: neither says it. */
const char *output_format(const struct args *args);
const char *output_format_of(const char *path); /* by its ending; takes NULL */
/* printf() of words that may come from a file: control characters other than line ends and tabs become question marks. */
void output_words(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_words_of(FILE *to, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* Prints to standard error on a line of its own: an unfinished line of the program, or "^C", may stand
 * there. "" only ends that line. */
void output_say_apart(const char *text);

#endif
