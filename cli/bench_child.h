/* Runs one command and measures it. */
#ifndef CLI_BENCH_CHILD_H
#define CLI_BENCH_CHILD_H

#include "compare/bench.h"

struct bench_child {
	double timeout_s; /* 0: none */
	bool show_output; /* to stderr instead of a hidden file */
	/* Called about once a second while the command runs; may be NULL. */
	void (*tick)(void *context);
	void *context;
};

struct bench_run {
	enum sb_bench_state state;
	int exit_code; /* as a shell tells it: 128 + signal when killed */
	double seconds;
	double peak_memory_bytes;
	bool interrupted; /* the user pressed Ctrl-C: stop the whole benchmark */
	char reason[160];
};

/* The command is started directly, without a shell, in a process group of its
 * own. Returns a negative STROBE_E only when nothing at all could be done. */
int bench_child_run(const struct bench_child *child, char **command, struct bench_run *out_run);

/* What bench exits with when its command failed: the command's own code, but EXIT_COMMAND for those that
 * have a meaning of bench's own where it judges (1 too slow, 2 wrong usage). */
int bench_child_exit_code(const struct bench_run *run);

#endif
