/* Every command, in the order --help shows them. */
#include "command.h"

extern const struct command cmd_report;

const struct command *const commands[] = {
	&cmd_report,
	NULL,
};
