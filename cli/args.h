/* The command-line parser, for main. Commands use command.h. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "command.h"

/* argv[0] is the command's name. Returns 0 or an exit code, having complained; either way
 * call args_done(). */
int args_parse(struct args *args, const struct command *command, int argc, char **argv);
void args_done(struct args *args);

#endif
