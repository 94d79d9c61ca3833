/* Did a signal reach strobe alone, or its whole process group? A small process beside strobe (the witness)
 * is in the same group, blocks every signal, and tells which ones it got. */
#ifndef CLI_RUN_GROUP_H
#define CLI_RUN_GROUP_H

#include <stdbool.h>
#include <signal.h>
#include <sys/types.h>

struct run_group {
	pid_t pid; /* 0: no witness, every signal counts as sent to strobe alone */
	int fd;
};

/* Starts the witness. Signals that are asked about are blocked in strobe. command: the tail of strobe's own arguments. */
void run_group_begin(struct run_group *group, char **command);
/* strobe got this signal: did the group get it as well? Then the same signals that wait for strobe by now are
 * taken as one with it. */
bool run_group_got(struct run_group *group, const siginfo_t *info);
/* The next signal with this number within a few milliseconds; false: none came. */
bool run_group_next(const struct run_group *group, int signal_number, siginfo_t *out_info);
/* The witness may have been killed: leaves no zombie. */
void run_group_look(struct run_group *group);
void run_group_end(struct run_group *group);

#endif
