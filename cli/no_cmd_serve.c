/* strobe serve in a build without libevent: says so. */
#include "command.h"

static const struct command_option options[] = { { 0 } };

static int run(struct args *args)
{
	(void)args;
	return complain(
		"this build has no libevent, so there is no server; 'strobe report --format html' writes the "
		"same page as a file");
}

const struct command cmd_serve = {
	.name = "serve",
	.usage = "[RUN|DIR]",
	.summary = "live web page and /metrics (not in this build: no libevent)",
	.options = options,
	.run = run,
};
