/* A comparison as the user asked for it: --format, --output, --top; and the exit code of its gate. */
#ifndef CLI_DIFF_OUTPUT_H
#define CLI_DIFF_OUTPUT_H

#include "command.h"

#include "compare/compare.h"

/* "text", "json", "markdown" or "html"; false after complaining. */
bool diff_output_format(const struct args *args, const char **out_format);
/* Both return an exit code. */
int diff_output_print(const struct args *args, const struct sb_comparison *c, const char *format);
int diff_output_verdict(const struct args *args, const struct sb_comparison *c, const char *format);

#endif
