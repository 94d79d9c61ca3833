/* A RUN, a report file, or a run of the history, as facts that can be compared. */
#ifndef CLI_FACTS_ARG_H
#define CLI_FACTS_ARG_H

#include "compare/facts.h"
#include "command.h"

/* spec: whatever a RUN may be (a job, too); a report's JSON; "best"; "history:ID". name: of
 * which runs "best" is the best (NULL: of the newest). Returns 0 or a negative
 * STROBE_E with the message set; prints nothing, and threads may call it. */
int facts_arg_load(const char *spec, const char *name, bool histograms, struct sb_facts **out_facts);

/* The facts of one run, rank or report. Does not check whether it is a job. */
int facts_arg_load_run(const char *spec, struct sb_facts **out_facts);

/* The same for one of a command's arguments, with the part that its options cut
 * out of a RUN. Returns 0, or the exit code after complaining. */
int facts_arg_open(const struct args *args, const char *spec, const char *name, struct sb_facts **out_facts);

/* Each of "RUN,RUN", handed to take(self, facts), which owns them and returns 0 or an exit code. */
int facts_arg_open_list(const struct args *args, const char *list,
	int (*take)(void *self, struct sb_facts *facts), void *self);

#endif
