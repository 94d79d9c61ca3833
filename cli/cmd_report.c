/* strobe report: text, JSON, HTML from a run. */
#include "command.h"

static const struct option options[] = { { 0 } };

static int run(struct args *args)
{
	(void)args;
	return complain("no run given");
}

const struct command cmd_report = {
	.name = "report",
	.usage = "[OPTIONS] [RUN]",
	.summary = "text, JSON and HTML from a run",
	.options = options,
	.run = run,
};
