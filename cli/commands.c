/* Every command, in the order --help shows them. */
#include "command.h"

extern const struct command cmd_run;
extern const struct command cmd_report;
extern const struct command cmd_serve;
extern const struct command cmd_aggregate;
extern const struct command cmd_top;
extern const struct command cmd_bench;
extern const struct command cmd_history;
extern const struct command cmd_diff;
extern const struct command cmd_import;
extern const struct command cmd_doctor;
extern const struct command cmd_export;

const struct command *const commands[] = {
	&cmd_run,
	&cmd_report,
	&cmd_serve,
	&cmd_diff,
	&cmd_top,
	&cmd_bench,
	&cmd_aggregate,
	&cmd_history,
	&cmd_import,
	&cmd_doctor,
	&cmd_export,
	NULL,
};
