/* Every command, in the order --help shows them. */
#include "command.h"

extern const struct command cmd_run;
extern const struct command cmd_report;
extern const struct command cmd_top;
extern const struct command cmd_serve;
extern const struct command cmd_diff;
extern const struct command cmd_bench;
extern const struct command cmd_aggregate;
extern const struct command cmd_import;
extern const struct command cmd_export;
extern const struct command cmd_history;
extern const struct command cmd_whatif;
extern const struct command cmd_fit;
extern const struct command cmd_journal;
extern const struct command cmd_share;
extern const struct command cmd_mcp;
extern const struct command cmd_doctor;

const struct command *const commands[] = {
	&cmd_run,
	&cmd_report,
	&cmd_top,
	&cmd_serve,
	&cmd_diff,
	&cmd_bench,
	&cmd_aggregate,
	&cmd_import,
	&cmd_export,
	&cmd_history,
	&cmd_whatif,
	&cmd_fit,
	&cmd_journal,
	&cmd_share,
	&cmd_mcp,
	&cmd_doctor,
	NULL,
};
