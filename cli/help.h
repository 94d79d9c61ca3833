/* --help, man pages and completion, derived from the command table. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

void help_print_all(void);
void help_print(const struct command *command);
/* Hidden: "strobe --generate man|bash|zsh [COMMAND]" for the build. */
int help_generate(const char *what, const char *command_name);

#endif
