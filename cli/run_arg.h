/* The RUN argument that most commands take: resolves it, cuts a part out of it,
 * and imports traces and stage logs on the way. */
#ifndef CLI_RUN_ARG_H
#define CLI_RUN_ARG_H

#include "run/run.h"
#include "command.h"

/* For a command's option table. */
#define RUN_CUT_OPTIONS                                                                                     \
	{ "generation", 0, "N", "only the N-th generation (video, prompt, request)", false, false },        \
		{ "last", 0, "TIME", "only the last 10m, 90s, 1.5h", false, false },                        \
		{ "from", 0, "TIME", "from this time after the start (negative: before the end)", false,    \
			false },                                                                            \
	{                                                                                                   \
		"to", 0, "TIME", "up to this time after the start (negative: before the end)", false, false \
	}

/* Opens spec (NULL: last) with the cut the options ask for. Returns 0, or the
 * exit code after complaining. */
int run_arg_open(const struct args *args, const char *spec, struct sb_run **out_run);

/* The same, where a job's ranks are opened together, on clocks that their collectives set. */
int run_arg_open_all(const struct args *args, const char *spec, struct sb_run **out_run);
/* Whether the options cut a part out of a run. */
bool run_arg_has_cut(const struct args *args);

/* Lets every sb_run_open() import; for main. */
void run_arg_install_importer(void);

#endif
