/* The command-line parser, for main. Commands use command.h. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "command.h"

/* Returns 0 or an exit code, having complained. */
int args_parse(struct args *args, const struct command *command, int argc, char **argv);
void args_done(struct args *args);

#endif
